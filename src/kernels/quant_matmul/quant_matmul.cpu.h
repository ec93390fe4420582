// Rows of the kernel index: quant_matmul on the CPU. Operands: x (f32, f16 or bf16), w (q8_0, q4_0 or q4_1), then
// those of the epilogue.
#pragma once
#include <span>

#include "runtime/kernel.h"

namespace tenon::cpu {
std::span<const NativeKernel> quant_matmul_kernels();  // best first; a row applies where the processor can run it
}
