// Functions of f64 that the C library lacks, from those that it has; at most a few units of the last place off. Generated
// kernels see this text too (src/codegen/texts.h), with their own library.
#pragma once
#include <math.h>

#include "kernels/scalar/wide_math.cpu.h"

namespace tenon::cpu {
namespace {

inline double with_sign_bit(double size, double sign) { return wide_of((wide_bits(size) & ~wide_sign) | (wide_bits(sign) & wide_sign)); }

// With the sign of the divisor; fmod is exact.
inline double rem_d(double a, double b) {
  const double r = fmod(a, b);
  if (r == 0.0) return with_sign_bit(0.0, b);
  return (r < 0.0) != (b < 0.0) ? r + b : r;
}

// What is left of a above a multiple of b makes the quotient an integer, up to rounding.
inline double floor_div_d(double a, double b) {
  const double q = a / b;
  if (b == 0.0 || magnitude(b) == wide_infinity || !(magnitude(q) < wide_infinity)) return floor(q);
  const double r = fmod(a, b), whole = rint((a - r) / b);
  if (r != 0.0 && (r < 0.0) != (b < 0.0)) return whole - 1.0;
  return whole == 0.0 ? with_sign_bit(0.0, q) : whole;
}

// Halley's method on erf, or on erfc where that is more exact, from Winitzki's approximation (2008).
inline double erfinv_d(double x) {
  const double a = magnitude(x), half_root_pi = 0.88622692545275801365;
  if (!(a < 1.0)) return a == 1.0 ? with_sign_bit(wide_infinity, x) : __builtin_nan("");
  if (a < 1e-8) return x * half_root_pi;
  const double l = log((1.0 - a) * (1.0 + a)), t = 4.33 + l / 2.0;
  double y = sqrt(sqrt(t * t - l / 0.147) - t);
  for (int step = 0; step < 4; ++step) {
    const double error = a < 0.5 ? erf(y) - a : (1.0 - a) - erfc(y);
    const double newton = error * half_root_pi * exp(y * y);
    y -= newton / (1.0 + y * newton);
  }
  return with_sign_bit(y, x);
}

}  // namespace
}  // namespace tenon::cpu
