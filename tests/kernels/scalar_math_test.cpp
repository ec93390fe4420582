// exp, log, tanh, erf: the documented error on a dense sample of every binade, and exact special values.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/scalar/loop_table.cpu.h"

namespace tenon::cpu {
namespace {

float f32(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

uint32_t apply(Isa isa, ScalarOp op, uint32_t x) {
  uint32_t out = 0;
  const uint32_t* args[] = {&x};
  loop_table(isa)->scalar(op, Lane::f32)(&out, args, 1);
  return out;
}
// Of f32 at the exact value y.
double ulp(double y) {
  int exponent = 0;
  std::frexp(y, &exponent);
  return std::ldexp(1.0, std::max(exponent, -125) - 24);
}

// 4.3 million arguments: every 997th pattern, which visits all exponents and both signs.
void expect_error_below(ScalarOp op, double (*exact)(double), double limit) {
  constexpr int64_t n = 1024;
  std::vector<uint32_t> in(n), out(n);
  const uint32_t* args[] = {in.data()};
  uint64_t next = 0;
  double worst = 0;
  while (next < (uint64_t(1) << 32)) {
    for (uint32_t& x : in) x = uint32_t(next), next += 997;
    scalar_loop(op, Lane::f32)(out.data(), args, n);
    for (size_t i = 0; i < in.size(); ++i) {
      const double y = exact(double(f32(in[i])));
      const float got = f32(out[i]);
      if (std::isnan(y)) {
        ASSERT_TRUE(std::isnan(got)) << std::hex << in[i];
      } else if (std::isinf(float(y)) || std::isinf(got)) {
        ASSERT_EQ(got, float(y)) << std::hex << in[i];
      } else {
        worst = std::max(worst, std::fabs(double(got) - y) / ulp(y));
        ASSERT_LE(worst, limit) << std::hex << in[i] << " gave " << out[i];
      }
    }
  }
  EXPECT_GT(worst, 0.4);  // the measurement itself works
}
TEST(ScalarMath, ExpError) { expect_error_below(ScalarOp::exp, std::exp, 1.0); }
TEST(ScalarMath, LogError) { expect_error_below(ScalarOp::log, std::log, 1.0); }
TEST(ScalarMath, TanhError) { expect_error_below(ScalarOp::tanh, std::tanh, 1.5); }
TEST(ScalarMath, ErfError) { expect_error_below(ScalarOp::erf, std::erf, 1.5); }

TEST(ScalarMath, SpecialValues) {
  constexpr float inf = std::numeric_limits<float>::infinity(), tiny = 0x1p-149f;
  struct Row {
    ScalarOp op;
    float x, y;
  };
  const Row rows[] = {
      {ScalarOp::exp, -inf, 0.0f},    {ScalarOp::exp, inf, inf},         {ScalarOp::exp, 0.0f, 1.0f},
      {ScalarOp::exp, -0.0f, 1.0f},   {ScalarOp::exp, tiny, 1.0f},       {ScalarOp::exp, -3e38f, 0.0f},
      {ScalarOp::exp, f32(0x42b17218), inf},                             // ln(2^128) rounded up
      {ScalarOp::exp, f32(0xc2cff1b4), tiny},                            // the last that does not round to 0
      {ScalarOp::exp, f32(0xc2cff1b5), 0.0f},
      {ScalarOp::log, 0.0f, -inf},    {ScalarOp::log, -0.0f, -inf},      {ScalarOp::log, inf, inf},
      {ScalarOp::log, 1.0f, 0.0f},    {ScalarOp::log, tiny, -103.278929903431851f},
      {ScalarOp::tanh, inf, 1.0f},    {ScalarOp::tanh, -inf, -1.0f},     {ScalarOp::tanh, 0.0f, 0.0f},
      {ScalarOp::tanh, -0.0f, -0.0f}, {ScalarOp::tanh, tiny, tiny},      {ScalarOp::tanh, -9.1f, -1.0f},
      {ScalarOp::tanh, 3e38f, 1.0f},
      {ScalarOp::erf, inf, 1.0f},     {ScalarOp::erf, -inf, -1.0f},      {ScalarOp::erf, 0.0f, 0.0f},
      {ScalarOp::erf, -0.0f, -0.0f},  {ScalarOp::erf, tiny, tiny},       {ScalarOp::erf, 4.0f, 1.0f},
      {ScalarOp::erf, -3e38f, -1.0f},
      {ScalarOp::sqrt, -0.0f, -0.0f}, {ScalarOp::sqrt, inf, inf},        {ScalarOp::rsqrt, 0.0f, inf},
      {ScalarOp::rsqrt, -0.0f, -inf}, {ScalarOp::rsqrt, inf, 0.0f},
      {ScalarOp::neg, 0.0f, -0.0f},   {ScalarOp::abs, -inf, inf},
  };
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!loop_table(isa)) continue;
    for (const Row& r : rows) EXPECT_EQ(f32(apply(isa, r.op, bits(r.x))), r.y) << info(r.op).name << "(" << r.x << ")";
    for (const Row& r : rows)
      EXPECT_EQ(apply(isa, r.op, bits(r.x)) >> 31, bits(r.y) >> 31) << info(r.op).name << ", sign at " << r.x;
    for (const ScalarOp op : {ScalarOp::exp, ScalarOp::log, ScalarOp::tanh, ScalarOp::erf})
      for (const uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu})
        EXPECT_EQ(apply(isa, op, nan), nan | 0x00400000u) << info(op).name;
    for (const float x : {-tiny, -1.0f, -inf}) EXPECT_TRUE(std::isnan(f32(apply(isa, ScalarOp::log, bits(x))))) << x;
    EXPECT_TRUE(std::isfinite(f32(apply(isa, ScalarOp::exp, 0x42b17217u))));
  }
}

// Subnormal results and arguments are computed, not flushed.
TEST(ScalarMath, GradualUnderflow) {
  for (float x = -87.0f; x > -104.5f; x -= 0.01f) {
    const double y = std::exp(double(x));
    const float got = f32(apply(cpu_isa(), ScalarOp::exp, bits(x)));
    ASSERT_LE(std::fabs(double(got) - y), 1.0 * ulp(y)) << x;
  }
  for (int e = -149; e < -126; ++e) {
    const float x = std::ldexp(1.0f, e), y = float(std::log(double(x)));
    ASSERT_NEAR(f32(apply(cpu_isa(), ScalarOp::log, bits(x))), y, 1e-5f) << e;
  }
}

}  // namespace
}  // namespace tenon::cpu
