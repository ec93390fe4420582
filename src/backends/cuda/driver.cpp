#include "backends/cuda/driver.h"

#include <cstdlib>

#include "base/cat.h"

namespace tenon::cuda {

Driver::Driver(const std::string& library) : library_(library) {
  if (library_) load();
  else missing_ = cat("the driver's library was not found (", library_.error(), "); it comes with the NVIDIA driver");
}

void Driver::load() {
  const char* lacks = nullptr;
#define DRIVER(name, entry, parameters)                                   \
  name = reinterpret_cast<Result(*) parameters>(library_.symbol(#entry));  \
  if (!name && !lacks) lacks = #entry;
#include "backends/cuda/driver_functions.def"
#undef DRIVER
  if (driver_version) driver_version(&version_);
  if (lacks) {
    missing_ = cat(library(), version_ ? cat(" of CUDA ", version_text(version_)) : "", " has no function ", lacks,
                   "; a driver of CUDA 11.1 or later is needed");
    return;
  }
  Result r = init(0);
  if (r == result::success) r = device_count(&devices_);
  if (r == result::no_device || (r == result::success && devices_ == 0))
    missing_ = cat(library(), " (CUDA ", version_text(version_), ") finds no device");
  else if (r != result::success) missing_ = cat(library(), " does not start: ", error_text(r));
}

std::string Driver::error_text(Result r) const {
  const char *name = nullptr, *text = nullptr;
  if (!error_name || error_name(r, &name) != result::success || !name) return cat("error ", r);
  if (!error_string || error_string(r, &text) != result::success || !text) return name;
  return cat(name, " (", text, ")");
}

const Driver& driver() {
  // Never destroyed: at exit other statics may still hold devices.
  static const Driver& the = *[] {
    const char* other = std::getenv("TENON_CUDA_LIBRARY");
    return new Driver(other && *other ? other : "libcuda.so.1");
  }();
  return the;
}

std::string version_text(int version) { return cat(version / 1000, ".", version % 1000 / 10); }

}  // namespace tenon::cuda
