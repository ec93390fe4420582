#include "kernels/scalar/wide_functions.cpu.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/scalar/f64_functions.cpu.h"

namespace tenon::cpu {
namespace {

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
    case ScalarOp::floor_div: return binary<floor_div_d>;
    case ScalarOp::rem: return binary<rem_d>;
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
    case ScalarOp::erfinv: return unary<erfinv_d>;
    case ScalarOp::lgamma: return unary<log_gamma>;
    case ScalarOp::fma: return fused;
    default: return nullptr;
  }
}

}  // namespace tenon::cpu
