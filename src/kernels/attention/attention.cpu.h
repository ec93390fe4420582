// Rows of the kernel index: attention on the CPU. Operands: q, k, v (each f32, f16 or bf16), then those of the
// epilogue. attributes[0]: 1 for causal.
#pragma once
#include <span>

#include "runtime/kernel.h"

namespace tenon::cpu {
std::span<const NativeKernel> attention_kernels();  // best first; a row applies where the processor can run it
}
