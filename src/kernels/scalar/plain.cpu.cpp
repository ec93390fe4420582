#include "kernels/scalar/plain.cpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/half.h"

namespace tenon::cpu {
namespace {

float as_float(uint32_t lane) { return std::bit_cast<float>(lane); }
int32_t as_int(uint32_t lane) { return int32_t(lane); }
uint32_t bits(float f) { return std::bit_cast<uint32_t>(f); }
uint32_t rounded(double v) { return bits(float(v)); }

constexpr double pi = 3.14159265358979323846;
constexpr uint32_t nan_lane = 0x7fc00000u;

uint32_t min_max(bool want_max, uint32_t x, uint32_t y) {
  const float a = as_float(x), b = as_float(y);
  if (std::isnan(a) || std::isnan(b)) return nan_lane;
  if (a == b) return std::signbit(a) != want_max ? x : y;  // -0 is less than +0
  return (a > b) == want_max ? x : y;
}

uint32_t less(Lane lane, uint32_t x, uint32_t y) {
  if (lane == Lane::f32) return as_float(x) < as_float(y);
  return lane == Lane::i32 ? as_int(x) < as_int(y) : x < y;
}

uint32_t equal(Lane lane, uint32_t x, uint32_t y) { return lane == Lane::f32 ? as_float(x) == as_float(y) : x == y; }

// Towards zero, saturating, NaN to 0.
template <class Int>
uint32_t saturated(float f, double low, double high) {
  if (std::isnan(f)) return 0;
  if (double(f) <= low) return uint32_t(Int(low));
  if (double(f) >= high) return uint32_t(Int(high));
  return uint32_t(Int(f));
}

// Integers as 64 bits, where no quotient overflows; by 0 both give 0.
int64_t whole(Lane lane, uint32_t x) { return lane == Lane::i32 ? int64_t(as_int(x)) : int64_t(x); }
uint32_t floor_quotient(Lane lane, uint32_t x, uint32_t y) {
  const int64_t a = whole(lane, x), b = whole(lane, y);
  if (b == 0) return 0;
  return uint32_t(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}
uint32_t remainder(Lane lane, uint32_t x, uint32_t y) {
  const int64_t b = whole(lane, y);
  return b == 0 ? 0 : uint32_t(whole(lane, x) - whole(lane, floor_quotient(lane, x, y)) * b);
}

// With the sign of the divisor.
double remainder(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return std::signbit(r) != std::signbit(b) ? r + b : r;
}

// Newton's method on erf, or on erfc where that is more exact, from Winitzki's approximation (2008).
double inverse_erf(double x) {
  const double a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? std::copysign(HUGE_VAL, x) : std::nan("");
  const double c = 0.147, l = std::log((1 - a) * (1 + a)), t = 2 / (pi * c) + l / 2;
  double y = std::sqrt(std::max(0.0, std::sqrt(t * t - l / c) - t));
  for (int step = 0; step < 5; ++step) {
    const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    y -= error / (2 / std::sqrt(pi) * std::exp(-y * y));
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

uint32_t shifted_right(Lane lane, uint32_t x, uint32_t by) {
  if (lane == Lane::i32) return uint32_t(as_int(x) >> (by < 31 ? by : 31));
  return by < 32 ? x >> by : 0;
}

// Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011); ten rounds of four words.
uint32_t philox(const uint32_t* x) {
  const uint64_t index = uint64_t(x[1]) << 32 | x[0];
  uint32_t k0 = x[2], k1 = x[3];
  uint32_t w[4] = {uint32_t(index >> 2), uint32_t(index >> 34), x[4], 0};
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

uint32_t apply_float(ScalarOp op, const uint32_t* x) {
  const float a = as_float(x[0]), b = as_float(x[1]);
  switch (op) {
    case ScalarOp::neg: return x[0] ^ 0x80000000u;
    case ScalarOp::abs: return x[0] & 0x7fffffffu;
    case ScalarOp::add: return bits(a + b);
    case ScalarOp::sub: return bits(a - b);
    case ScalarOp::mul: return bits(a * b);
    case ScalarOp::div: return bits(a / b);
    case ScalarOp::min: return min_max(false, x[0], x[1]);
    case ScalarOp::max: return min_max(true, x[0], x[1]);
    case ScalarOp::exp: return rounded(std::exp(double(a)));
    case ScalarOp::log: return rounded(std::log(double(a)));
    case ScalarOp::sqrt: return bits(std::sqrt(a));
    case ScalarOp::rsqrt: return bits(1.0f / std::sqrt(a));
    case ScalarOp::tanh: return rounded(std::tanh(double(a)));
    case ScalarOp::erf: return rounded(std::erf(double(a)));
    case ScalarOp::floor: return bits(std::floor(a));
    case ScalarOp::ceil: return bits(std::ceil(a));
    case ScalarOp::trunc: return bits(std::trunc(a));
    case ScalarOp::round: return bits(std::nearbyint(a));
    case ScalarOp::floor_div: return rounded(std::floor(double(a) / double(b)));
    case ScalarOp::rem: return rounded(remainder(double(a), double(b)));
    case ScalarOp::exp2: return rounded(std::exp2(double(a)));
    case ScalarOp::expm1: return rounded(std::expm1(double(a)));
    case ScalarOp::log1p: return rounded(std::log1p(double(a)));
    case ScalarOp::log2: return rounded(std::log2(double(a)));
    case ScalarOp::log10: return rounded(std::log10(double(a)));
    case ScalarOp::pow: return rounded(std::pow(double(a), double(b)));
    case ScalarOp::sin: return rounded(std::sin(double(a)));
    case ScalarOp::cos: return rounded(std::cos(double(a)));
    case ScalarOp::tan: return rounded(std::tan(double(a)));
    case ScalarOp::atan2: return rounded(std::atan2(double(a), double(b)));
    case ScalarOp::erfinv: return rounded(inverse_erf(double(a)));
    case ScalarOp::lgamma: return rounded(log_gamma(double(a)));
    case ScalarOp::fma: return bits(std::fma(a, b, as_float(x[2])));
    case ScalarOp::to_i32: return saturated<int32_t>(a, -2147483648.0, 2147483647.0);
    case ScalarOp::to_u32: return saturated<uint32_t>(a, 0.0, 4294967295.0);
    case ScalarOp::to_bool: return a != 0;
    case ScalarOp::round_f16: return bits(f32_from_f16(f16_from_f32(a)));
    case ScalarOp::round_bf16: return bits(f32_from_bf16(bf16_from_f32(a)));
    default: return 0;  // no other op takes f32
  }
}

uint32_t apply_integer(ScalarOp op, Lane lane, const uint32_t* x) {
  const bool is_signed = lane == Lane::i32;
  const uint32_t a = x[0], b = x[1];
  switch (op) {
    case ScalarOp::neg: return 0 - a;
    case ScalarOp::abs: return is_signed && as_int(a) < 0 ? 0 - a : a;
    case ScalarOp::add: return a + b;
    case ScalarOp::sub: return a - b;
    case ScalarOp::mul: return a * b;
    case ScalarOp::floor_div: return floor_quotient(lane, a, b);
    case ScalarOp::rem: return remainder(lane, a, b);
    case ScalarOp::min: return less(lane, b, a) ? b : a;
    case ScalarOp::max: return less(lane, a, b) ? b : a;
    case ScalarOp::bit_and: return a & b;
    case ScalarOp::bit_or: return a | b;
    case ScalarOp::bit_xor: return a ^ b;
    case ScalarOp::shift_left: return b < 32 ? a << b : 0;
    case ScalarOp::shift_right: return shifted_right(lane, a, b);
    case ScalarOp::to_f32: return is_signed ? bits(float(as_int(a))) : bits(float(a));
    case ScalarOp::to_i32: case ScalarOp::to_u32: return a;
    case ScalarOp::to_bool: return a != 0;
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

uint32_t plain_apply(const Instr& c, const uint32_t* x) {
  switch (c.op) {
    case ScalarOp::eq: return equal(c.arg_lane, x[0], x[1]);
    case ScalarOp::ne: return !equal(c.arg_lane, x[0], x[1]);
    case ScalarOp::lt: return less(c.arg_lane, x[0], x[1]);
    case ScalarOp::le: return less(c.arg_lane, x[0], x[1]) || equal(c.arg_lane, x[0], x[1]);
    case ScalarOp::select: return x[0] ? x[1] : x[2];
    default: return c.arg_lane == Lane::f32 ? apply_float(c.op, x) : apply_integer(c.op, c.arg_lane, x);
  }
}

uint32_t plain_load(DType dtype, const std::byte* base, int64_t i) {
  switch (dtype) {
    case DType::f32: case DType::i32: case DType::u32: return read_as<uint32_t>(base + i * 4);
    case DType::f16: return bits(f32_from_f16(read_as<uint16_t>(base + i * 2)));
    case DType::bf16: return bits(f32_from_bf16(read_as<uint16_t>(base + i * 2)));
    case DType::bool_: return base[i] != std::byte{0};
    default: return bits(block_element(dtype, base + i / 32 * block_bytes(dtype), int(i % 32)));
  }
}

void plain_store(DType dtype, std::byte* base, int64_t i, uint32_t lane) {
  const auto write = [&](auto x) { std::memcpy(base + i * int64_t(sizeof x), &x, sizeof x); };
  switch (dtype) {
    case DType::f16: return write(f16_from_f32(as_float(lane)));
    case DType::bf16: return write(bf16_from_f32(as_float(lane)));
    case DType::bool_: return write(uint8_t(lane != 0));
    default: return write(lane);
  }
}

}  // namespace tenon::cpu
