// Functions of f32 that are computed in f64 and rounded once: pow, exp2, expm1, log1p, log2, log10, sin, cos, tan, atan2,
// erfinv, lgamma, fma. Without branches, so that compilers turn loops over them into SIMD (for g++ 12 also without && and
// || of conditions); 64-bit integers are only added, shifted and masked, which every instruction set can do;
// contraction is off: all give the same bits. In f64 nothing of f32 overflows, underflows or loses the bits that a
// function needs. Coefficients by tools/gen_minimax.py.
//
// A NaN gives the same NaN made quiet (of two, the first); an argument outside the domain gives 0x7fc00000. Errors are
// in core/scalar.def.
//
// Only for the translation units of loop_table.cpu.h: internal linkage, nothing of std::.
#pragma once
#include "kernels/scalar/math.cpu.h"

namespace tenon::cpu {
namespace {

TENON_LOOP_INLINE uint64_t wide_bits(double x) { return __builtin_bit_cast(uint64_t, x); }
TENON_LOOP_INLINE double wide_of(uint64_t x) { return __builtin_bit_cast(double, x); }

constexpr uint64_t wide_sign = 0x8000000000000000u;
constexpr uint64_t wide_one = 0x3ff0000000000000u;
constexpr double wide_infinity = __builtin_inf();
constexpr double ln2 = 0x1.62e42fefa39efp-1;
constexpr double half_pi = 0x1.921fb54442d18p+0;

TENON_LOOP_INLINE double magnitude(double x) { return wide_of(wide_bits(x) & ~wide_sign); }
TENON_LOOP_INLINE double wide_select(uint64_t mask, double a, double b) {  // all bits or none
  return wide_of((wide_bits(a) & mask) | (wide_bits(b) & ~mask));
}
// x, or the bound with its sign where |x| is not below it. One selection: g++ threads two into what no SIMD can do.
TENON_LOOP_INLINE double bounded(double x, double bound) {
  const double a = magnitude(x);
  return wide_of(wide_bits(a < bound ? a : bound) | (wide_bits(x) & wide_sign));
}
// c[0] + c[1] x + c[2] x^2 + …
TENON_LOOP_INLINE double polynomial(double, double c) { return c; }
template <class... C>
TENON_LOOP_INLINE double polynomial(double x, double c, C... higher) { return c + x * polynomial(x, higher...); }

// The integer nearest to t, |t| < 2^51; the low bits of `bits` are its two's complement.
struct Nearest {
  double value;
  uint64_t bits;
};
TENON_LOOP_INLINE Nearest nearest(double t) {
  const double shifted = t + 0x1.8p52;
  return {shifted - 0x1.8p52, wide_bits(shifted)};
}

// A NaN that came of x alone, or of x and y, in place of whatever was computed; other NaNs are domain errors.
TENON_LOOP_INLINE float narrow(float x, double result) {
  const float r = float(result);
  return keep_nan(x, r != r ? float_of(0x7fc00000u) : r);
}
TENON_LOOP_INLINE float narrow(float x, float y, double result) { return keep_nan(x, narrow(y, result)); }

// -------------------------------------------------------------------------------------------- exponentials, logs

// 2^t = scale * (1 + rest), for |t| < 1000.
struct WidePower {
  double scale, rest;
};
TENON_LOOP_INLINE WidePower power_of(double t) {
  const Nearest n = nearest(t);
  const double r = t - n.value;
  const double p = polynomial(r, 0x1.62e42fef9cdcbp-1, 0x1.ebfbdff85f5dap-3, 0x1.c6b08da6ad427p-5, 0x1.3b2ab6a0c5fa2p-7,
                              0x1.5d87761217713p-10, 0x1.43099b68c5878p-13, 0x1.00c097572e440p-16, 0x1.62c0127151648p-20);
  return {wide_of((n.bits << 52) + wide_one), r * p};
}
// Beyond these bounds 2^t rounds to 0 or infinity in f32.
TENON_LOOP_INLINE double power_range(double t) { return bounded(t, 160.0); }

TENON_LOOP_INLINE float exp2_f32(float x) {
  const WidePower p = power_of(power_range(double(x)));
  return narrow(x, p.scale + p.scale * p.rest);
}
TENON_LOOP_INLINE float expm1_f32(float x) {
  const WidePower p = power_of(power_range(double(x) * 0x1.71547652b82fep+0));
  const double r = p.scale * p.rest + (p.scale - 1.0);
  return with_sign_of(x, float(magnitude(r)));
}

// x = 2^exponent * (1 + fraction), 1 + fraction in [sqrt(1/2), sqrt(2)), for normal x > 0.
struct WideSplit {
  double exponent, fraction;
};
TENON_LOOP_INLINE WideSplit split(double x) {
  constexpr uint64_t sqrt_half = 0x3fe6a09e667f3bcdu;
  const uint64_t u = wide_bits(x) + (wide_one - sqrt_half);
  const double e = wide_of((u >> 52) | wide_bits(0x1p52)) - (0x1p52 + 1023.0);
  return {e, wide_of((u & 0x000fffffffffffffu) + sqrt_half) - 1.0};
}
// log(1 + f) for a fraction of the above.
TENON_LOOP_INLINE double log_of_fraction(double f) {
  const double s = f / (2.0 + f), z = s * s;
  const double p = polynomial(z, 0x1.5555555555592p-1, 0x1.999999997fda1p-2, 0x1.24924941f2777p-2, 0x1.c71c520838aa8p-3,
                              0x1.74663f27df651p-3, 0x1.39a1b3fc38c2cp-3, 0x1.2f05aaa0448afp-3);
  return s * (2.0 + z * p);
}
TENON_LOOP_INLINE double wide_log(double x) {
  const WideSplit s = split(x);
  return s.exponent * ln2 + log_of_fraction(s.fraction);
}
TENON_LOOP_INLINE double wide_log2(double x) {
  const WideSplit s = split(x);
  return s.exponent + log_of_fraction(s.fraction) * 0x1.71547652b82fep+0;
}
// At the ends of the domain [0, inf].
TENON_LOOP_INLINE double log_ends(double x, double result) {
  result = x < wide_infinity ? result : x;
  result = x == 0.0 ? -wide_infinity : result;
  return x < 0.0 ? __builtin_nan("") : result;
}

TENON_LOOP_INLINE float log2_f32(float x) { return narrow(x, log_ends(double(x), wide_log2(double(x)))); }
TENON_LOOP_INLINE float log10_f32(float x) {
  const WideSplit s = split(double(x));
  const double r = s.exponent * 0x1.34413509f79ffp-2 + log_of_fraction(s.fraction) * 0x1.bcb7b1526e50ep-2;
  return narrow(x, log_ends(double(x), r));
}
TENON_LOOP_INLINE float log1p_f32(float x) {
  const double w = double(x);
  const bool small = magnitude(w - 0.0625) < 0.3125;  // there 1 + x would lose what the result is made of
  const WideSplit s = split(1.0 + w);
  const double f = log_of_fraction(small ? w : s.fraction);
  return narrow(x, small ? f : log_ends(1.0 + w, s.exponent * ln2 + f));
}

// Special cases as pow() in annex F of the C standard.
TENON_LOOP_INLINE float pow_f32(float x, float y) {
  const double w = double(x), v = double(y), a = magnitude(w);
  // Infinities as large numbers, so that their product with 0 is 0.
  double l = wide_log2(a);
  l = a < wide_infinity ? l : 1e300;
  l = a == 0.0 ? -1e300 : l;
  const WidePower p = power_of(power_range(bounded(v, 1e300) * l));
  const double r = p.scale + p.scale * p.rest;
  // From 2^25 on every y is an even integer.
  const double even = bounded(v, 0x1p25);
  const Nearest n = nearest(even);
  const double fraction = even - n.value;
  const uint64_t odd = fraction == 0.0 ? n.bits << 63 : 0u;
  const double with_sign = wide_of(wide_bits(r) | (wide_bits(w) & odd));
  double outside = w < 0.0 ? fraction : 0.0;
  outside = a < wide_infinity ? outside : 0.0;
  // A NaN to the power 0 is 1, and 1 to the power of a NaN.
  return narrow(y == 0.0f ? y : x, x == 1.0f ? x : y, outside == 0.0 ? with_sign : __builtin_nan(""));
}

// -------------------------------------------------------------------------------------------------- trigonometry

// x = n pi/2 + r, |r| <= pi/4 or a little more.
struct Turn {
  double r;
  uint64_t n;  // its two low bits
};
// For |x| < 2^20: n * high is exact, 33 bits by 20 (Cody and Waite).
TENON_LOOP_INLINE Turn small_turn(double x) {
  constexpr double high = 0x1.921fb544p+0, low = 0x1.0b4611a626331p-34;
  const Nearest n = nearest(x * 0x1.45f306dc9c883p-1);
  return {(x - n.value * high) - n.value * low, n.bits};
}
// For finite |x| >= 2^20: the product of x and 2/pi modulo 4, from the 96 bits of 2/pi that matter (M. Payne, R. Hanek,
// Radian reduction for trigonometric functions, SIGNUM 1983). No f32 is closer to a multiple of pi/2 than 2^-29 or so,
// and the product is right to 2^-61.
inline Turn large_turn(float x) {
  constexpr uint32_t two_over_pi[] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                      0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
  const uint32_t b = bits_of(x);
  const uint64_t m = (b & 0x007fffffu) | 0x00800000u;
  // |x| = m * 2^e; the window starts where 2/pi * 2^e has the weight 2. `at` is 27 for e = -3, 134 for e = 104.
  const uint32_t at = ((b >> 23) & 0xffu) - 150u + 30u, word = at / 32u, shift = at % 32u;
  uint64_t window[3];
  for (uint32_t i = 0; i < 3; ++i) {
    const uint64_t pair = uint64_t(two_over_pi[word + i]) << 32 | two_over_pi[word + i + 1];
    window[i] = (pair << shift) >> 32;
  }
  const uint64_t product = (m * window[0] << 32) + m * window[1] + (m * window[2] >> 32);  // 2 integer bits, 62 below
  const uint64_t n = (product + (uint64_t(1) << 61)) >> 62;
  const double r = double(int64_t(product - (n << 62))) * (half_pi * 0x1p-62);
  return b & sign_bit ? Turn{-r, 0u - n} : Turn{r, n};
}
constexpr float large_angle = 0x1p20f;
TENON_LOOP_INLINE uint32_t is_large_angle(float x) { return float_of(bits_of(x) & ~sign_bit) >= large_angle; }

struct SineCosine {
  double sine, cosine;
};
TENON_LOOP_INLINE SineCosine sine_cosine(double r) {
  const double z = r * r;
  const double s = polynomial(z, -0x1.5555554cba969p-3, 0x1.11110896cc1eep-7, -0x1.a00f9e0fd2efap-13, 0x1.6cd871d572ccdp-19);
  const double c = polynomial(z, 0x1.5555554f4ebf8p-5, -0x1.6c16b899512e9p-10, 0x1.a0112080e53e2p-16, -0x1.242ae8c38a9ccp-22);
  return {r * (1.0 + z * s), (1.0 - 0.5 * z) + z * z * c};
}
// sin(n pi/2 + r)
TENON_LOOP_INLINE double sine_at(Turn t) {
  const SineCosine s = sine_cosine(t.r);
  const double r = wide_select(0u - (t.n & 1u), s.cosine, s.sine);
  return wide_of(wide_bits(r) ^ ((t.n & 2u) << 62));
}
TENON_LOOP_INLINE double tangent_at(Turn t) {
  const SineCosine s = sine_cosine(t.r);
  const uint64_t odd = 0u - (t.n & 1u);
  const double r = wide_select(odd, s.cosine, s.sine) / wide_select(odd, s.sine, s.cosine);
  return wide_of(wide_bits(r) ^ (odd & wide_sign));
}
TENON_LOOP_INLINE Turn quarter_more(Turn t) { return {t.r, t.n + 1u}; }

TENON_LOOP_INLINE float sin_small(float x) { return narrow(x, sine_at(small_turn(double(x)))); }
TENON_LOOP_INLINE float cos_small(float x) { return narrow(x, sine_at(quarter_more(small_turn(double(x))))); }
TENON_LOOP_INLINE float tan_small(float x) { return narrow(x, tangent_at(small_turn(double(x)))); }

constexpr float no_angle = __builtin_nanf("");  // what infinity gives
inline bool is_infinite(float x) { return (bits_of(x) & ~sign_bit) == bits_of(infinity); }
inline float sin_large(float x) { return is_infinite(x) ? no_angle : float(sine_at(large_turn(x))); }
inline float cos_large(float x) { return is_infinite(x) ? no_angle : float(sine_at(quarter_more(large_turn(x)))); }
inline float tan_large(float x) { return is_infinite(x) ? no_angle : float(tangent_at(large_turn(x))); }

// atan(a / b) for 0 <= a <= b, b > 0: with q = a/b, or pi/4 plus that of (a - b) / (a + b) where q > tan(pi/8).
TENON_LOOP_INLINE double arc_of(double a, double b) {
  const bool upper = a > 0x1.a827999fcef32p-2 * b;
  const double q = (upper ? a - b : a) / (upper ? a + b : b), z = q * q;
  const double p = polynomial(z, -0x1.555555550d60cp-2, 0x1.9999992d960f9p-3, -0x1.24922d6008ff3p-3, 0x1.c715832c22028p-4,
                              -0x1.73e1aa090ad4bp-4, 0x1.3601f2ff9510dp-4, -0x1.e298ef51ac164p-5, 0x1.fa2f772436714p-6);
  return (upper ? half_pi / 2 : 0.0) + (q + q * (z * p));
}
// The angle of the point (x, y). Special cases as atan2() in annex F of the C standard.
TENON_LOOP_INLINE float atan2_f32(float y, float x) {
  const double w = magnitude(double(x)), h = magnitude(double(y));
  const bool steep = h > w;
  const double less = steep ? w : h, more = steep ? h : w;
  const double a = less < wide_infinity ? less : 1.0;
  double b = less < wide_infinity ? more : 1.0;  // then both are infinite
  b = b == 0.0 ? 1.0 : b;
  const double arc = arc_of(a, b);
  const double right = steep ? half_pi - arc : arc;
  // Half a turn less, where x has a sign.
  const double side = wide_of((wide_bits(double(x)) & wide_sign) | wide_one);
  const double angle = (half_pi - side * half_pi) + side * right;
  return narrow(y, x, wide_of(wide_bits(angle) | (wide_bits(double(y)) & wide_sign)));
}

// ------------------------------------------------------------------------------------------------ erfinv, lgamma

// In w = -log(1 - x^2), as M. Giles (Approximating the erfinv function, GPU Computing Gems, 2011).
TENON_LOOP_INLINE float erfinv_f32(float x) {
  const double v = double(x), a = magnitude(v);
  const double inside = a < 1.0 ? a : 0.5;
  const double w = -wide_log((1.0 - inside) * (1.0 + inside)), s = __builtin_sqrt(w);
  const double near = polynomial(w, 0x1.c5bf892c7af2ep-1, 0x1.db29ec5a5fc1dp-3, 0x1.7a7b3c979d94bp-7, -0x1.328465ac05e8ep-9,
                                 -0x1.ffb785577b2bbp-14, 0x1.53a103a7d94e2p-15, 0x1.879e576a60768p-18, -0x1.4f4214b9b6d39p-19,
                                 0x1.4ca3d59aabf51p-22, -0x1.26d3c73402823p-26, 0x1.70ecc580a6d6bp-32);
  const double far = polynomial(s, -0x1.e0c9b56c65bf5p+1, 0x1.ee04ca998bd7ep+3, -0x1.6504155a49c3fp+4, 0x1.2f635500653ecp+4,
                                -0x1.442ebeccd652fp+3, 0x1.ce0c544514c94p+1, -0x1.c05f8d63bf0d4p-1, 0x1.25e14e3e8b478p-3,
                                -0x1.f370f474a9880p-7, 0x1.f1ad4213ffc3ep-11, -0x1.ba0b336679873p-16);
  double r = v * (w < 5.0 ? near : far);
  r = a < 1.0 ? r : v * wide_infinity;
  return narrow(x, a > 1.0 ? __builtin_nan("") : r);
}

// log of |gamma(x)|: Stirling's series at |x|, or at |x| + 8 less the logarithm of the product of what was skipped; for
// x < 0 by reflection (M. Abramowitz, I. Stegun, Handbook of Mathematical Functions, 6.1.17 and 6.1.41).
TENON_LOOP_INLINE float lgamma_f32(float x) {
  constexpr double half_log_2pi = 0x1.d67f1c864beb5p-1, pi = 2 * half_pi;
  const double v = double(x), a = magnitude(v);
  const bool shifted = a < 8.0, reflected = v < 0.0;
  const double z = shifted ? a + 8.0 : a, u = 1.0 / z;
  const double series = u * polynomial(u * u, 0x1.5555555555555p-4, -0x1.6c16c16c16c17p-9, 0x1.a01a01a01a01ap-11,
                                       -0x1.3813813813814p-11, 0x1.b951e2b18ff23p-11, -0x1.f6ab0d9993c7dp-10, 0x1.a41a41a41a41ap-8);
  const double stirling = ((z - 0.5) * wide_log(z) - z) + (half_log_2pi + series);
  const double skipped = (a * (a + 1.0) * ((a + 2.0) * (a + 3.0))) * ((a + 4.0) * (a + 5.0) * ((a + 6.0) * (a + 7.0)));
  // |sin(pi a)| where a < 2^23; larger ones are integers.
  const double bounded = a < 0x1p23 ? a : 0x1p23;
  const double r = magnitude(bounded - nearest(bounded).value);
  const double sine = r * polynomial(r * r, 0x1.921fb54442d18p+1, -0x1.4abbce625be51p+2, 0x1.466bc6775a9c4p+1,
                                     -0x1.32d2cce621ffep-1, 0x1.5078348277c88p-4, -0x1.e3074c7405eb2p-8, 0x1.e8f2f351890aep-12,
                                     -0x1.6f68ddaeabb87p-16, 0x1.9b05877a6f662p-21);
  const double product = shifted ? skipped : 1.0;
  const double l = wide_log(reflected ? pi * product / (a * sine) : product);
  double result = reflected ? l - stirling : stirling - l;
  result = a < wide_infinity ? result : a;
  result = (v - 1.0) * (v - 2.0) == 0.0 ? 0.0 : result;
  const double pole = v <= 0.0 ? r : 1.0;
  return narrow(x, pole == 0.0 ? wide_infinity : result);
}

// --------------------------------------------------------------------------------------------------------- fma

// a * b + c rounded once. The product is exact in f64 and so is the error of the sum (D. Knuth, TAOCP 4.2.2); rounding
// the sum to odd makes the last rounding, to f32, right (S. Boldo, G. Melquiond, When double rounding is odd, 2005).
TENON_LOOP_INLINE float fma_f32(float x, float y, float c) {
  const double p = double(x) * double(y), w = double(c), sum = p + w;
  const double part = sum - p;
  const double error = (p - (sum - part)) + (w - part);
  const uint64_t inexact = magnitude(error) > 0.0 ? 1u : 0u;
  const uint64_t beyond = error * sum < 0.0 ? 1u : 0u;  // the exact sum is nearer to 0
  return keep_nan(x, keep_nan(y, narrow(c, wide_of((wide_bits(sum) - beyond) | inexact))));
}

}  // namespace
}  // namespace tenon::cpu
