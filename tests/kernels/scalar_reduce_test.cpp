// Reductions against the documented order written plainly, for every instruction set that this processor has.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/scalar/loop_table.cpu.h"

namespace tenon::cpu {
namespace {

constexpr int64_t block = 1024;

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
float f32(uint32_t x) { return std::bit_cast<float>(x); }

std::vector<const LoopTable*> tables() {
  std::vector<const LoopTable*> found;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512})
    if (loop_table(isa)) found.push_back(loop_table(isa));
  return found;
}
uint32_t reduced(const LoopTable& table, ReduceOp op, Lane lane, const std::vector<uint32_t>& x) {
  Reduction r;
  table.begin(op, lane, r);
  const int64_t n = int64_t(x.size());
  for (int64_t at = 0; at < n; at += block) table.reduce(op, lane, r, x.data() + at, std::min(block, n - at), at);
  return uint32_t(table.end(op, lane, r));
}

// The order of loops.cpu.h, element by element.
uint32_t sum_in_order(const std::vector<uint32_t>& x) {
  float total[16] = {};
  for (size_t at = 0; at < x.size(); at += block) {
    float part[16] = {};
    for (size_t i = at; i < std::min(x.size(), at + size_t(block)); ++i) part[i % 16] += f32(x[i]);
    for (int l = 0; l < 16; ++l) total[l] += part[l];
  }
  for (int half : {8, 4, 2, 1})
    for (int l = 0; l < half; ++l) total[l] += total[l + half];
  return bits(total[0]);
}
uint32_t product_in_order(const std::vector<uint32_t>& x) {
  float total[16];
  std::fill(total, total + 16, 1.0f);
  for (size_t at = 0; at < x.size(); at += block) {
    float part[16];
    std::fill(part, part + 16, 1.0f);
    for (size_t i = at; i < std::min(x.size(), at + size_t(block)); ++i) part[i % 16] *= f32(x[i]);
    for (int l = 0; l < 16; ++l) total[l] *= part[l];
  }
  for (int half : {8, 4, 2, 1})
    for (int l = 0; l < half; ++l) total[l] *= total[l + half];
  return bits(total[0]);
}
// A number for each lane whose order is that of the lanes; NaN on top.
double rank(Lane lane, uint32_t x) {
  if (lane == Lane::i32) return double(int32_t(x));
  if (lane == Lane::u32) return double(x);
  return std::isnan(f32(x)) ? 1e300 : double(f32(x));
}
size_t first_maximum(Lane lane, const std::vector<uint32_t>& x) {
  size_t best = 0;
  for (size_t i = 1; i < x.size(); ++i)
    if (rank(lane, x[i]) > rank(lane, x[best])) best = i;
  return best;
}

std::vector<uint32_t> row(Lane lane, int64_t n, uint32_t seed, bool with_nan) {
  std::mt19937 random(seed);
  std::vector<uint32_t> x(static_cast<size_t>(n));
  for (uint32_t& v : x) {
    const uint32_t r = uint32_t(random());
    v = lane == Lane::f32 ? bits(float(int32_t(r)) * 0x1p-20f) : r;
    if (seed % 2) v = lane == Lane::f32 ? bits(float(r % 5) - 2) : r % 5;  // many ties
  }
  if (with_nan && lane == Lane::f32 && n > 2) x[size_t(n) / 2] = 0x7fc01234u, x[size_t(n) - 1] = 0xffc00000u;
  return x;
}

