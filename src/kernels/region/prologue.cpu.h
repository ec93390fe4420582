// What an anchor's kernel calls where its first operand is computed by a row program (KernelDesc::prologue) instead of
// lying in memory: each group makes the rows that it reads.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/kernel.h"

namespace tenon::cpu {
// Private memory for rows of k elements; 0 without a prologue. prepare_epilogue() prepares the prologue too.
int64_t prologue_scratch_bytes(const KernelDesc& desc, int64_t k);
// Rows `first` .. `first + rows` of the first operand, k elements of its dtype each, one after the other into `to`.
void run_prologue(const KernelArgs& args, const PrologueParams& p, int64_t first, int64_t rows, int64_t k, std::byte* to,
                  std::byte* scratch);
}  // namespace tenon::cpu
