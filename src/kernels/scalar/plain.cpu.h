// Scalar ops, loads and stores one lane at a time, with the standard library's functions: what the plain kernels of the
// CPU are made of. They share no code with the SIMD loops, so that each can be checked against the other.
// A lane is the bits of an f32, i32 or u32 in the lower half, or of an f64 or i64.
#pragma once
#include <bit>

#include "runtime/kernel.h"

namespace tenon::cpu {

// `x`: the arguments' lanes. Functions of f32 are computed in double, those of f64 in long double, and rounded once.
uint64_t plain_apply(const Instr& instr, const uint64_t* x);

// Element `i` of a buffer, and the same as a number; quantised formats give f32, as GGUF documents them.
uint64_t plain_load(DType dtype, const std::byte* base, int64_t i);
inline float plain_float(DType dtype, const std::byte* base, int64_t i) {
  return std::bit_cast<float>(uint32_t(plain_load(dtype, base, i)));
}
// Of f64 too.
double plain_real(DType dtype, const std::byte* base, int64_t i);
// Rounds to the dtype.
void plain_store(DType dtype, std::byte* base, int64_t i, uint64_t lane);

}  // namespace tenon::cpu
