// Functions of f64 lanes, one element at a time, by the standard library in double precision: the same for every
// instruction set. At most a few units of the last place off.
#pragma once
#include "kernels/scalar/loops.cpu.h"

namespace tenon::cpu {
// exp, log, tanh, erf, floor_div, rem, exp2 … fma on f64; null for other instructions.
ScalarLoop wide_function_loop(ScalarOp op);
}  // namespace tenon::cpu
