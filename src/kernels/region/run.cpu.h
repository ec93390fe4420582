// Running a prepared program over a part of its iteration space.
#pragma once
#include "kernels/region/program.cpu.h"

namespace tenon::cpu {

class Runner {
 public:
  Runner(const Program& program, const KernelArgs& args, int64_t inner, std::byte* scratch);
  // Elements [start, start + n) of a map or an epilogue, row-major; `acc` holds the anchor's results (f32, or f64
  // lanes where that is the accumulator's) or is null.
  void map(int64_t start, int64_t n, const uint32_t* acc);
  // One row of a row region.
  void row(int64_t row);

 private:
  void uniforms(const ProgramStage& stage);
  void spread(const ProgramStage& stage, int64_t n);
  void block(const ProgramStage& stage, int64_t start, int64_t n, const uint32_t* acc);
  const uint32_t* step(const ProgramStep& step, int64_t start, int64_t n, const uint32_t* acc);
  const uint32_t* load(const Instr& c, int64_t start, int64_t n, uint32_t* into);
  void index(const Instr& c, int64_t start, int64_t n, uint32_t* into);
  void gather(const Instr& c, int64_t start, int64_t n, const uint32_t* at, uint32_t* into);
  void store(const Instr& c, int64_t start, int64_t n, const uint32_t* lanes);
  void uniform(int i);
  // The part of an operand's offset that is the same for the whole row (or map): outer coordinates, run-time scalar.
  int64_t base_offset(const Operand& operand, int number) const;
  template <class F>
  void for_runs(int number, int64_t start, int64_t n, F&& f) const;
  int number(const Instr& c) const { return int(c.operand) - desc_.anchor_operands; }
  std::byte* buffer(const Instr& c) const { return args_.buffers[program_.buffer_of[c.operand]]; }
  uint32_t* reg(int r) const { return registers_ + int64_t(r) * block_lanes * program_.lane_words; }
  // Of a row's memory, from its element `at`.
  uint32_t* spill(int s, int instr, int64_t at) const {
    return spills_ + s * row_stride_ + at * lane_words(desc_.program[size_t(instr)].lane);
  }
  uint32_t* uniform_lane(int i) const { return uniform_ + 2 * int64_t(i); }
  static int lane_words(Lane lane) { return is_wide(lane) ? 2 : 1; }

  const Program& program_;
  const KernelDesc& desc_;
  const KernelArgs& args_;
  const RegionParams& params_;
  int64_t inner_;
  int64_t row_stride_;          // words
  uint32_t* registers_;
  uint32_t* spills_;
  uint32_t* uniform_;           // one lane per instruction, in two words
  const uint32_t** value_;      // per instruction: its lanes for the current block
  int64_t base_[region_max_operands] = {};
  int first_axis_, axes_;       // of the runs: all axes of a map, the inner axes of a row
};

}  // namespace tenon::cpu
