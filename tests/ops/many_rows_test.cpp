// Products of many rows (tensor cores, where the device has them): odd sizes, every layout and pair of dtypes, bits that do
// not depend on what stands around, and values beyond the largest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/cat.h"
#include "ops/reference.h"
#include "support/sample.h"
#include "support/tested_device.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

Values random_values(DType t, Shape shape, uint32_t seed) {
  return ref::build(t, shape, [&](const ref::Index&) { return rounded_to(t, double((seed = seed * 1664525u + 1013904223u) >> 8) * 0x1p-23 - 1); });
}

// Beside sums of the products' magnitudes: f32 sums of products whose factors keep 16 bits at least, then rounding.
double bound(DType out, int64_t k) {
  const double rounding = out == DType::bf16 ? 0x1p-8 : out == DType::f16 ? 0x1p-11 : 0;
  return std::sqrt(double(k)) * (0x1p-15 + rounding);
}

struct Sizes {
  int64_t m, n, k;
};
constexpr Sizes sizes[] = {{9, 1, 1}, {17, 7, 17}, {63, 65, 63}, {65, 129, 133}, {129, 64, 40}, {33, 72, 520}, {200, 130, 24}};

TEST(ManyRows, EveryLayoutAndDtypeMatchesTheReference) {
  const Device& d = tested_device();
  const DType dtypes[] = {DType::f32, DType::f16, DType::bf16};
  Sampled sample;
  for (const auto& [m, n, k] : sizes)
    for (DType ta : dtypes)
      for (DType tb : dtypes)
        for (int layout = 0; layout < 4; ++layout) {
          if (!sample.take()) continue;
          const bool a_turned = layout & 1, b_turned = layout & 2;
          const Values a = random_values(ta, {m, k}, uint32_t(m + k)), b = random_values(tb, {k, n}, uint32_t(n));
          const Values want = ref::matmul({DType::f32, a.shape, a.data}, {DType::f32, b.shape, b.data});
          const Tensor x = a_turned ? transpose(tensor(ref::transpose(a), d), 0, 1) : tensor(a, d);
          const Tensor y = b_turned ? transpose(tensor(ref::transpose(b), d), 0, 1) : tensor(b, d);
          const Tensor got = matmul(x, y);
          EXPECT_EQ(difference(ref::as(got.dtype(), want), read(got), {.absolute = bound(got.dtype(), k), .ulp = got.dtype() == DType::f32 ? 0 : 1}), "")
              << to_string(ta) << " " << to_string(tb) << " layout " << layout << " " << m << " " << n << " " << k;
        }
}

// Enough tiles for the large ones; one product alone has small tiles, and the same bits.
TEST(ManyRows, BatchesHaveTheBitsOfTheirProducts) {
  const Device& d = tested_device();
  for (const auto& [ta, tb] : {std::pair{DType::bf16, DType::bf16}, {DType::f32, DType::bf16}, {DType::f16, DType::f32}}) {
    const Values a = random_values(ta, {40, 129, 17}, 1), b = random_values(tb, {40, 129, 17}, 2);
    const Values all = read(matmul(tensor(a, d), transpose(tensor(b, d))));
    for (int64_t i : {0, 39}) {
      const auto part = [&](const Values& v) {
        return Values{v.dtype, {129, 17}, {v.data.begin() + i * 129 * 17, v.data.begin() + (i + 1) * 129 * 17}};
      };
      const Values x = part(a), y = part(b), alone = read(matmul(tensor(x, d), transpose(tensor(y, d))));
      const Values want = ref::matmul({DType::f32, x.shape, x.data}, ref::transpose({DType::f32, y.shape, y.data}));
      EXPECT_EQ(difference(ref::as(alone.dtype, want), alone, {.absolute = bound(alone.dtype, 17), .ulp = alone.dtype == DType::f32 ? 0 : 1}), "");
      EXPECT_TRUE(std::equal(alone.data.begin(), alone.data.end(), all.data.begin() + i * 129 * 129)) << to_string(ta) << " " << to_string(tb);
    }
  }
}

