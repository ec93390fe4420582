#include "kernels/scalar/apply.host.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/half.h"

namespace tenon::host {

Value from_bits(Lane lane, uint64_t bits) {
  if (lane == Lane::f32) return double(std::bit_cast<float>(uint32_t(bits)));
  return lane == Lane::f64 ? Value(std::bit_cast<double>(bits)) : wrap(lane, bits);
}

Value wrap(Lane lane, uint64_t integer) {
  switch (lane) {
    case Lane::i32: return int64_t(int32_t(integer));
    case Lane::u32: return int64_t(uint32_t(integer));
    default: return int64_t(integer);
  }
}

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

int64_t saturate(double v, int64_t low, int64_t high) {
  if (std::isnan(v)) return 0;
  if (v <= double(low)) return low;
  return v >= double(high) ? high : int64_t(v);
}

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

double floor_quotient(double a, double b) {
  const double q = std::floor(a / b);
  // The quotient may have been rounded up to the integer.
  return std::isfinite(a) && std::isfinite(b) && std::fabs(q) < 0x1p53 && std::fma(q, b, -a) * b > 0 ? q - 1 : q;
}

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return int64_t(uint64_t(0) - uint64_t(a));  // the smallest wraps
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

double remainder(double a, double b) {  // with the divisor's sign, as in Python
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

int64_t remainder(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return int64_t(uint64_t(a) - uint64_t(floor_quotient(a, b)) * uint64_t(b));
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

int64_t shift(ScalarOp op, Lane lane, int64_t a, int64_t b) {
  const int64_t width = is_wide(lane) ? 64 : 32;
  const bool beyond = b < 0 || b >= width;
  if (op == ScalarOp::shift_left) return beyond ? 0 : int64_t(uint64_t(a) << b);
  return beyond ? -int64_t(a < 0) : a >> b;
}

double min_max(double a, double b, bool largest) {
  if (std::isnan(a) || std::isnan(b)) return nan_value;
  if (a == b) return std::signbit(a) != largest ? a : b;
  return (a > b) == largest ? a : b;
}

Value real_op(const Instr& c, double a, double b, double third) {
  switch (c.op) {
    case ScalarOp::neg: return -a;
    case ScalarOp::abs: return std::fabs(a);
    case ScalarOp::add: return a + b;
    case ScalarOp::sub: return a - b;
    case ScalarOp::mul: return a * b;
    case ScalarOp::div: return a / b;
    case ScalarOp::min: return min_max(a, b, false);
    case ScalarOp::max: return min_max(a, b, true);
    case ScalarOp::eq: return int64_t(a == b);
    case ScalarOp::ne: return int64_t(a != b);
    case ScalarOp::lt: return int64_t(a < b);
    case ScalarOp::le: return int64_t(a <= b);
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
    case ScalarOp::floor_div: return floor_quotient(a, b);
    case ScalarOp::rem: return remainder(a, b);
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
    case ScalarOp::fma: return c.lane == Lane::f64 ? std::fma(a, b, third) : double(std::fmaf(float(a), float(b), float(third)));
    case ScalarOp::to_f32: return double(float(a));
    case ScalarOp::to_f64: return a;
    case ScalarOp::to_i32: return saturate(a, INT32_MIN, INT32_MAX);
    case ScalarOp::to_u32: return saturate(a, 0, UINT32_MAX);
    case ScalarOp::to_i64: return saturate(a, INT64_MIN, INT64_MAX);
    case ScalarOp::to_bool: return int64_t(a != 0);
    case ScalarOp::round_f16: return double(f32_from_f16(f16_from_f32(float(a))));
    case ScalarOp::round_bf16: return double(f32_from_bf16(bf16_from_f32(float(a))));
    default: return nan_value;
  }
}

Value integer_op(const Instr& c, int64_t a, int64_t b) {
  const Lane lane = c.arg_lane;
  const auto x = uint64_t(a), y = uint64_t(b);
  switch (c.op) {
    case ScalarOp::neg: return wrap(lane, 0 - x);
    case ScalarOp::abs: return wrap(lane, a < 0 ? 0 - x : x);
    case ScalarOp::add: return wrap(lane, x + y);
    case ScalarOp::sub: return wrap(lane, x - y);
    case ScalarOp::mul: return wrap(lane, x * y);
    case ScalarOp::min: return std::min(a, b);
    case ScalarOp::max: return std::max(a, b);
    case ScalarOp::eq: return int64_t(a == b);
    case ScalarOp::ne: return int64_t(a != b);
    case ScalarOp::lt: return int64_t(a < b);
    case ScalarOp::le: return int64_t(a <= b);
    case ScalarOp::bit_and: return a & b;
    case ScalarOp::bit_or: return a | b;
    case ScalarOp::bit_xor: return a ^ b;
    case ScalarOp::shift_left: case ScalarOp::shift_right: return wrap(lane, uint64_t(shift(c.op, lane, a, b)));
    case ScalarOp::floor_div: return wrap(lane, uint64_t(floor_quotient(a, b)));
    case ScalarOp::rem: return remainder(a, b);
    case ScalarOp::to_f32: return double(float(a));
    case ScalarOp::to_f64: return double(a);
    case ScalarOp::to_i32: return wrap(Lane::i32, x);
    case ScalarOp::to_u32: return wrap(Lane::u32, x);
    case ScalarOp::to_i64: return a;
    case ScalarOp::to_bool: return int64_t(a != 0);
    case ScalarOp::wrap_u8: return int64_t(uint8_t(x));
    case ScalarOp::wrap_i8: return int64_t(int8_t(x));
    default: return int64_t(0);
  }
}

}  // namespace

Value apply(const Instr& c, const Value* x) {
  if (c.op == ScalarOp::select) return x[0].whole() != 0 ? x[1] : x[2];
  if (c.op == ScalarOp::philox) {
    const auto word = [x](int i) { return uint32_t(x[i].whole()); };
    return int64_t(philox_word(uint64_t(word(0)) | uint64_t(word(1)) << 32, word(2), word(3), word(4)));
  }
  if (is_float(c.arg_lane)) return real_op(c, x[0].real(), x[1].real(), x[2].real());
  return integer_op(c, x[0].whole(), x[1].whole());
}

}  // namespace tenon::host
