// The scalar instructions on f64 and i64 lanes, and the conversions from and to them. Generated kernels see this text too
// (src/codegen/texts.h).
// Only for the translation units of loop_table.cpu.h: internal linkage, nothing of std::.
#pragma once
#include "kernels/scalar/wide_math.cpu.h"

namespace tenon::cpu {
namespace {

// ------------------------------------------------------------------------------------------------ f64

TENON_LOOP_INLINE uint64_t neg_d(uint64_t a) { return a ^ wide_sign; }
TENON_LOOP_INLINE uint64_t abs_d(uint64_t a) { return a & ~wide_sign; }
TENON_LOOP_INLINE double add_d(double a, double b) { return a + b; }
TENON_LOOP_INLINE double sub_d(double a, double b) { return a - b; }
TENON_LOOP_INLINE double mul_d(double a, double b) { return a * b; }
TENON_LOOP_INLINE double div_d(double a, double b) { return a / b; }
// As on f32: the first NaN wins, max takes +0, min -0.
TENON_LOOP_INLINE double min_d(double a, double b) {
  uint64_t r = a < b ? wide_bits(a) : wide_bits(b);
  r = a == b ? wide_bits(a) | wide_bits(b) : r;
  return wide_of(a != a ? wide_bits(a) : r);
}
TENON_LOOP_INLINE double max_d(double a, double b) {
  uint64_t r = a > b ? wide_bits(a) : wide_bits(b);
  r = a == b ? wide_bits(a) & wide_bits(b) : r;
  return wide_of(a != a ? wide_bits(a) : r);
}
TENON_LOOP_INLINE double sqrt_d(double a) { return __builtin_sqrt(a); }
TENON_LOOP_INLINE double rsqrt_d(double a) { return 1.0 / __builtin_sqrt(a); }
TENON_LOOP_INLINE double floor_d(double a) { return __builtin_floor(a); }
TENON_LOOP_INLINE double ceil_d(double a) { return __builtin_ceil(a); }
TENON_LOOP_INLINE double trunc_d(double a) { return __builtin_trunc(a); }
// Adding 2^52 with the sign of a leaves no bits below 1; from there on all are integers.
TENON_LOOP_INLINE double round_d(double a) {
  const uint64_t sign = wide_bits(a) & wide_sign;
  const double shift = wide_of(wide_bits(0x1p52) | sign), r = (a + shift) - shift;
  return magnitude(a) < 0x1p52 ? wide_of(wide_bits(r) | sign) : a + 0.0;
}

// ------------------------------------------------------------------------------------------------ i64

TENON_LOOP_INLINE uint64_t neg_l(uint64_t a) { return uint64_t(0) - a; }
TENON_LOOP_INLINE uint64_t abs_l(int64_t a) { return a < 0 ? uint64_t(0) - uint64_t(a) : uint64_t(a); }
TENON_LOOP_INLINE uint64_t add_l(uint64_t a, uint64_t b) { return a + b; }
TENON_LOOP_INLINE uint64_t sub_l(uint64_t a, uint64_t b) { return a - b; }
TENON_LOOP_INLINE uint64_t mul_l(uint64_t a, uint64_t b) { return a * b; }
// A negative amount is 64 or more.
TENON_LOOP_INLINE uint64_t shift_left_l(uint64_t a, uint64_t b) { return b < 64u ? a << (b & 63u) : 0u; }
TENON_LOOP_INLINE int64_t shift_right_l(int64_t a, uint64_t b) { return a >> (b < 63u ? b : 63u); }
inline int64_t floor_div_l(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return int64_t(uint64_t(0) - uint64_t(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
inline int64_t rem_l(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// ------------------------------------------------------------------------------------------------ conversions

TENON_LOOP_INLINE float d_to_f(double a) { return float(a); }
TENON_LOOP_INLINE float l_to_f(int64_t a) { return float(a); }
TENON_LOOP_INLINE double f_to_d(float a) { return double(a); }
TENON_LOOP_INLINE double i32_to_d(int32_t a) { return double(a); }
TENON_LOOP_INLINE double u32_to_d(uint32_t a) { return double(int32_t(a ^ sign_bit)) + 0x1p31; }
TENON_LOOP_INLINE double l_to_d(int64_t a) { return double(a); }
TENON_LOOP_INLINE int32_t d_to_i32(double a) {
  const double low = a > -0x1p31 ? a : -0x1p31;  // NaN too
  return a != a ? 0 : int32_t(low < 0x1.fffffffcp30 ? low : 0x1.fffffffcp30);
}
TENON_LOOP_INLINE uint32_t d_to_u32(double a) {
  const double low = a > 0.0 ? a : 0.0;  // NaN too
  return uint32_t(int64_t(low < 0x1.fffffffep31 ? low : 0x1.fffffffep31));
}
template <class F>
TENON_LOOP_INLINE int64_t float_to_l(F a) {
  const F low = a > F(-0x1p63) ? a : F(-0x1p63);  // NaN too
  const int64_t r = int64_t(low < F(0x1p63) ? low : F(0));
  return a != a ? 0 : low < F(0x1p63) ? r : 0x7fffffffffffffff;
}
TENON_LOOP_INLINE int64_t i32_to_l(int32_t a) { return int64_t(a); }
TENON_LOOP_INLINE int64_t u32_to_l(uint32_t a) { return int64_t(uint64_t(a)); }
TENON_LOOP_INLINE uint32_t l_to_u32(uint64_t a) { return uint32_t(a); }
TENON_LOOP_INLINE uint32_t d_to_bool(double a) { return a != 0.0; }
TENON_LOOP_INLINE uint32_t l_to_bool(uint64_t a) { return a != 0u; }

}  // namespace
}  // namespace tenon::cpu
