// Opens the stand-in in place of libcuda and NVRTC, and steers it.
#pragma once
#include <cstdlib>
#include <string>

#include "base/shared_library.h"

namespace tenon::testing {

// Before main: the driver is opened once, at its first use.
inline const bool standin_is_opened = [] {
  ::setenv("TENON_CUDA_LIBRARY", STANDIN_CUDA, 1);
  ::setenv("TENON_NVRTC_LIBRARY", STANDIN_NVRTC, 1);
  ::setenv("TENON_KERNEL_CACHE", "off", 1);
  return true;
}();

// A variable of the environment, for a while.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Setting() { ::unsetenv(name_); }
  Setting(const Setting&) = delete;

 private:
  const char* name_;
};

// What the stand-in found since the last call.
inline std::string standin_reports() {
  static const SharedLibrary library(STANDIN_CUDA);
  return reinterpret_cast<const char* (*)()>(library.symbol("standin_reports"))();
}

}  // namespace tenon::testing
