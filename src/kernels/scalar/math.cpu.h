// exp, log, tanh and erf on f32, without branches so that compilers turn loops over them into SIMD, and without fused
// multiply-add so that every instruction set gives the same bits. Range reduction after Cody and Waite (Software
// Manual for the Elementary Functions, 1980); coefficients by tools/gen_minimax.py.
//
// A NaN gives the same NaN made quiet. Largest errors over all 2^32 arguments, in units of the last place of the exact
// result: exp 0.99, log 0.86, tanh 1.34, erf 1.48.
//
// Only for the translation units of loop_table.cpu.h: internal linkage, nothing of std::.
#pragma once
#include <cstdint>

#define TENON_LOOP_INLINE [[gnu::always_inline]] inline

namespace tenon::cpu {
namespace {

TENON_LOOP_INLINE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
TENON_LOOP_INLINE float float_of(uint32_t x) { return __builtin_bit_cast(float, x); }

constexpr uint32_t sign_bit = 0x80000000u;
constexpr uint32_t quiet_bit = 0x00400000u;
constexpr float infinity = __builtin_inff();

// `result`, or x made quiet where x is NaN.
TENON_LOOP_INLINE float keep_nan(float x, float result) {
  return float_of(x != x ? bits_of(x) | quiet_bit : bits_of(result));
}
// 2^n for -126 <= n <= 127.
TENON_LOOP_INLINE float power_of_two(int32_t n) { return float_of(uint32_t(n + 127) << 23); }

// exp(x) = 2^exponent * fraction, for |x| < 2^15 or so; fraction in [0.7, 1.42].
struct Exponential {
  float fraction;
  int32_t exponent;
};
TENON_LOOP_INLINE Exponential split_exp(float x) {
  constexpr float log2_e = 0x1.715476p+0f;
  constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;  // 15 bits, so k * ln2_high is exact
  constexpr float round = 0x1.8p23f;  // adding it leaves the nearest integer in the low bits
  const float shifted = x * log2_e + round;
  const float k = shifted - round;
  const float r = (x - k * ln2_high) - k * ln2_low;
  float p = 0x1.6a2446p-10f;
  p = p * r + 0x1.1239d8p-7f;
  p = p * r + 0x1.5558f2p-5f;
  p = p * r + 0x1.555492p-3f;
  p = p * r + 0x1.fffffcp-2f;
  return {(p * (r * r) + r) + 1.0f, int32_t(bits_of(shifted) - bits_of(round))};
}

TENON_LOOP_INLINE float exp_f32(float x) {
  // Beyond the bounds the result is 0 or infinite anyway; inside, two steps of scaling let it underflow gradually.
  float y = x < -104.0f ? -104.0f : x;
  y = y > 89.0f ? 89.0f : y;
  const Exponential e = split_exp(y);
  const int32_t half = e.exponent >> 1;
  return keep_nan(x, e.fraction * power_of_two(half) * power_of_two(e.exponent - half));
}

TENON_LOOP_INLINE float log_f32(float x) {
  constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
  constexpr uint32_t sqrt_half = 0x3f3504f3u;
  const bool subnormal = x < 0x1p-126f;
  const float y = subnormal ? x * 0x1p23f : x;
  // y = 2^e * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
  const uint32_t u = bits_of(y) - sqrt_half;
  const float e = float(int32_t(u) >> 23) - (subnormal ? 23.0f : 0.0f);
  const float f = float_of((u & 0x007fffffu) + sqrt_half) - 1.0f;
  const float f2 = f * f;
  float p = -0x1.38b590p-4f;
  p = p * f + 0x1.055b6cp-3f;
  p = p * f - 0x1.0d8540p-3f;
  p = p * f + 0x1.22da1cp-3f;
  p = p * f - 0x1.547244p-3f;
  p = p * f + 0x1.99a008p-3f;
  p = p * f - 0x1.000226p-2f;
  p = p * f + 0x1.555554p-2f;
  const float low = (p * (f2 * f) + e * ln2_low) - 0.5f * f2;
  float result = (f + low) + e * ln2_high;
  result = x < infinity ? result : x;
  result = x == 0.0f ? -infinity : result;
  result = x < 0.0f ? float_of(0x7fc00000u) : result;
  return keep_nan(x, result);
}

// Odd functions: `magnitude` with the sign of x.
TENON_LOOP_INLINE float with_sign_of(float x, float magnitude) {
  return keep_nan(x, float_of(bits_of(magnitude) | (bits_of(x) & sign_bit)));
}

TENON_LOOP_INLINE float tanh_f32(float x) {
  const float a = float_of(bits_of(x) & ~sign_bit);
  const float s = a * a;
  float p = -0x1.75e1ccp-8f;
  p = p * s + 0x1.52269cp-6f;
  p = p * s - 0x1.b83c5ap-5f;
  p = p * s + 0x1.110726p-3f;
  p = p * s - 0x1.555532p-2f;
  const float small = a + a * (s * p);
  // 1 - 2 / (exp(2a) + 1), which is 1 from a = 9.02 on.
  const Exponential e = split_exp(2.0f * (a > 10.0f ? 10.0f : a));
  const float large = 1.0f - 2.0f / (e.fraction * power_of_two(e.exponent) + 1.0f);
  return with_sign_of(x, a < 0.625f ? small : large);
}

TENON_LOOP_INLINE float erf_f32(float x) {
  const float a = float_of(bits_of(x) & ~sign_bit);
  const float s = a * a;
  float p = 0x1.496a16p-14f;
  p = p * s - 0x1.a3f6f4p-11f;
  p = p * s + 0x1.5405b0p-8f;
  p = p * s - 0x1.b7f90cp-6f;
  p = p * s + 0x1.ce2cf8p-4f;
  p = p * s - 0x1.81273ep-2f;
  p = p * s + 0x1.06eba8p-3f;
  const float small = a + a * p;
  // 1 - exp(-q(a)), which is 1 from a = 3.92 on.
  const float b = a > 4.0f ? 4.0f : a;
  float q = -0x1.86dd6ep-13f;
  q = q * b + 0x1.825aeap-9f;
  q = q * b - 0x1.65cb70p-6f;
  q = q * b + 0x1.a6533ep-4f;
  q = q * b + 0x1.46baecp-1f;
  q = q * b + 0x1.2088eap+0f;
  q = q * b + 0x1.661de4p-12f;
  const Exponential e = split_exp(-q);
  const float large = 1.0f - e.fraction * power_of_two(e.exponent);
  return with_sign_of(x, a < 1.0f ? small : large);
}

}  // namespace
}  // namespace tenon::cpu
