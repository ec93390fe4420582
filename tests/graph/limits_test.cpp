// Graphs at the edges of what one kernel takes: operands, axes, long chains of views, quantised views inside a block.
#include <gtest/gtest.h>

#include <numeric>

#include "ops/reference.h"
#include "tenon/ops.h"

namespace {

using namespace tenon;
using Floats = std::vector<float>;

Tensor ramp(Shape shape, const Device& d) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  Floats v(static_cast<size_t>(n));
  std::iota(v.begin(), v.end(), 0.0f);
  return Tensor::from<float>(v, std::move(shape), d);
}

class GraphLimits : public ::testing::TestWithParam<const char*> {
 protected:
  Device d = Device::open(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, GraphLimits, ::testing::Values("cpu", "host"));

TEST_P(GraphLimits, AValueWantedAtManyPlaces) {
  std::vector<int32_t> v(20);
  std::iota(v.begin(), v.end(), 0);
  const Tensor y = Tensor::from<int32_t>(v, {20}, d) + arange(0, 20, 1, DType::i32, d);
  const auto s = [&](int64_t i) { return slice(y, 0, i, i + 12); };
  const std::vector<int32_t> got = (s(0) * s(1) + s(2) * s(3) + s(4)).to_vector<int32_t>();
  for (int32_t i = 0; i < 12; ++i) EXPECT_EQ(got[size_t(i)], 4 * i * (i + 1) + 4 * (i + 2) * (i + 3) + 2 * (i + 4));
}

TEST_P(GraphLimits, SevenAxes) {
  const Shape shape(7, 2);
  const Tensor a = ramp(shape, d), b = ramp(shape, d), flipped = permute(b, {6, 5, 4, 3, 2, 1, 0});
  const auto reversed_bits = [](int i) {
    int r = 0;
    for (int k = 0; k < 7; ++k) r |= ((i >> k) & 1) << (6 - k);
    return r;
  };
  const Floats sums = (a + flipped).to_vector<float>();
  for (int i = 0; i < 128; ++i) EXPECT_EQ(sums[size_t(i)], float(i + reversed_bits(i)));
  EXPECT_EQ(sum(a + flipped).item<float>(), 2.0f * 127 * 128 / 2);
  EXPECT_EQ(sum(a * flipped, {0, 2, 4, 6}).shape(), (Shape{2, 2, 2}));
  const Tensor product = matmul(reshape(a, {8, 16}), ones({16, 16}, DType::f32, d));
  const Floats behind = (reshape(product, shape) + flipped).to_vector<float>();
  for (int i = 0; i < 128; ++i) {
    const int row = i / 16;
    EXPECT_EQ(behind[size_t(i)], float(row * 16 * 16 + 120 + reversed_bits(i)));
  }
}

TEST_P(GraphLimits, LongChainsOfViewsAndOps) {
  Tensor views = ramp({3}, d), ops = ramp({3}, d);
  for (int i = 0; i < 60000; ++i) views = flip(views, 0);
  EXPECT_EQ((views + 1.0).to_vector<float>(), (Floats{1, 2, 3}));
  if (std::string(GetParam()) == "host") return;  // a launch a node
  for (int i = 0; i < 20000; ++i) ops = ops + 1.0;
  EXPECT_EQ(ops.to_vector<float>(), (Floats{20000, 20001, 20002}));
}

TEST_P(GraphLimits, QuantisedViewsInsideABlock) {
  std::vector<std::byte> bytes;
  for (int block = 0; block < 4; ++block) {  // q8_0, d = 1, q = 0..31 + 32 * (block odd)
    bytes.push_back(std::byte(0x00));
    bytes.push_back(std::byte(0x3c));
    for (int i = 0; i < 32; ++i) bytes.push_back(std::byte(i + 32 * (block % 2)));
  }
  const Tensor q = Tensor::from_bytes(bytes, DType::q8_0, {2, 64}, d), x = cast(q, DType::f32);
  const Floats part = slice(x, 1, 5, 37).to_vector<float>();
  for (int i = 0; i < 32; ++i) EXPECT_EQ(part[size_t(i)], float(i + 5));
  const Floats mirrored = flip(x, 1).to_vector<float>();
  for (int i = 0; i < 64; ++i) EXPECT_EQ(mirrored[size_t(i)], float(63 - i));
  const Tensor ids = Tensor::from({1, 0}, {2}, d);
  const Floats rows = slice(embedding(q, ids), 1, 5, 64, 7).to_vector<float>();
  for (int i = 0; i < 9; ++i) EXPECT_EQ(rows[size_t(i)], float(5 + 7 * i));
}

// A few elements of a value that would not fit in any memory.
TEST_P(GraphLimits, CoordinatesPast32Bits) {
  if (std::string(GetParam()) == "host") return;  // there each op's value is in memory
  const int64_t first = (int64_t(1) << 32) + 1;
  const Tensor words = slice(random_bits({int64_t(1) << 40}, 7, 3, d), 0, first, first + 9);
  const Tensor strided = slice(random_bits({int64_t(1) << 20, int64_t(1) << 20}, 7, 3, d), 1, 5, 6);
  const std::vector<uint32_t> got = words.to_vector<uint32_t>(), column = slice(strided, 0, 8190, 8193).to_vector<uint32_t>();
  const auto word = [](int64_t i) {
    return tenon::testing::ref::philox({uint32_t(i / 4), uint32_t(i / 4 >> 32), 3, 0}, {7, 0})[size_t(i % 4)];
  };
  for (int64_t i = 0; i < 9; ++i) EXPECT_EQ(got[size_t(i)], word(first + i)) << i;
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(column[size_t(i)], word(((8190 + i) << 20) + 5)) << i;
}

TEST_P(GraphLimits, EmptyBatchesOfManyAxes) {
  const Tensor y = matmul(zeros({2, 2, 2, 2, 3, 0}, DType::f32, d), zeros({2, 2, 2, 2, 0, 5}, DType::f32, d));
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2, 2, 3, 5}));
  for (float v : y.to_vector<float>()) EXPECT_EQ(v, 0.0f);
}

TEST_P(GraphLimits, NumbersThatAreNoneOfTheDtype) {
  const Tensor i = Tensor::from({1, 2}, {2}, d);
  EXPECT_THROW(i + 1e10, Error);
  EXPECT_THROW(i + 0.25, Error);
  EXPECT_THROW(full({1}, -1, DType::u32, d), Error);
  EXPECT_EQ(slice(ramp({4}, d), 0, 1, 4, INT64_MAX).to_vector<float>(), (Floats{1}));
  EXPECT_EQ(slice(ramp({4}, d), 0, 3, 0, INT64_MIN).to_vector<float>(), (Floats{3}));
}

}  // namespace
