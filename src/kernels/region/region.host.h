#pragma once
#include "runtime/kernel.h"

namespace tenon::host {
extern const NativeKernel map_kernel;
extern const NativeKernel row_kernel;
}  // namespace tenon::host
