// The reference's scalar ops: one value at a time in double precision. Integers of 32 bits are exact in it.
#pragma once
#include "runtime/kernel.h"

namespace tenon::host {
double from_bits(Lane lane, uint32_t bits);
// Integer results wrap to 32 bits; f32 lanes are left as they are.
double wrap(Lane lane, double value);
// `x`: the arguments, five places.
double apply(const Instr& instr, const double* x);
}  // namespace tenon::host
