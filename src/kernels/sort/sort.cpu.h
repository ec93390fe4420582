// Rows of the kernel index: sort. Operands: x (f32, f16, bf16, i32, u32 or bool), positions (u32); no epilogue. The plain
// kernel serves `host` too.
#pragma once
#include "runtime/kernel.h"

namespace tenon::cpu {
extern const NativeKernel sort_kernel;
}
namespace tenon {
extern const NativeKernel sort_plain_kernel;
}
