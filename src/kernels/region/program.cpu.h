// A scalar program made ready for the CPU: instructions sorted into stages, values given registers.
//
// A register is a block of 1,024 lanes that stays in the first-level cache; where the program has wide lanes, every
// register has room for them. Values that are the same for a whole row
// (or a whole map) are uniform: one lane, spread over a register only when a block instruction needs it. A row region
// runs stage by stage over the row: stage 0 up to the first reductions, stage 1 up to those that need their results,
// and so on. A value that a later stage needs again is read again if it is a load, and kept for the row otherwise.
#pragma once
#include <memory>
#include <vector>

#include "kernels/scalar/loops.cpu.h"
#include "runtime/kernel.h"

namespace tenon::cpu {

inline constexpr int64_t block_lanes = 1024;

struct ProgramStep {
  int instr = 0;
  ScalarLoop loop = nullptr;  // op
  int reg = -1;               // block register of the result
  int spill = -1;             // row memory of the result, kept for later stages
};

struct ProgramStage {
  std::vector<int> uniforms;        // instructions on single lanes, before the blocks
  std::vector<int> spread;          // uniforms that block steps read: the k-th is spread over register k
  std::vector<ProgramStep> blocks;  // per block, in order; stores among them
  std::vector<int> reduces;         // reductions fed by this stage
  struct Kept {
    int instr, spill;
  };
  std::vector<Kept> kept;           // values of earlier stages that block steps read
};

// Reductions that one stage may feed; the scheduler keeps regions below it.
inline constexpr size_t max_stage_reductions = 8;

struct Program {
  const KernelDesc* desc = nullptr;
  std::vector<ProgramStage> stages;
  std::vector<bool> uniform;      // per instruction
  std::vector<ScalarLoop> loops;  // per instruction
  std::vector<int> buffer_of;     // per operand: index among buffers, or -1
  int lane_words = 1;             // words of a register's lane: 2 where some lane is wide
  int registers = 0;
  int spills = 0;
  bool plain_store = false;       // epilogue: nothing but a store of the results as they are
  int accumulator_words = 1;      // epilogue: of a result
};

// `desc` must outlive the program.
std::shared_ptr<const Program> make_program(const KernelDesc& desc);

// Scratch bytes to run it over rows of `inner` elements (0 for maps).
int64_t program_scratch_bytes(const Program& program, int64_t inner);

}  // namespace tenon::cpu
