// Rows of the kernel index: scan. Operands: x (f32, i32 or u32), the running values (the same); no epilogue. The plain
// kernel serves `host` too.
#pragma once
#include "runtime/kernel.h"

namespace tenon::cpu {
extern const NativeKernel scan_kernel;
}
namespace tenon {
extern const NativeKernel scan_plain_kernel;
}
