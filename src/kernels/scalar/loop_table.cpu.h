// One table of the CPU's loops per instruction set. Internal to kernels/scalar and its tests: everyone else calls
// loops.cpu.h, which picks the table of cpu_isa() once.
//
// The loops have one source (math, ops, convert and reduce .cpu.h), compiled once per instruction set. Everything in it
// has internal linkage and calls nothing of std::. An inline function with external linkage would be emitted by each of
// the three translation units, the linker would keep any one of them, and the whole program could end up running the
// AVX-512 copy on a processor without AVX-512.
#pragma once
#include "base/cpu_features.h"
#include "kernels/scalar/loops.cpu.h"

namespace tenon::cpu {

struct LoopTable {
  ScalarLoop (*scalar)(ScalarOp op, Lane lane);  // the op must take this lane type
  decltype(&load_lanes) load;                    // quantised dtypes: stride 1
  decltype(&store_lanes) store;                  // plain dtypes
  decltype(&fill_lanes) fill;
  decltype(&fill_wide_lanes) fill_wide;
  decltype(&reduce_begin) begin;
  decltype(&reduce_block) reduce;
  decltype(&reduce_end) end;
};

// Null where this program or this processor (as lowered by TENON_CPU) does not have it. Baseline is always there.
const LoopTable* loop_table(Isa isa);

extern const LoopTable baseline_loops;
#if defined(__x86_64__)
extern const LoopTable avx2_loops;
extern const LoopTable avx512_loops;
#endif

}  // namespace tenon::cpu
