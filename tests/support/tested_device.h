// The device that suites run on beside the reference: the cpu, or what TENON_TEST_DEVICE names.
#pragma once
#include <cstdlib>
#include <string>

#include "tenon/device.h"

namespace tenon::testing {

inline const std::string& tested_device_name() {
  static const std::string name = [] {
    const char* wish = std::getenv("TENON_TEST_DEVICE");
    return std::string(wish && *wish ? wish : "cpu");
  }();
  return name;
}
// One thread: the suites are about values, and run side by side.
inline const Device& tested_device() {
  static const Device device = Device::open(tested_device_name(), 1);
  return device;
}

}  // namespace tenon::testing
