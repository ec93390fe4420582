#include "kernels/scalar/apply.host.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/half.h"

namespace tenon::host {

double from_bits(Lane lane, uint32_t bits) {
  if (lane == Lane::f32) return double(std::bit_cast<float>(bits));
  return lane == Lane::i32 ? double(int32_t(bits)) : double(bits);
}

double wrap(Lane lane, double v) {  // integer results wrap to 32 bits
  if (lane == Lane::f32) return v;
  const auto bits = uint32_t(uint64_t(int64_t(v)));
  return from_bits(lane, bits);
}

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

double saturate(double v, double low, double high) { return std::isnan(v) ? 0 : std::trunc(std::clamp(v, low, high)); }

uint32_t philox_word(uint64_t index, uint32_t key0, uint32_t key1, uint32_t stream) {
  const uint64_t block = index / 4;
  uint32_t c[4] = {uint32_t(block), uint32_t(block >> 32), stream, 0};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(c[0]) * 0xD2511F53u, b = uint64_t(c[2]) * 0xCD9E8D57u;
    const uint32_t next[4] = {uint32_t(b >> 32) ^ c[1] ^ key0, uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ key1, uint32_t(a)};
    std::copy(next, next + 4, c);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c[index % 4];
}

double floor_quotient(Lane lane, double a, double b) {
  if (lane == Lane::f32) return std::floor(a / b);
  if (b == 0) return 0;
  const auto x = int64_t(a), y = int64_t(b), q = x / y;
  return wrap(lane, double(x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q));
}

double remainder(Lane lane, double a, double b) {  // with the divisor's sign, as in Python
  if (lane != Lane::f32 && b == 0) return 0;
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

double inverse_erf(double x) {  // by bisection
  const double a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? x * HUGE_VAL : nan_value;
  double low = 0.88 * a, high = a < 0.5 ? 0.96 * a : 7;
  for (int i = 0; i < 64; ++i) {
    const double y = low + (high - low) / 2;
    (a < 0.5 ? std::erf(y) < a : std::erfc(y) > 1 - a) ? low = y : high = y;
  }
  return std::copysign(low, x);
}

double integer_product(Lane lane, double a, double b) {
  return from_bits(lane, uint32_t(int64_t(a)) * uint32_t(int64_t(b)));
}

double bits_op(ScalarOp op, Lane lane, double x, double y) {
  const auto a = uint32_t(int64_t(x)), b = uint32_t(int64_t(y));
  switch (op) {
    case ScalarOp::bit_and: return from_bits(lane, a & b);
    case ScalarOp::bit_or: return from_bits(lane, a | b);
    case ScalarOp::bit_xor: return from_bits(lane, a ^ b);
    case ScalarOp::shift_left: return from_bits(lane, b < 32 ? a << b : 0);
    default: break;
  }
  if (lane == Lane::i32) return double(int32_t(a) >> std::min(b, 31u));
  return double(b < 32 ? a >> b : 0);
}

}  // namespace

double apply(const Instr& c, const double* x) {
  const double a = x[0], b = x[1];
  switch (c.op) {
    case ScalarOp::neg: return wrap(c.lane, -a);
    case ScalarOp::abs: return wrap(c.lane, std::fabs(a));
    case ScalarOp::add: return wrap(c.lane, a + b);
    case ScalarOp::sub: return wrap(c.lane, a - b);
    case ScalarOp::mul: return c.lane == Lane::f32 ? a * b : integer_product(c.lane, a, b);
    case ScalarOp::div: return a / b;
    case ScalarOp::min: return std::isnan(a) || std::isnan(b) ? nan_value : a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
    case ScalarOp::max: return std::isnan(a) || std::isnan(b) ? nan_value : a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
    case ScalarOp::eq: return a == b;
    case ScalarOp::ne: return a != b;
    case ScalarOp::lt: return a < b;
    case ScalarOp::le: return a <= b;
    case ScalarOp::exp: return std::exp(a);
    case ScalarOp::log: return std::log(a);
    case ScalarOp::sqrt: return std::sqrt(a);
    case ScalarOp::rsqrt: return 1 / std::sqrt(a);
    case ScalarOp::tanh: return std::tanh(a);
    case ScalarOp::erf: return std::erf(a);
    case ScalarOp::floor: return std::floor(a);
    case ScalarOp::ceil: return std::ceil(a);
    case ScalarOp::trunc: return std::trunc(a);
    case ScalarOp::round: return std::nearbyint(a);
    case ScalarOp::floor_div: return floor_quotient(c.lane, a, b);
    case ScalarOp::rem: return remainder(c.lane, a, b);
    case ScalarOp::exp2: return std::exp2(a);
    case ScalarOp::expm1: return std::expm1(a);
    case ScalarOp::log1p: return std::log1p(a);
    case ScalarOp::log2: return std::log2(a);
    case ScalarOp::log10: return std::log10(a);
    case ScalarOp::pow: return std::pow(a, b);
    case ScalarOp::sin: return std::sin(a);
    case ScalarOp::cos: return std::cos(a);
    case ScalarOp::tan: return std::tan(a);
    case ScalarOp::atan2: return std::atan2(a, b);
    case ScalarOp::erfinv: return inverse_erf(a);
    case ScalarOp::lgamma: return std::lgamma(a);
    case ScalarOp::fma: return double(std::fmaf(float(a), float(b), float(x[2])));
    case ScalarOp::select: return a != 0 ? b : x[2];
    case ScalarOp::to_f32: return a;
    case ScalarOp::to_i32: return c.arg_lane == Lane::f32 ? saturate(a, -2147483648.0, 2147483647.0) : from_bits(Lane::i32, uint32_t(a));
    case ScalarOp::to_u32: return c.arg_lane == Lane::f32 ? saturate(a, 0, 4294967295.0) : double(uint32_t(int32_t(a)));
    case ScalarOp::to_bool: return a != 0;
    case ScalarOp::round_f16: return double(f32_from_f16(f16_from_f32(float(a))));
    case ScalarOp::round_bf16: return double(f32_from_bf16(bf16_from_f32(float(a))));
    case ScalarOp::philox:
      return double(philox_word(uint64_t(uint32_t(a)) | uint64_t(uint32_t(b)) << 32, uint32_t(x[2]), uint32_t(x[3]), uint32_t(x[4])));
    default: return bits_op(c.op, c.lane, a, b);
  }
}

}  // namespace tenon::host
