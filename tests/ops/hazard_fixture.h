// What the tests of hazards share: a device, short ways to make tensors, and a comparison with numbers.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "support/compare.h"
#include "support/lowering.h"
#include "tenon/tenon.h"

namespace tenon::testing {

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan_ = std::nanf("");
using Floats = std::vector<float>;

// INSTANTIATE_TEST_SUITE_P with hazard_devices.
class HazardFixture : public ::testing::TestWithParam<const char*> {
 protected:
  const modes::InLowerMode mode{modes::mode_of(GetParam())};
  Device d = Device::open(modes::device_of(GetParam()));
  Tensor f32(std::initializer_list<float> v, Shape s) { return Tensor::from<float>(v, std::move(s), d); }
  Tensor row(std::initializer_list<float> v) { return f32(v, {int64_t(v.size())}); }
  static std::string check(const Tensor& got, DType t, Shape shape, std::vector<double> want, double within = 0) {
    return difference({t, std::move(shape), {want.begin(), want.end()}}, read(got), {.absolute = within, .nan_equal = true});
  }
  static std::string check(const Tensor& got, Shape shape, std::vector<double> want, double within = 0) {
    return check(got, DType::f32, std::move(shape), std::move(want), within);
  }
};

inline const auto hazard_devices = ::testing::Values("host", "cpu", "cpu_generated", "cpu_composed");

}  // namespace tenon::testing
