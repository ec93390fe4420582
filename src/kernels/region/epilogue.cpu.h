// What an anchor's kernel calls with each finished run of results: rounds, applies the element-wise program that the
// scheduler joined to the anchor, and stores. `start` is the row-major index of the first result within the anchor's
// output space ([batch.., M, N] or [B,H,T,D]), `n` the run's length; `acc` holds n f32 results and may be overwritten.
// `scratch` is epilogue_scratch_bytes(desc) of private memory.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/kernel.h"

namespace tenon::cpu {
int64_t epilogue_scratch_bytes(const KernelDesc& desc);
// Prepared form of the epilogue; anchors' prepare() returns it (KernelArgs::prepared).
std::shared_ptr<const void> prepare_epilogue(const KernelDesc& desc);
void run_epilogue(const KernelArgs& args, int64_t start, int64_t n, float* acc, std::byte* scratch);
void run_epilogue(const KernelArgs& args, int64_t start, int64_t n, double* acc, std::byte* scratch);  // anchors of f64
}  // namespace tenon::cpu
