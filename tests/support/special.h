// Functions that the C++ library lacks, in the precision of their argument, for references.
#pragma once
#include <cmath>
#include <limits>
#include <numbers>

namespace tenon::special {

// With the sign of the divisor, as Python's %.
template <class F>
F floored_remainder(F a, F b) {
  F r = std::fmod(a, b);
  if (r != 0 && (r < 0) != (b < 0)) r += b;
  return r == 0 ? std::copysign(r, b) : r;
}

// By Halley's steps from S. Winitzki's approximation (2008).
template <class F>
F inverse_erf(F x) {
  const F a = std::fabs(x);
  if (!(a <= 1)) return std::numeric_limits<F>::quiet_NaN();
  if (a == 1) return std::copysign(std::numeric_limits<F>::infinity(), x);
  const F l = std::log((1 - a) * (1 + a)), t = 2 / (std::numbers::pi_v<F> * F(0.147)) + l / 2;
  F y = a < F(0.1) ? a * F(0.886) : std::sqrt(std::sqrt(t * t - l / F(0.147)) - t);
  for (int i = 0; i < 4; ++i) {
    const F error = a < F(0.5) ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const F step = error * std::sqrt(std::numbers::pi_v<F>) / 2 * std::exp(y * y);
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

}  // namespace tenon::special
