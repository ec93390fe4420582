// Rows of the kernel index: attention on the CPU. Operands: q, k, v, then the mask (bool) and the bias if there are,
// each [B,H,T,S], then those of the epilogue; all but the mask are f32, f16 or bf16.
// attributes: {causal, has a window, has a soft cap, has a mask, has a bias}, each 0 or 1; absent ones are 0. A window
// goes with causal.
#pragma once
#include <span>

#include "runtime/kernel.h"

namespace tenon::cpu {
std::span<const NativeKernel> attention_kernels();  // best first; a row applies where the processor can run it
}
