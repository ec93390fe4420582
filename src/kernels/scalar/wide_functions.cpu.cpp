#include "kernels/scalar/wide_functions.cpu.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tenon::cpu {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

double at(const uint32_t* lanes, int64_t i) {
  double v;
  std::memcpy(&v, lanes + 2 * i, sizeof v);
  return v;
}
void put(uint32_t* lanes, int64_t i, double v) { std::memcpy(lanes + 2 * i, &v, sizeof v); }

template <double (*f)(double)>
void unary(uint32_t* out, const uint32_t* const* args, int64_t n) {
  for (int64_t i = 0; i < n; ++i) put(out, i, f(at(args[0], i)));
}
template <double (*f)(double, double)>
void binary(uint32_t* out, const uint32_t* const* args, int64_t n) {
  for (int64_t i = 0; i < n; ++i) put(out, i, f(at(args[0], i), at(args[1], i)));
}

// With the sign of the divisor; fmod is exact.
double remainder(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

// What is left of a above a multiple of b makes the quotient an integer, up to rounding.
double floor_divide(double a, double b) {
  const double q = a / b;
  if (b == 0 || std::isinf(b) || !std::isfinite(q)) return std::floor(q);
  const double r = std::fmod(a, b);
  const double whole = std::nearbyint((a - r) / b);
  if (r != 0 && (r < 0) != (b < 0)) return whole - 1;
  return whole == 0 ? std::copysign(0.0, q) : whole;
}

// Halley's method on erf, or on erfc where that is more exact, from Winitzki's approximation (2008).
double inverse_erf(double x) {
  const double a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x) : nan_value;
  constexpr double half_root_pi = 0.88622692545275801365;
  if (a < 1e-8) return x * half_root_pi;
  const double l = std::log((1 - a) * (1 + a)), t = 4.33 + l / 2;
  double y = std::sqrt(std::sqrt(t * t - l / 0.147) - t);
  for (int step = 0; step < 4; ++step) {
    const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const double newton = error * half_root_pi * std::exp(y * y);
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}

double log_gamma(double x) {
#if defined(__APPLE__)
  return std::lgamma(x);
#else
  int sign;  // std::lgamma writes it to a variable that all threads share
  return lgamma_r(x, &sign);
#endif
}

void fused(uint32_t* out, const uint32_t* const* args, int64_t n) {
  for (int64_t i = 0; i < n; ++i) put(out, i, std::fma(at(args[0], i), at(args[1], i), at(args[2], i)));
}

}  // namespace

ScalarLoop wide_function_loop(ScalarOp op) {
  switch (op) {
    case ScalarOp::exp: return unary<std::exp>;
    case ScalarOp::log: return unary<std::log>;
    case ScalarOp::tanh: return unary<std::tanh>;
    case ScalarOp::erf: return unary<std::erf>;
    case ScalarOp::floor_div: return binary<floor_divide>;
    case ScalarOp::rem: return binary<remainder>;
    case ScalarOp::exp2: return unary<std::exp2>;
    case ScalarOp::expm1: return unary<std::expm1>;
    case ScalarOp::log1p: return unary<std::log1p>;
    case ScalarOp::log2: return unary<std::log2>;
    case ScalarOp::log10: return unary<std::log10>;
    case ScalarOp::pow: return binary<std::pow>;
    case ScalarOp::sin: return unary<std::sin>;
    case ScalarOp::cos: return unary<std::cos>;
    case ScalarOp::tan: return unary<std::tan>;
    case ScalarOp::atan2: return binary<std::atan2>;
    case ScalarOp::erfinv: return unary<inverse_erf>;
    case ScalarOp::lgamma: return unary<log_gamma>;
    case ScalarOp::fma: return fused;
    default: return nullptr;
  }
}

}  // namespace tenon::cpu
