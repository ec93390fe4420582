// Hazards I1 and I3 with the memory that they speak of: tensors past 2^31 elements, on a device with 40 GB. On others the same
// with 2^16 in place of 2^31. What is expected is known in closed form, at the ends and on both sides of that size.
#include <gtest/gtest.h>

#include "runtime/device_context.h"
#include "support/tested_device.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

constexpr int64_t needed = int64_t(40) << 30;

class BigMemory : public ::testing::Test {
 protected:
  void SetUp() override { RecordProperty("seen_elements", std::to_string(big)); }
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
  // A device that does not know how much it has says more than there can be.
  const int64_t memory = d.shared()->limits().memory_bytes;
  const int64_t big = int64_t(1) << (memory >= needed && memory < int64_t(1) << 50 ? 31 : 16);
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
  const int64_t n = big + 77;
  const Tensor x = counting(n, 100, DType::u8), y = x * 2 + 1;
  expect_at(y, {0, big / 2, big, n}, [](int64_t i) { return float(i % 100 * 2 + 1); });
}

TEST_F(BigMemory, I1_ElementWiseHalfPrecision) {
  const int64_t n = 2 * big + 5;
  const Tensor x = counting(n, 2000, DType::f16), y = x * 0.5;
  expect_at(y, {0, big, 2 * big, n}, [](int64_t i) { return float(i % 2000) * 0.5f; });
}

TEST_F(BigMemory, I1_AFlippedTensor) {
  const int64_t n = big + 1025;
  const Tensor y = flip(counting(n, 251, DType::u8), 0) + 0;
  expect_at(y, {0, big, n}, [n](int64_t i) { return float((n - 1 - i) % 251); });
}

TEST_F(BigMemory, I3_ReductionOfAll) {
  const int64_t n = big + 77;
  const Tensor x = counting(n, 100, DType::u8);
  const int64_t whole = n / 100, rest = n % 100;
  EXPECT_EQ(sum(cast(x, DType::i64)).item<int64_t>(), whole * 4950 + rest * (rest - 1) / 2);
}

// Rows of 2^17 elements at full size, the last ones past 2^31.
TEST_F(BigMemory, I1_RowsPast32Bits) {
  const int64_t columns = big / 16384;
  const Tensor a = full({16385, columns}, 0x1p-10, DType::f16, d);
  eval(a);
  const std::vector<float> sums = cast(sum(a, {1}), DType::f32).to_vector<float>();
  const std::vector<float> products = cast(matmul(a, ones({columns, 1}, DType::f16, d)), DType::f32).to_vector<float>();
  for (size_t row = 0; row < 16385; ++row) {
    ASSERT_EQ(sums[row], float(columns) * 0x1p-10f) << row;
    ASSERT_EQ(products[row], float(columns) * 0x1p-10f) << row;
  }
}

TEST_F(BigMemory, I1_Concat) {
  const int64_t columns = big / 65536;
  const Tensor one = full({32769, columns}, 1, DType::u8, d), two = full({32769, columns}, 2, DType::u8, d);
  const Tensor both = concat({one, two}, 1);
  eval(both);
  for (const int64_t row : {int64_t(0), int64_t(32767), int64_t(32768)}) {
    const std::vector<uint8_t> got = slice(both, 0, row, row + 1).to_vector<uint8_t>();
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], int64_t(i) < columns ? 1 : 2) << row << " " << i;
  }
}

TEST_F(BigMemory, I1_GatherWithIndicesPast32Bits) {
  const int64_t n = big + 1000;
  const Tensor x = counting(n, 241, DType::u8);
  const std::vector<int64_t> indices{0, big - 1, big, big + 1, n - 1, 12345, -1, n, big + 999};
  const Tensor got = take(x, Tensor::from(std::span(indices), {int64_t(indices.size())}, d));
  const std::vector<uint8_t> values = got.to_vector<uint8_t>();
  for (size_t i = 0; i < indices.size(); ++i) {
    const bool outside = indices[i] < 0 || indices[i] >= n;
    EXPECT_EQ(values[i], outside ? 0 : indices[i] % 241) << indices[i];
  }
}

TEST_F(BigMemory, I1_RowsOfATablePast32Bits) {
  const int64_t columns = 2048, rows = big / columns + 3;
  const Tensor table = reshape(counting(rows * columns, 1999, DType::f16), {rows, columns});
  const std::vector<int32_t> ids{0, int32_t(rows / 2), int32_t(rows - 1), int32_t(rows - 2)};
  const std::vector<float> got = cast(embedding(table, Tensor::from(std::span(ids), {4}, d)), DType::f32).to_vector<float>();
  for (size_t i = 0; i < ids.size(); ++i)
    for (int64_t c = 0; c < columns; ++c)
      ASSERT_EQ(got[i * size_t(columns) + size_t(c)], float((ids[i] * columns + c) % 1999)) << ids[i] << " " << c;
}

TEST_F(BigMemory, I1_MatmulWithAnOutputPast32Bits) {
  const int64_t m = 65536, n = big / m + 1, k = 64;
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