TEST(ScalarReduce, AgreesWithTheDocumentedOrder) {
  for (const LoopTable* table : tables())
    for (const Lane lane : {Lane::f32, Lane::i32, Lane::u32})
      for (const int64_t n : {1, 2, 7, 15, 16, 17, 31, 100, 1000, 1023, 1024, 1025, 2048, 5000})
        for (const uint32_t seed : {1u, 2u, 3u, 4u})
          for (const bool with_nan : {false, true}) {
            SCOPED_TRACE(testing::Message() << "n " << n << " lane " << int(lane) << " seed " << seed);
            const std::vector<uint32_t> x = row(lane, n, seed, with_nan);
            const size_t best = first_maximum(lane, x);
            const uint32_t top = reduced(*table, ReduceOp::max, lane, x);
            ASSERT_EQ(rank(lane, top), rank(lane, x[best]));
            ASSERT_EQ(reduced(*table, ReduceOp::argmax, lane, x), best);
            const uint32_t sum = reduced(*table, ReduceOp::sum, lane, x);
            if (lane == Lane::f32) {
              if (std::isnan(f32(sum_in_order(x)))) ASSERT_TRUE(std::isnan(f32(sum)));
              else ASSERT_EQ(sum, sum_in_order(x));
            } else {
              uint32_t plain = 0;
              for (const uint32_t v : x) plain += v;
              ASSERT_EQ(sum, plain);
            }
          }
}

TEST(ScalarReduce, ProductsFollowTheDocumentedOrder) {
  std::mt19937 random(5);
  for (const LoopTable* table : tables())
    for (const int64_t n : {1, 2, 15, 16, 17, 100, 1023, 1024, 1025, 3000}) {
      std::vector<uint32_t> odd, near_one;
      uint32_t product = 1;
      for (int64_t i = 0; i < n; ++i) {
        odd.push_back(uint32_t(random()) | 1u);  // never 0 modulo 2^32
        product *= odd.back();
        near_one.push_back(bits((random() % 2 ? -1.0f : 1.0f) * (1 + float(random() % 1000) * 1e-6f - 5e-4f)));
      }
      ASSERT_EQ(reduced(*table, ReduceOp::prod, Lane::u32, odd), product) << n;
      ASSERT_EQ(reduced(*table, ReduceOp::prod, Lane::i32, odd), product) << n;
      ASSERT_EQ(reduced(*table, ReduceOp::prod, Lane::f32, near_one), product_in_order(near_one)) << n;
    }
}

// The reductions about the row's own centre, in the order of loops.cpu.h.
uint32_t sum_exp_in_order(const std::vector<uint32_t>& x) {
  const LoopTable& t = *loop_table(Isa::baseline);
  const auto exp_of = [&t](float a) {
    const uint32_t in = bits(a);
    const uint32_t* args[] = {&in};
    uint32_t out;
    t.scalar(ScalarOp::exp, Lane::f32)(&out, args, 1);
    return f32(out);
  };
  float total[16] = {}, top = -std::numeric_limits<float>::infinity();
  for (size_t at = 0; at < x.size(); at += block) {
    const float before = top;
    float part[16] = {};
    const size_t end = std::min(x.size(), at + size_t(block));
    for (size_t i = at; i < end; ++i) top = std::max(top, f32(x[i]));
    for (size_t i = at; i < end; ++i) part[i % 16] += exp_of(f32(x[i]) - top);
    for (int l = 0; l < 16; ++l) total[l] = total[l] * exp_of(before - top) + part[l];
  }
  for (int half : {8, 4, 2, 1})
    for (int l = 0; l < half; ++l) total[l] += total[l + half];
  return bits(total[0]);
}
double sum_sq_dev_of(const std::vector<double>& x) {
  long double mean = 0, sum = 0;
  for (const double v : x) mean += v / static_cast<long double>(x.size());
  for (const double v : x) sum += (v - mean) * (v - mean);
  return double(sum);
}

TEST(ScalarReduce, SumsOfExponentialsFollowTheDocumentedOrder) {
  std::mt19937 random(6);
  for (const LoopTable* table : tables())
    for (const int64_t n : {1, 2, 15, 16, 17, 1000, 1024, 1025, 5000})
      for (const float spread : {1.0f, 60.0f, 3000.0f}) {
        std::vector<uint32_t> x;
        for (int64_t i = 0; i < n; ++i) x.push_back(bits((float(random() % 20001) / 10000 - 1) * spread));
        ASSERT_EQ(reduced(*table, ReduceOp::sum_exp, Lane::f32, x), sum_exp_in_order(x)) << n << " spread " << spread;
      }
}

