// Rows of the kernel index: matmul on the CPU. Operands: a, b (each f32, f16 or bf16), then those of the epilogue.
#pragma once
#include <span>

#include "runtime/kernel.h"

namespace tenon::cpu {
std::span<const NativeKernel> matmul_kernels();  // best first; a row applies where the processor can run it
}
