// Rounding to integers, and floor division with its remainder, for f32, i32 and u32. As in wide_math.cpu.h: no branches,
// nothing that an instruction set lacks, the same bits everywhere.
// Only for the translation units of loop_table.cpu.h: internal linkage, nothing of std::.
#pragma once
#include "kernels/scalar/wide_math.cpu.h"

namespace tenon::cpu {
namespace {

// |x| rounded to the nearest integer, halves to even: from 2^23 on all are integers.
TENON_LOOP_INLINE float round_magnitude(float a) { return a < 0x1p23f ? (a + 0x1p23f) - 0x1p23f : a; }
TENON_LOOP_INLINE float round_f(float x) { return with_sign_of(x, round_magnitude(float_of(bits_of(x) & ~sign_bit))); }
TENON_LOOP_INLINE float trunc_f(float x) {
  const float a = float_of(bits_of(x) & ~sign_bit), r = round_magnitude(a);
  return with_sign_of(x, r - (r > a ? 1.0f : 0.0f));
}
TENON_LOOP_INLINE float floor_f(float x) {
  const float r = round_f(x);
  const float lower = r - (r > x ? 1.0f : 0.0f);
  return float_of(bits_of(lower) | (bits_of(x) & sign_bit));  // -0 stays
}
TENON_LOOP_INLINE float ceil_f(float x) {
  const float r = round_f(x);
  const float upper = r + (r < x ? 1.0f : 0.0f);
  return with_sign_of(x, float_of(bits_of(upper) & ~sign_bit));  // from -1 up to 0: -0
}

// Of |q| < 2^51, to the integer below.
TENON_LOOP_INLINE double floor_small(double q) {
  const double r = nearest(q).value;
  return r - (r > q ? 1.0 : 0.0);
}

// The quotient in f64 is on the right side of every integer below 2^25; above, f32 rounds it anyway.
TENON_LOOP_INLINE float floor_div_f(float a, float b) {
  const double q = double(a) / double(b), size = magnitude(q);
  const double f = size < 0x1p51 ? floor_small(q) : q;
  return narrow(a, b, wide_of(wide_bits(f) | (wide_bits(q) & wide_sign)));
}

// A remainder of magnitudes, 0 <= r < b, gets the sign of b, after Python: the floored one.
TENON_LOOP_INLINE double floored_remainder(double a, double b, double r) {
  const uint64_t differ = (wide_bits(a) ^ wide_bits(b)) & wide_sign;
  const double other = r == 0.0 ? r : magnitude(b) - r;
  const double size = wide_select(0u - (differ >> 63), other, r);
  return wide_of(wide_bits(size) | (wide_bits(b) & wide_sign));
}
// Where the quotient is below 2^28, so that its product with b is exact.
TENON_LOOP_INLINE float rem_small(float a, float b) {
  const double x = magnitude(double(a)), y = magnitude(double(b));
  const double k = floor_small(x / y);
  double r = k == 0.0 ? x : x - k * y;  // y may be infinite
  r = r < 0.0 ? r + y : r;              // the quotient was rounded up to k
  return narrow(a, b, floored_remainder(double(a), double(b), r));
}
TENON_LOOP_INLINE uint32_t is_large_quotient(float a, float b) {
  return magnitude(double(a)) >= magnitude(double(b)) * 0x1p28;
}
// The others, 28 bits of the quotient at a time.
inline float rem_large(float a, float b) {
  const double y = magnitude(double(b));
  double r = magnitude(double(a));
  if (y == 0.0 || r == wide_infinity) return __builtin_nanf("");
  for (uint64_t bits = 280; bits > 0;) {
    bits -= 28;
    const double step = y * wide_of((bits << 52) + wide_one), q = r / step;
    r -= double(int64_t(q < 0x1p60 ? q : 0.0)) * step;
    r = r < 0.0 ? r + step : r;
  }
  return float(floored_remainder(double(a), double(b), r));
}

// Integers, through f64, which holds their quotients closely enough to floor them. By 0: 0.
TENON_LOOP_INLINE double wide_from(int32_t a) { return double(a); }
TENON_LOOP_INLINE double wide_from(uint32_t a) { return double(int32_t(a ^ sign_bit)) + 0x1p31; }
template <class T>
TENON_LOOP_INLINE uint32_t floor_div_of(T a, T b) {
  const double q = wide_from(a) / wide_from(b == T(0) ? T(1) : b);
  const uint32_t r = uint32_t(wide_bits(floor_small(q) + 0x1.8p52));
  return b == T(0) ? 0u : r;
}
template <class T>
TENON_LOOP_INLINE uint32_t rem_of(T a, T b) {
  const uint32_t r = uint32_t(a) - floor_div_of<T>(a, b) * uint32_t(b);
  return b == T(0) ? 0u : r;
}

}  // namespace
}  // namespace tenon::cpu
