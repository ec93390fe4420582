#include "kernels/scalar/plain.cpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/half.h"

namespace tenon::cpu {
namespace {

float as_float(uint64_t lane) { return std::bit_cast<float>(uint32_t(lane)); }
double as_double(uint64_t lane) { return std::bit_cast<double>(lane); }
uint64_t bits(float f) { return std::bit_cast<uint32_t>(f); }
uint64_t bits(double d) { return std::bit_cast<uint64_t>(d); }

// What a lane holds, as its type and back; and the type in which functions of F are computed.
template <class F>
F as(uint64_t lane) {
  if constexpr (std::is_same_v<F, float>) return as_float(lane);
  else return as_double(lane);
}
template <class F>
struct Wider {
  using type = double;
};
template <>
struct Wider<double> {
  using type = long double;
};

constexpr long double pi = 3.14159265358979323846264338327950288L;

template <class F>
F min_max(bool want_max, F a, F b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<F>::quiet_NaN();
  if (a == b) return std::signbit(a) != want_max ? a : b;  // -0 is less than +0
  return (a > b) == want_max ? a : b;
}

// An integer lane's value; u32 within 64 bits, so that one order and one division serve all.
int64_t whole(Lane lane, uint64_t x) {
  if (lane == Lane::i64) return int64_t(x);
  return lane == Lane::i32 ? int64_t(int32_t(x)) : int64_t(uint32_t(x));
}
uint64_t to_lane(Lane lane, uint64_t x) { return is_wide(lane) ? x : uint32_t(x); }

bool less(Lane lane, uint64_t x, uint64_t y) {
  if (lane == Lane::f32) return as_float(x) < as_float(y);
  if (lane == Lane::f64) return as_double(x) < as_double(y);
  return whole(lane, x) < whole(lane, y);
}

bool equal(Lane lane, uint64_t x, uint64_t y) {
  if (lane == Lane::f32) return as_float(x) == as_float(y);
  return lane == Lane::f64 ? as_double(x) == as_double(y) : x == y;
}

// Towards zero, saturating, NaN to 0. `high` is one more than the largest.
template <class Int>
Int saturated(double d, double low, double high) {
  if (std::isnan(d)) return 0;
  if (d <= low) return std::numeric_limits<Int>::min();
  if (d >= high) return std::numeric_limits<Int>::max();
  return Int(d);
}

// By 0 both give 0; by -1 no quotient is made, as the smallest i64 has none.
uint64_t floor_quotient(Lane lane, uint64_t x, uint64_t y) {
  const int64_t a = whole(lane, x), b = whole(lane, y);
  if (b == 0) return 0;
  if (b == -1) return uint64_t(0) - uint64_t(a);
  return uint64_t(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}
uint64_t integer_remainder(Lane lane, uint64_t x, uint64_t y) {
  const int64_t b = whole(lane, y);
  return b == 0 ? 0 : uint64_t(whole(lane, x)) - floor_quotient(lane, x, y) * uint64_t(b);
}

// With the sign of the divisor.
template <class F>
F remainder(F a, F b) {
  const F r = std::fmod(a, b);
  if (r == 0) return std::copysign(F(0), b);
  return std::signbit(r) != std::signbit(b) ? r + b : r;
}

float floored_quotient(float a, float b) { return float(std::floor(double(a) / double(b))); }
double floored_quotient(double a, double b) {
  using Long = long double;
  const Long q = Long(a) / Long(b);
  if (b == 0 || std::isinf(b) || !std::isfinite(a)) return double(std::floor(q));
  // Without its remainder, a is a multiple of b: the quotient is an integer, up to rounding.
  const Long whole = std::nearbyint((Long(a) - Long(remainder(a, b))) / Long(b));
  return double(whole == 0 ? std::copysign(whole, q) : whole);
}

// Newton's method on erf, or on erfc where that is more exact, from Winitzki's approximation (2008).
template <class W>
W inverse_erf(W x) {
  const W a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? std::copysign(std::numeric_limits<W>::infinity(), x) : std::numeric_limits<W>::quiet_NaN();
  const W p = W(pi), c = W(0.147), l = std::log((1 - a) * (1 + a)), t = 2 / (p * c) + l / 2;
  W y = std::sqrt(std::max(W(0), std::sqrt(t * t - l / c) - t));
  for (int step = 0; step < 6; ++step) {
    const W error = a < W(0.5) ? std::erf(y) - a : (1 - a) - std::erfc(y);
    y -= error / (2 / std::sqrt(p) * std::exp(-y * y));
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
long double log_gamma(long double x) {
#if defined(__GLIBC__)
  int sign;
  return lgammal_r(x, &sign);
#else
  return log_gamma(double(x));
#endif
}

double power(double x, double y) { return std::pow(x, y); }
// glibc 2.36 gives infinity for -infinity to the power -2^63 in long double.
long double power(long double x, long double y) { return std::isinf(x) ? std::pow(double(x), double(y)) : std::pow(x, y); }

uint64_t shifted(ScalarOp op, Lane lane, uint64_t x, uint64_t by) {
  const uint64_t width = is_wide(lane) ? 64 : 32;
  if (op == ScalarOp::shift_left) return by < width ? x << by : 0;
  if (lane == Lane::u32) return by < width ? x >> by : 0;
  return uint64_t(whole(lane, x) >> std::min(by, width - 1));
}

// Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011); ten rounds of four words.
uint32_t philox(const uint64_t* x) {
  const uint64_t index = x[1] << 32 | x[0];
  uint32_t k0 = uint32_t(x[2]), k1 = uint32_t(x[3]);
  uint32_t w[4] = {uint32_t(index >> 2), uint32_t(index >> 34), uint32_t(x[4]), 0};
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = uint64_t(0xD2511F53u) * w[0], q = uint64_t(0xCD9E8D57u) * w[2];
    w[0] = uint32_t(q >> 32) ^ w[1] ^ k0;
    w[1] = uint32_t(q);
    w[2] = uint32_t(p >> 32) ^ w[3] ^ k1;
    w[3] = uint32_t(p);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return w[index & 3];
}

template <class F>
uint64_t apply_float(ScalarOp op, const uint64_t* x) {
  const F a = as<F>(x[0]), b = as<F>(x[1]);
  const typename Wider<F>::type w = a, v = b;
  switch (op) {
    case ScalarOp::neg: return bits(-a);
    case ScalarOp::abs: return bits(std::fabs(a));
    case ScalarOp::add: return bits(a + b);
    case ScalarOp::sub: return bits(a - b);
    case ScalarOp::mul: return bits(a * b);
    case ScalarOp::div: return bits(a / b);
    case ScalarOp::min: return bits(min_max(false, a, b));
    case ScalarOp::max: return bits(min_max(true, a, b));
    case ScalarOp::exp: return bits(F(std::exp(w)));
    case ScalarOp::log: return bits(F(std::log(w)));
    case ScalarOp::sqrt: return bits(std::sqrt(a));
    case ScalarOp::rsqrt: return bits(F(1) / std::sqrt(a));
    case ScalarOp::tanh: return bits(F(std::tanh(w)));
    case ScalarOp::erf: return bits(F(std::erf(w)));
    case ScalarOp::floor: return bits(std::floor(a));
    case ScalarOp::ceil: return bits(std::ceil(a));
    case ScalarOp::trunc: return bits(std::trunc(a));
    case ScalarOp::round: return bits(std::nearbyint(a));
    case ScalarOp::floor_div: return bits(floored_quotient(a, b));
    case ScalarOp::rem: return bits(F(remainder(w, v)));
    case ScalarOp::exp2: return bits(F(std::exp2(w)));
    case ScalarOp::expm1: return bits(F(std::expm1(w)));
    case ScalarOp::log1p: return bits(F(std::log1p(w)));
    case ScalarOp::log2: return bits(F(std::log2(w)));
    case ScalarOp::log10: return bits(F(std::log10(w)));
    case ScalarOp::pow: return bits(F(power(w, v)));
    case ScalarOp::sin: return bits(F(std::sin(w)));
    case ScalarOp::cos: return bits(F(std::cos(w)));
    case ScalarOp::tan: return bits(F(std::tan(w)));
    case ScalarOp::atan2: return bits(F(std::atan2(w, v)));
    case ScalarOp::erfinv: return bits(F(inverse_erf(w)));
    case ScalarOp::lgamma: return bits(F(log_gamma(w)));
    case ScalarOp::fma: return bits(std::fma(a, b, as<F>(x[2])));
    case ScalarOp::to_i32: return uint32_t(saturated<int32_t>(a, -0x1p31, 0x1p31));
    case ScalarOp::to_u32: return saturated<uint32_t>(a, 0, 0x1p32);
    case ScalarOp::to_f32: return bits(float(a));
    case ScalarOp::to_f64: return bits(double(a));
    case ScalarOp::to_i64: return uint64_t(saturated<int64_t>(a, -0x1p63, 0x1p63));
    case ScalarOp::to_bool: return a != 0;
    case ScalarOp::round_f16: return bits(f32_from_f16(f16_from_f32(float(a))));
    case ScalarOp::round_bf16: return bits(f32_from_bf16(bf16_from_f32(float(a))));
    default: return 0;  // no other op takes floats
  }
}

uint64_t to_real(ScalarOp op, Lane lane, uint64_t x) {
  const int64_t value = whole(lane, x);
  return op == ScalarOp::to_f32 ? bits(float(value)) : bits(double(value));
}

uint64_t apply_integer(ScalarOp op, Lane lane, const uint64_t* x) {
  const uint64_t a = x[0], b = x[1];
  switch (op) {
    case ScalarOp::neg: return to_lane(lane, 0 - a);
    case ScalarOp::abs: return to_lane(lane, whole(lane, a) < 0 ? 0 - a : a);
    case ScalarOp::add: return to_lane(lane, a + b);
    case ScalarOp::sub: return to_lane(lane, a - b);
    case ScalarOp::mul: return to_lane(lane, a * b);
    case ScalarOp::floor_div: return to_lane(lane, floor_quotient(lane, a, b));
    case ScalarOp::rem: return to_lane(lane, integer_remainder(lane, a, b));
    case ScalarOp::min: return less(lane, b, a) ? b : a;
    case ScalarOp::max: return less(lane, a, b) ? b : a;
    case ScalarOp::bit_and: return a & b;
    case ScalarOp::bit_or: return a | b;
    case ScalarOp::bit_xor: return a ^ b;
    case ScalarOp::shift_left: case ScalarOp::shift_right: return to_lane(lane, shifted(op, lane, a, b));
    case ScalarOp::to_f32: case ScalarOp::to_f64: return to_real(op, lane, a);
    case ScalarOp::to_i32: case ScalarOp::to_u32: return uint32_t(a);
    case ScalarOp::to_i64: return uint64_t(whole(lane, a));
    case ScalarOp::to_bool: return a != 0;
    case ScalarOp::wrap_u8: return a & 0xff;
    case ScalarOp::wrap_i8: return uint32_t(int32_t(int8_t(a)));
    case ScalarOp::philox: return philox(x);
    default: return 0;  // no other op takes integers
  }
}

template <class T>
T read_as(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Element `j` of a block of 32: scale (and minimum) in f16, then the quants; each product and sum rounded to f32.
float block_element(DType dtype, const std::byte* block, int j) {
  const float scale = f32_from_f16(read_as<uint16_t>(block));
  if (dtype == DType::q8_0) return scale * float(read_as<int8_t>(block + 2 + j));
  const std::byte* quants = block + (dtype == DType::q4_0 ? 2 : 4);
  const int both = int(quants[j % 16]), q = j < 16 ? both & 15 : both >> 4;
  if (dtype == DType::q4_0) return scale * float(q - 8);
  const float product = scale * float(q);
  return product + f32_from_f16(read_as<uint16_t>(block + 2));
}

}  // namespace

uint64_t plain_apply(const Instr& c, const uint64_t* x) {
  switch (c.op) {
    case ScalarOp::eq: return equal(c.arg_lane, x[0], x[1]);
    case ScalarOp::ne: return !equal(c.arg_lane, x[0], x[1]);
    case ScalarOp::lt: return less(c.arg_lane, x[0], x[1]);
    case ScalarOp::le: return less(c.arg_lane, x[0], x[1]) || equal(c.arg_lane, x[0], x[1]);
    case ScalarOp::select: return x[0] ? x[1] : x[2];
    default: break;
  }
  if (c.arg_lane == Lane::f32) return apply_float<float>(c.op, x);
  return c.arg_lane == Lane::f64 ? apply_float<double>(c.op, x) : apply_integer(c.op, c.arg_lane, x);
}

uint64_t plain_load(DType dtype, const std::byte* base, int64_t i) {
  switch (dtype) {
    case DType::f64: case DType::i64: return read_as<uint64_t>(base + i * 8);
    case DType::f32: case DType::i32: case DType::u32: return read_as<uint32_t>(base + i * 4);
    case DType::f16: return bits(f32_from_f16(read_as<uint16_t>(base + i * 2)));
    case DType::bf16: return bits(f32_from_bf16(read_as<uint16_t>(base + i * 2)));
    case DType::bool_: return base[i] != std::byte{0};
    case DType::u8: return uint8_t(base[i]);
    case DType::i8: return uint32_t(int32_t(int8_t(base[i])));
    default: return bits(block_element(dtype, base + i / 32 * block_bytes(dtype), int(i % 32)));
  }
}

double plain_real(DType dtype, const std::byte* base, int64_t i) {
  return dtype == DType::f64 ? as_double(plain_load(dtype, base, i)) : double(plain_float(dtype, base, i));
}

void plain_store(DType dtype, std::byte* base, int64_t i, uint64_t lane) {
  const auto write = [&](auto x) { std::memcpy(base + i * int64_t(sizeof x), &x, sizeof x); };
  switch (dtype) {
    case DType::f16: return write(f16_from_f32(as_float(lane)));
    case DType::bf16: return write(bf16_from_f32(as_float(lane)));
    case DType::bool_: return write(uint8_t(lane != 0));
    case DType::u8: case DType::i8: return write(uint8_t(lane));
    case DType::f64: case DType::i64: return write(lane);
    default: return write(uint32_t(lane));
  }
}

}  // namespace tenon::cpu
