#pragma once
#include "runtime/kernel.h"

namespace tenon::cpu {
extern const NativeKernel map_kernel;  // "map": any element-wise region
extern const NativeKernel row_kernel;  // "row": any row region
}  // namespace tenon::cpu
