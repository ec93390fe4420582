// Rows of the kernel index: scatter. Operands: x, keys (u32), order (u32), source (as x), out (as x); no epilogue. add and max
// take f32, i32 and u32, set takes every plain dtype. The plain kernel serves `host` too.
#pragma once
#include "runtime/kernel.h"

namespace tenon::cpu {
extern const NativeKernel scatter_kernel;
}
namespace tenon {
extern const NativeKernel scatter_plain_kernel;
}
