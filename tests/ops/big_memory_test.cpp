// Hazards I1 and I3 with the memory that they speak of: tensors past 2^31 elements, on a device that holds them. Skipped
// where there are not 40 GB. What is expected is known in closed form, at the ends and on both sides of 2^31.
#include <gtest/gtest.h>

#include "runtime/device_context.h"
#include "support/tested_device.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

constexpr int64_t two31 = int64_t(1) << 31, needed = int64_t(40) << 30;

class BigMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    // A device that does not know says more than there can be.
    const int64_t has = d.shared()->limits().memory_bytes;
    if (has < needed || has > int64_t(1) << 50) GTEST_SKIP() << d.name() << " is not a device with " << needed << " bytes of its own";
  }
  void TearDown() override {
    d.synchronize();
    RecursiveLock lock(d.shared()->mutex());
    d.shared()->pool().trim();
  }

  // i % period for each i, in memory of its own.
  Tensor counting(int64_t n, int64_t period, DType t) {
    const Tensor x = cast(remainder(arange(0, double(n), 1, DType::i64, d), period), t);
    eval(x);
    return x;
  }
  const Device& d = tested_device();
};

// Elements [from, from + count) of a 1-d tensor, as f32.
std::vector<float> part(const Tensor& x, int64_t from, int64_t count) {
  return cast(slice(x, 0, from, from + count), DType::f32).to_vector<float>();
}

template <class F>
void expect_at(const Tensor& x, std::initializer_list<int64_t> places, F want) {
  constexpr int64_t count = 64;
  const int64_t n = x.shape()[0];
  for (int64_t place : places) {
    const int64_t from = std::clamp<int64_t>(place - count / 2, 0, n - count);
    const std::vector<float> got = part(x, from, count);
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(got[size_t(i)], want(from + i)) << "element " << from + i;
  }
}

TEST_F(BigMemory, I1_ElementWiseBytes) {
  const int64_t n = two31 + 77;
  const Tensor x = counting(n, 100, DType::u8), y = x * 2 + 1;
  expect_at(y, {0, two31 / 2, two31, n}, [](int64_t i) { return float(i % 100 * 2 + 1); });
}

TEST_F(BigMemory, I1_ElementWiseHalfPrecision) {
  const int64_t n = 2 * two31 + 5;
  const Tensor x = counting(n, 2000, DType::f16), y = x * 0.5;
  expect_at(y, {0, two31, 2 * two31, n}, [](int64_t i) { return float(i % 2000) * 0.5f; });
}

TEST_F(BigMemory, I1_AFlippedTensor) {
  const int64_t n = two31 + 1025;
  const Tensor y = flip(counting(n, 251, DType::u8), 0) + 0;
  expect_at(y, {0, two31, n}, [n](int64_t i) { return float((n - 1 - i) % 251); });
}

TEST_F(BigMemory, I3_ReductionOfAll) {
  const int64_t n = two31 + 77;
  const Tensor x = counting(n, 100, DType::u8);
  const int64_t whole = n / 100, rest = n % 100;
  EXPECT_EQ(sum(cast(x, DType::i64)).item<int64_t>(), whole * 4950 + rest * (rest - 1) / 2);
}

// Rows of 2^17 elements, the last ones past 2^31.
TEST_F(BigMemory, I1_RowsPast32Bits) {
  const Tensor a = full({16385, 131072}, 0x1p-10, DType::f16, d);
  eval(a);
  const std::vector<float> sums = cast(sum(a, {1}), DType::f32).to_vector<float>();
  const std::vector<float> products = cast(matmul(a, ones({131072, 1}, DType::f16, d)), DType::f32).to_vector<float>();
  for (size_t row = 0; row < 16385; ++row) {
    ASSERT_EQ(sums[row], 128.0f) << row;
    ASSERT_EQ(products[row], 128.0f) << row;
  }
}

TEST_F(BigMemory, I1_Concat) {
  const Tensor one = full({32769, 32768}, 1, DType::u8, d), two = full({32769, 32768}, 2, DType::u8, d);
  const Tensor both = concat({one, two}, 1);
  eval(both);
  for (const int64_t row : {int64_t(0), int64_t(32767), int64_t(32768)}) {
    const std::vector<uint8_t> got = slice(both, 0, row, row + 1).to_vector<uint8_t>();
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i < 32768 ? 1 : 2) << row << " " << i;
  }
}

TEST_F(BigMemory, I1_GatherWithIndicesPast32Bits) {
  const int64_t n = two31 + 1000;
  const Tensor x = counting(n, 241, DType::u8);
  const std::vector<int64_t> indices{0, two31 - 1, two31, two31 + 1, n - 1, 12345, -1, n, two31 + 999};
  const Tensor got = take(x, Tensor::from(std::span(indices), {int64_t(indices.size())}, d));
  const std::vector<uint8_t> values = got.to_vector<uint8_t>();
  for (size_t i = 0; i < indices.size(); ++i) {
    const bool outside = indices[i] < 0 || indices[i] >= n;
    EXPECT_EQ(values[i], outside ? 0 : indices[i] % 241) << indices[i];
  }
}

TEST_F(BigMemory, I1_RowsOfATablePast32Bits) {
  const int64_t rows = (int64_t(1) << 20) + 3, columns = 2048;
  const Tensor table = reshape(counting(rows * columns, 1999, DType::f16), {rows, columns});
  const std::vector<int32_t> ids{0, 1 << 19, int32_t(rows - 1), (1 << 20) + 1};
  const std::vector<float> got = cast(embedding(table, Tensor::from(std::span(ids), {4}, d)), DType::f32).to_vector<float>();
  for (size_t i = 0; i < ids.size(); ++i)
    for (int64_t c = 0; c < columns; ++c)
      ASSERT_EQ(got[i * size_t(columns) + size_t(c)], float((ids[i] * columns + c) % 1999)) << ids[i] << " " << c;
}

TEST_F(BigMemory, I1_MatmulWithAnOutputPast32Bits) {
  const int64_t m = 65536, n = 32769, k = 64;
  const Tensor a = broadcast_to(reshape(counting(m, 3, DType::f16), {m, 1}), {m, k});
  const Tensor b = broadcast_to(reshape(counting(n, 5, DType::f16), {1, n}), {k, n});
  const Tensor y = matmul(a, b);
  eval(y);
  for (const int64_t row : {int64_t(0), m / 2, m - 2, m - 1}) {
    const std::vector<float> got = cast(slice(y, 0, row, row + 1), DType::f32).to_vector<float>();
    for (int64_t j = 0; j < n; ++j) ASSERT_EQ(got[size_t(j)], float(k * (row % 3) * (j % 5))) << row << " " << j;
  }
}

}  // namespace
}  // namespace tenon::testing