// Blocks with random scales, minima and quants.
Tensor random_blocks(DType t, int64_t rows, int64_t k, const Device& d) {
  std::vector<std::byte> bytes(size_t(rows * k / block_elements(t) * block_bytes(t)));
  uint32_t seed = uint32_t(rows + k);
  for (std::byte& b : bytes) b = std::byte((seed = seed * 1664525u + 1013904223u) >> 24);
  for (size_t at = 0; at < bytes.size(); at += size_t(block_bytes(t)))  // scales, and minima, within 2^-7 to 2^-3
    for (size_t high = 1; high < (t == DType::q4_1 ? 4u : 2u); high += 2)
      bytes[at + high] = std::byte((unsigned(bytes[at + high]) & 0x8fu) | 0x20u);
  return Tensor::from_bytes(bytes, t, {rows, k}, d);
}

TEST(ManyRows, QuantisedWeightsMatchTheReference) {
  const Device& d = tested_device();
  if (d.name() == "cpu") GTEST_SKIP() << "multiplies by quantised activations; quantised_test.cpp is about it";
  const Device host = Device::open("host");
  Sampled sample;
  for (DType t : {DType::q8_0, DType::q4_0, DType::q4_1})
    for (DType tx : {DType::f32, DType::f16, DType::bf16})
      for (const auto& [m, n, k] : {Sizes{9, 1, 32}, {17, 70, 64}, {65, 63, 96}, {129, 200, 160}, {70, 65, 1056}}) {
        if (!sample.take()) continue;
        const Values x = random_values(tx, {m, k}, uint32_t(n));
        const Values w = read(cast(random_blocks(t, n, k, host), DType::f32));
        const Values want = ref::matmul({DType::f32, x.shape, x.data}, ref::transpose(w));
        Real largest = 0;
        for (Real v : w.data) largest = std::max(largest, std::abs(v));
        const Tensor got = linear(tensor(x, d), random_blocks(t, n, k, d));
        EXPECT_EQ(difference(ref::as(got.dtype(), want), read(got), {.absolute = bound(got.dtype(), k) * double(largest), .ulp = got.dtype() == DType::f32 ? 0 : 1}), "")
            << to_string(t) << " " << to_string(tx) << " " << m << " " << n << " " << k;
        // Side by side with other weights, and with an epilogue: the same bits.
        const Tensor alone = linear(tensor(x, d), random_blocks(t, n, k, d)), other = random_blocks(t, n + 3, k, d);
        const Values both = read(linear(tensor(x, d), std::vector<Tensor>{other, random_blocks(t, n, k, d)}));
        const Values one = read(alone);
        bool same = true;
        for (int64_t r = 0; r < m; ++r)
          for (int64_t c = 0; c < n; ++c) same &= one.data[size_t(r * n + c)] == both.data[size_t(r * (2 * n + 3) + n + 3 + c)];
        EXPECT_TRUE(same) << to_string(t) << " " << m << " " << n << " " << k;
      }
}

TEST(ManyRows, InfinitiesStayAndLargeValuesDoNotOverflow) {
  const Device& d = tested_device();
  Values x{DType::f32, {9, 2}, std::vector<Real>(18, 0)};
  x.data[0] = std::numeric_limits<float>::infinity(), x.data[3] = 3.4e38L;
  const Values got = read(matmul(tensor(x, d), cast(ones({2, 3}, DType::f32, d), DType::bf16)));
  EXPECT_EQ(got.data[0], std::numeric_limits<Real>::infinity());
  EXPECT_NEAR(double(got.data[3]), 3.4e38, 3.4e38 * 0x1p-16);
  EXPECT_EQ(got.data[6], 0);
}

}  // namespace
}  // namespace tenon::testing
