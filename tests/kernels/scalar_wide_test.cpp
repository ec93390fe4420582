// Functions computed in double precision, and rounding: the documented error on a dense sample of every binade, special
// values, the angles and quotients that take the slow way, fma against the exact result.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/scalar/loop_table.cpu.h"
#include "support/special.h"

namespace tenon::cpu {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN(), tiny = 0x1p-149f;

float f32(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
float run(ScalarOp op, float x, float y = 0, float z = 0, Isa isa = cpu_isa()) {
  const uint32_t a[] = {bits(x), bits(y), bits(z)};
  const uint32_t* args[] = {a, a + 1, a + 2};
  uint32_t out = 0xffffffffu;
  loop_table(isa)->scalar(op, Lane::f32)(&out, args, 1);
  return f32(out);
}
double ulp(double y) {
  int exponent = 0;
  std::frexp(y, &exponent);
  return std::ldexp(1.0, std::max(exponent, -125) - 24);
}
// In units of the last place; infinite where it is of another kind, or a zero of another sign.
double error_of(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isnan(got) || std::signbit(got) != std::signbit(exact)) return HUGE_VAL;
  if (std::isinf(float(exact)) || std::isinf(got)) return got == float(exact) ? 0 : HUGE_VAL;
  return std::fabs(double(got) - exact) / ulp(exact);
}

// 2.1 million arguments: every 2,003rd pattern.
void expect_error_below(ScalarOp op, double (*exact)(double), double limit) {
  constexpr int64_t n = 1024;
  std::vector<uint32_t> in(n), out(n);
  const uint32_t* args[] = {in.data()};
  double worst = 0;
  for (uint64_t next = 0; next < (uint64_t(1) << 32);) {
    for (uint32_t& x : in) x = uint32_t(next), next += 2003;
    scalar_loop(op, Lane::f32)(out.data(), args, n);
    for (size_t i = 0; i < in.size(); ++i) {
      worst = std::max(worst, error_of(f32(out[i]), exact(double(f32(in[i])))));
      ASSERT_LE(worst, limit) << info(op).name << std::hex << " of " << in[i] << " gave " << out[i];
    }
  }
}
TEST(ScalarWide, Rounding) {
  expect_error_below(ScalarOp::floor, std::floor, 0);
  expect_error_below(ScalarOp::ceil, std::ceil, 0);
  expect_error_below(ScalarOp::trunc, std::trunc, 0);
  expect_error_below(ScalarOp::round, std::nearbyint, 0);
}
TEST(ScalarWide, ExponentialsAndLogarithms) {
  expect_error_below(ScalarOp::exp2, std::exp2, 0.51);
  expect_error_below(ScalarOp::expm1, std::expm1, 0.51);
  expect_error_below(ScalarOp::log1p, std::log1p, 0.51);
  expect_error_below(ScalarOp::log2, std::log2, 0.51);
  expect_error_below(ScalarOp::log10, std::log10, 0.51);
}
TEST(ScalarWide, Trigonometry) {
  expect_error_below(ScalarOp::sin, std::sin, 0.51);
  expect_error_below(ScalarOp::cos, std::cos, 0.51);
  expect_error_below(ScalarOp::tan, std::tan, 0.51);
}
TEST(ScalarWide, InverseErrorFunction) { expect_error_below(ScalarOp::erfinv, special::inverse_erf, 0.6); }
TEST(ScalarWide, LogGamma) {
  expect_error_below(ScalarOp::lgamma, [](double x) { return std::lgamma(x); }, 0.6);
}

// The f32 nearest to a multiple of pi/2 of all, and its neighbours in size (J.-M. Muller, Elementary Functions, 11).
TEST(ScalarWide, HardAngles) {
  const float hard[] = {std::ldexp(16367173.0f, 72), 0x1.921fb6p+1f, 0x1.921fb6p+0f, 0x1p20f, std::nextafter(0x1p20f, 0.0f),
                        3.4028235e38f, 0x1p127f, 12345678.0f, 1647099.375f, 710.0f, 355.0f, 103993.0f};
  for (const float x : hard)
    for (const float a : {x, -x}) {
      EXPECT_LE(error_of(run(ScalarOp::sin, a), std::sin(double(a))), 0.75) << a;
      EXPECT_LE(error_of(run(ScalarOp::cos, a), std::cos(double(a))), 0.75) << a;
      EXPECT_LE(error_of(run(ScalarOp::tan, a), std::tan(double(a))), 0.75) << a;
    }
}

TEST(ScalarWide, LogGammaNearItsZeros) {
  for (const float zero : {1.0f, 2.0f, -2.4570248f, -2.7476827f, -3.1435809f, -3.9552943f, -4.0393613f, -4.9915447f, -5.0082183f}) {
    float x = zero - 1e-3f;
    for (; x < zero + 1e-3f; x = std::nextafter(x, 10.0f)) {
      const double exact = std::lgamma(double(x));
      ASSERT_LE(std::fabs(double(run(ScalarOp::lgamma, x)) - exact), 0.6 * ulp(exact) + 1e-13) << x;
    }
  }
}

struct Random {
  std::mt19937 source{7};
  uint32_t word() { return uint32_t(source()); }
  float near(float scale) { return scale * (float(int32_t(word())) * 0x1p-31f); }
};

TEST(ScalarWide, TwoArguments) {
  Random r;
  for (int i = 0; i < 300000; ++i) {
    float x = f32(r.word()), y = f32(r.word());
    if (i % 3 == 1) x = r.near(40), y = r.near(30);
    if (i % 3 == 2) x = std::round(r.near(20)), y = std::round(r.near(20)) / 2;
    const double a = double(x), b = double(y);
    ASSERT_LE(error_of(run(ScalarOp::pow, x, y), std::pow(a, b)), 0.51) << x << " " << y;
    ASSERT_LE(error_of(run(ScalarOp::atan2, x, y), std::atan2(a, b)), 0.51) << x << " " << y;
    ASSERT_LE(error_of(run(ScalarOp::floor_div, x, y), std::floor(a / b)), 0.51) << x << " " << y;
    ASSERT_LE(error_of(run(ScalarOp::rem, x, y), special::floored_remainder(a, b)), 0.51) << x << " " << y;
  }
}

TEST(ScalarWide, SpecialValuesOfPow) {
  const float values[] = {none, inf, -inf, 0.0f, -0.0f, 1, -1, 2, -2, 3, -3, 0.5f, -0.5f, tiny, -tiny, 16777215.0f, 33554432.0f,
                          -16777215.0f, 8388607.5f, 3.4e38f, -3.4e38f};
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!loop_table(isa)) continue;
    for (const float x : values)
      for (const float y : values) {
        EXPECT_LE(error_of(run(ScalarOp::pow, x, y, 0, isa), std::pow(double(x), double(y))), 0.51) << x << " to the " << y;
        EXPECT_LE(error_of(run(ScalarOp::atan2, x, y, 0, isa), std::atan2(double(x), double(y))), 0.51) << x << ", " << y;
      }
  }
}

