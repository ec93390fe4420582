// Row of the kernel index: sample. Operands: logits (f32, [N, V] dense), tokens (u32, [N]); no epilogue. The same
// code serves `cpu` and `host`.
#pragma once
#include "runtime/kernel.h"

namespace tenon {
extern const NativeKernel sample_kernel;
}
