// Maps, rows and epilogues on the CPU by interpretation, element by element: each instruction in its lane type,
// rounded as it says. Sums and products of floats run in the order of the elements, those of f32 in double, those of f64
// in long double, and are rounded once.
// No code is shared with run.cpu.cpp or with the SIMD loops; TENON_LOWER=generated runs these.
#pragma once
#include "runtime/kernel.h"

namespace tenon::cpu {

extern const NativeKernel plain_map_kernel;
extern const NativeKernel plain_row_kernel;

class PlainProgram {
 public:
  // Bytes of private memory, to be aligned to 8.
  static int64_t scratch_bytes(const KernelDesc& desc) { return int64_t(desc.program.size()) * 8; }
  PlainProgram(const KernelArgs& args, std::byte* scratch);

  // Element `at` (row-major) of a map; of an anchor's results, `result` being its value (rounded to f32 unless the
  // anchor gives f64).
  void element(int64_t at, double result = 0);
  // A row of a row region.
  void row(int64_t row);

 private:
  void move_to(int64_t outer, int64_t inner);
  uint64_t value(size_t k) const;
  uint64_t gathered(const Instr& c) const;
  uint64_t reduce(size_t k, int64_t row);
  void elements_before(size_t k);
  void store(const Instr& c) const;
  int number(const Instr& c) const { return int(c.operand) - desc_.anchor_operands; }
  std::byte* buffer(const Instr& c) const { return args_.buffers[buffer_of_[number(c)]]; }

  const KernelArgs& args_;
  const KernelDesc& desc_;
  const RegionParams& params_;
  uint64_t* lanes_;  // one per instruction
  double result_ = 0;
  int64_t inner_ = 1;
  int buffer_of_[region_max_operands] = {};
  int64_t offset_[region_max_operands] = {};  // of each operand at the current place, in elements
};

}  // namespace tenon::cpu