TEST(ScalarWide, FmaRoundsOnce) {
  Random r;
  for (int i = 0; i < 400000; ++i) {
    const float x = f32(r.word()), y = f32(r.word());
    float z = f32(r.word());
    if (i % 3 == 1) z = -(x * y);                                               // what is left of cancellation
    if (i % 3 == 2) z = x * y * std::ldexp(r.near(1), int(r.word() % 60) - 30);  // near a tie of the sum
    const float exact = std::fmaf(x, y, z), got = run(ScalarOp::fma, x, y, z);
    if (std::isnan(exact)) ASSERT_TRUE(std::isnan(got)) << x << " " << y << " " << z;
    else ASSERT_EQ(bits(got), bits(exact)) << x << " " << y << " " << z;
  }
  // A tie of f32 that only a bit far below breaks: two roundings give 1 or 1 + 2^-22.
  EXPECT_EQ(run(ScalarOp::fma, 1 + 0x1p-23f, 1 + 0x1p-24f * 2, tiny), std::fmaf(1 + 0x1p-23f, 1 + 0x1p-23f, tiny));
  EXPECT_EQ(run(ScalarOp::fma, 0x1p-24f, 1, 1), 1.0f);
  EXPECT_EQ(run(ScalarOp::fma, 0x1.000002p-24f, 1, 1), 1 + 0x1p-23f);
}

