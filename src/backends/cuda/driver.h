// libcuda, opened at run time. TENON_CUDA_LIBRARY names another library in its place.
#pragma once
#include <string>

#include "backends/cuda/driver_api.h"
#include "base/shared_library.h"

namespace tenon::cuda {

class Driver {
 public:
#define DRIVER(name, symbol, parameters) Result(*name) parameters = nullptr;
#include "backends/cuda/driver_functions.def"
#undef DRIVER

  explicit Driver(const std::string& library);

  // Why there is no driver: the library, its version or the symbol that is missing. Empty when all is there.
  const std::string& missing() const { return missing_; }
  const std::string& library() const { return library_.name(); }
  int version() const { return version_; }  // of the API: 13000 is 13.0
  int devices() const { return devices_; }

  // "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
  std::string error_text(Result r) const;

 private:
  void load();
  SharedLibrary library_;
  std::string missing_;
  int version_ = 0, devices_ = 0;
};

// The process's driver, opened at the first call.
const Driver& driver();

std::string version_text(int version);  // 13000 -> "13.0"

}  // namespace tenon::cuda