// A row's offset, however large beside what varies, takes nothing from the deviations.
TEST(ScalarReduce, DeviationsDoNotSufferFromTheMean) {
  std::mt19937 random(7);
  for (const LoopTable* table : tables())
    for (const int64_t n : {2, 3, 15, 16, 17, 1000, 1024, 1025, 5000, 70000})
      for (const auto& [offset, step] : {std::pair{0.0f, 0x1p-12f}, {1e4f, 0x1p-10f}, {1e8f, 8.0f}, {-3e30f, 0x1p80f}, {1e-10f, 0x1p-57f}}) {
        std::vector<uint32_t> x;
        std::vector<double> exact;
        for (int64_t i = 0; i < n; ++i) {
          const float v = offset + float(i == 0 ? 1 : random() % 512) * step;
          x.push_back(bits(v));
          exact.push_back(double(v));
        }
        const float want = float(sum_sq_dev_of(exact)), got = f32(reduced(*table, ReduceOp::sum_sq_dev, Lane::f32, x));
        if (std::isinf(want)) ASSERT_EQ(got, want);
        else ASSERT_NEAR(got, want, 1e-6 * want) << n << " about " << offset;
      }
}

TEST(ScalarReduce, EdgesOfTheCentredReductions) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity(), most = 3.4e38f;
  for (const LoopTable* t : tables())
    for (const size_t before : {size_t(0), size_t(3), size_t(1024), size_t(2000)}) {  // elements in front, in blocks of their own too
      const auto row = [before](float fill, std::vector<float> v) {
        std::vector<uint32_t> x(before, bits(fill));
        for (const float f : v) x.push_back(bits(f));
        return x;
      };
      const auto sum_exp = [&](const std::vector<uint32_t>& x) { return f32(reduced(*t, ReduceOp::sum_exp, Lane::f32, x)); };
      const auto dev = [&](const std::vector<uint32_t>& x) { return f32(reduced(*t, ReduceOp::sum_sq_dev, Lane::f32, x)); };
      EXPECT_EQ(sum_exp(row(-inf, {-inf, -inf})), 0);
      EXPECT_EQ(sum_exp(row(-inf, {-inf, 5})), 1);
      EXPECT_EQ(sum_exp(row(-1000, {700})), 1);
      EXPECT_EQ(sum_exp(row(700, {700, -1000, -inf})), float(before) + 1);
      EXPECT_TRUE(std::isnan(sum_exp(row(1, {inf, 2}))));
      EXPECT_TRUE(std::isnan(sum_exp(row(-inf, {nan, -inf}))));
      EXPECT_TRUE(std::isnan(sum_exp(row(nan, {nan, inf, -inf}))));
      EXPECT_EQ(dev(row(16777213, {16777213})), 0);
      if (before < 16) {
        EXPECT_EQ(dev(row(most, {most, most})), 0);  // no sum of them overflows
      }
      EXPECT_EQ(dev(row(most, {-most, most})), inf);
      EXPECT_TRUE(std::isnan(dev(row(1, {inf}))));
      EXPECT_TRUE(std::isnan(dev(row(1, {-inf, 1}))));
      EXPECT_TRUE(std::isnan(dev(row(1, {nan, 1}))));
      EXPECT_TRUE(std::isnan(dev(row(-most, {most, inf, 1}))));
    }
}

TEST(ScalarReduce, EveryInstructionSetGivesTheSameBits) {
  std::mt19937 random(9);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> x(1 + random() % 3000);
    for (uint32_t& v : x) v = uint32_t(random());
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::argmax, ReduceOp::sum_exp, ReduceOp::sum_sq_dev})
      for (const Lane lane : {Lane::f32, Lane::i32, Lane::u32}) {
        const bool centred = op == ReduceOp::sum_exp || op == ReduceOp::sum_sq_dev;
        if (centred && lane != Lane::f32) continue;
        if ((op == ReduceOp::sum || centred) && lane == Lane::f32)
          for (uint32_t& v : x) v &= 0xbfffffffu;  // finite: which of two NaNs a sum keeps is not promised; below 2
        const uint32_t want = reduced(*loop_table(Isa::baseline), op, lane, x);
        for (const LoopTable* table : tables())
          ASSERT_EQ(reduced(*table, op, lane, x), want) << to_string(op) << " lane " << int(lane);
      }
  }
}