TEST(ScalarWide, SpecialValues) {
  struct Row {
    ScalarOp op;
    float x, y;
  };
  const Row rows[] = {
      {ScalarOp::exp2, -inf, 0.0f},   {ScalarOp::exp2, inf, inf},      {ScalarOp::exp2, 128, inf},       {ScalarOp::exp2, -149, tiny},
      {ScalarOp::exp2, -150, 0.0f},   {ScalarOp::exp2, 10, 1024},      {ScalarOp::expm1, -inf, -1},      {ScalarOp::expm1, inf, inf},
      {ScalarOp::expm1, -0.0f, -0.0f}, {ScalarOp::expm1, tiny, tiny},  {ScalarOp::log1p, -1, -inf},      {ScalarOp::log1p, -0.0f, -0.0f},
      {ScalarOp::log1p, inf, inf},    {ScalarOp::log1p, -2, none},     {ScalarOp::log1p, -inf, none},    {ScalarOp::log2, 0.0f, -inf},
      {ScalarOp::log2, -0.0f, -inf},  {ScalarOp::log2, tiny, -149},    {ScalarOp::log2, 1024, 10},       {ScalarOp::log2, -1, none},
      {ScalarOp::log10, 1000, 3},     {ScalarOp::log10, 1e10f, 10},    {ScalarOp::log10, inf, inf},      {ScalarOp::sin, inf, none},
      {ScalarOp::cos, -inf, none},    {ScalarOp::tan, inf, none},      {ScalarOp::sin, -0.0f, -0.0f},    {ScalarOp::tan, -0.0f, -0.0f},
      {ScalarOp::cos, 0.0f, 1},       {ScalarOp::sin, tiny, tiny},     {ScalarOp::erfinv, 1, inf},       {ScalarOp::erfinv, -1, -inf},
      {ScalarOp::erfinv, 2, none},    {ScalarOp::erfinv, -0.0f, -0.0f}, {ScalarOp::lgamma, 0.0f, inf},   {ScalarOp::lgamma, -3, inf},
      {ScalarOp::lgamma, inf, inf},   {ScalarOp::lgamma, -inf, inf},   {ScalarOp::lgamma, 1, 0.0f},      {ScalarOp::lgamma, 2, 0.0f},
      {ScalarOp::lgamma, -1e20f, inf}, {ScalarOp::floor, -0.5f, -1},   {ScalarOp::floor, -0.0f, -0.0f},  {ScalarOp::ceil, -0.5f, -0.0f},
      {ScalarOp::trunc, -0.5f, -0.0f}, {ScalarOp::round, -0.5f, -0.0f}, {ScalarOp::round, 2.5f, 2},      {ScalarOp::round, 8388609.0f, 8388609.0f},
      {ScalarOp::floor, inf, inf},
  };
  const ScalarOp unary[] = {ScalarOp::exp2, ScalarOp::expm1, ScalarOp::log1p, ScalarOp::log2, ScalarOp::log10, ScalarOp::sin, ScalarOp::cos,
                            ScalarOp::tan, ScalarOp::erfinv, ScalarOp::lgamma, ScalarOp::floor, ScalarOp::ceil, ScalarOp::trunc, ScalarOp::round};
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!loop_table(isa)) continue;
    for (const Row& r : rows) {
      const float got = run(r.op, r.x, 0, 0, isa);
      if (std::isnan(r.y)) EXPECT_EQ(bits(got), 0x7fc00000u) << info(r.op).name << "(" << r.x << ")";
      else EXPECT_EQ(bits(got), bits(r.y)) << info(r.op).name << "(" << r.x << ") gave " << got;
    }
    for (const ScalarOp op : unary)
      for (const uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu})
        EXPECT_EQ(bits(run(op, f32(nan), 0, 0, isa)), nan | 0x00400000u) << info(op).name;
  }
}

}  // namespace
}  // namespace tenon::cpu
