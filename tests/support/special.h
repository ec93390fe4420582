// Functions that the C++ library lacks, in double precision, for references.
#pragma once
#include <cmath>
#include <limits>
#include <numbers>

namespace tenon::special {

// With the sign of the divisor, as Python's %.
inline double floored_remainder(double a, double b) {
  double r = std::fmod(a, b);
  if (r != 0 && (r < 0) != (b < 0)) r += b;
  return r == 0 ? std::copysign(r, b) : r;
}

// By Halley's steps from S. Winitzki's approximation (2008).
inline double inverse_erf(double x) {
  const double a = std::fabs(x);
  if (!(a <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (a == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
  const double l = std::log((1 - a) * (1 + a)), t = 2 / (std::numbers::pi * 0.147) + l / 2;
  double y = a < 0.1 ? a * 0.886 : std::sqrt(std::sqrt(t * t - l / 0.147) - t);
  for (int i = 0; i < 3; ++i) {
    const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const double step = error * std::sqrt(std::numbers::pi) / 2 * std::exp(y * y);
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

}  // namespace tenon::special