TEST(ScalarReduce, NothingGivesTheIdentity) {
  for (const LoopTable* table : tables())
    for (const Lane lane : {Lane::f32, Lane::i32, Lane::u32}) {
      EXPECT_EQ(reduced(*table, ReduceOp::sum, lane, {}), 0u);
      EXPECT_EQ(reduced(*table, ReduceOp::prod, lane, {}), lane == Lane::f32 ? bits(1) : 1u);
      EXPECT_EQ(reduced(*table, ReduceOp::argmax, lane, {}), 0u);
      const uint32_t smallest = lane == Lane::f32 ? 0xff800000u : lane == Lane::i32 ? 0x80000000u : 0u;
      EXPECT_EQ(reduced(*table, ReduceOp::max, lane, {}), smallest);
      // A row of nothing but the identity.
      const std::vector<uint32_t> x(40, smallest);
      EXPECT_EQ(reduced(*table, ReduceOp::max, lane, x), smallest);
      EXPECT_EQ(reduced(*table, ReduceOp::argmax, lane, x), 0u);
    }
}

// Hazard E1, and zeros of both signs.
TEST(ScalarReduce, NaNAndTies) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto lanes = [](std::initializer_list<float> v) {
    std::vector<uint32_t> x;
    for (const float f : v) x.push_back(bits(f));
    return x;
  };
  for (const LoopTable* t : tables()) {
    EXPECT_EQ(reduced(*t, ReduceOp::argmax, Lane::f32, lanes({1, nan, 3})), 1u);
    EXPECT_TRUE(std::isnan(f32(reduced(*t, ReduceOp::max, Lane::f32, lanes({1, nan, 3})))));
    EXPECT_TRUE(std::isnan(f32(reduced(*t, ReduceOp::max, Lane::f32, lanes({inf, -nan})))));
    EXPECT_EQ(reduced(*t, ReduceOp::argmax, Lane::f32, lanes({inf, nan, -nan})), 1u);
    EXPECT_EQ(reduced(*t, ReduceOp::argmax, Lane::f32, lanes({inf, -nan, nan})), 1u);
    EXPECT_EQ(reduced(*t, ReduceOp::argmax, Lane::f32, lanes({2, 3, 0, 3, 3})), 1u);
    EXPECT_EQ(reduced(*t, ReduceOp::argmax, Lane::i32, std::vector<uint32_t>(16, 4)), 0u);
    EXPECT_EQ(reduced(*t, ReduceOp::argmax, Lane::f32, lanes({-0.0f, 0.0f})), 0u);
    EXPECT_EQ(reduced(*t, ReduceOp::max, Lane::f32, lanes({-0.0f, 0.0f})), bits(0.0f));
    EXPECT_EQ(reduced(*t, ReduceOp::max, Lane::f32, lanes({0.0f, -0.0f})), bits(0.0f));
    EXPECT_EQ(reduced(*t, ReduceOp::max, Lane::f32, lanes({-0.0f})), bits(-0.0f));
    EXPECT_EQ(reduced(*t, ReduceOp::sum, Lane::f32, lanes({-0.0f})), bits(0.0f));
    EXPECT_EQ(reduced(*t, ReduceOp::max, Lane::f32, lanes({-5, -3})), bits(-3.0f));
    // The first maximum is in a later block, its tie later still.
    std::vector<uint32_t> x(4000, bits(-1.0f));
    x[3001] = x[2050] = x[3500] = bits(5.0f);
    EXPECT_EQ(reduced(*t, ReduceOp::argmax, Lane::f32, x), 2050u);
  }
}

}  // namespace
}  // namespace tenon::cpu
