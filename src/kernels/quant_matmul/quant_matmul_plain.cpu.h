#pragma once
#include "runtime/kernel.h"

namespace tenon::cpu {
extern const NativeKernel quant_matmul_plain_kernel;  // direct loops, for TENON_LOWER=generated
}
