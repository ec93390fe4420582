// Quantised tensors through cast, embedding and linear, against plain dequantisation (hazards Q1, Q3).
#include <gtest/gtest.h>

#include "base/cat.h"
#include "ops/reference.h"
#include "support/tested_device.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

constexpr DType formats[] = {DType::q8_0, DType::q4_0, DType::q4_1};

struct Quantised {
  DType dtype;
  std::vector<std::byte> bytes;
  Values values;  // dequantised, f32
};

void put_half(std::vector<std::byte>& to, float v) {
  const uint16_t h = f16_from_f32(v);
  to.push_back(std::byte(h & 255));
  to.push_back(std::byte(h >> 8));
}

// Random blocks with the given scale, and what each element means by the layout in dtype.h.
Quantised random_blocks(DType t, int64_t rows, int64_t columns, uint32_t seed, float scale = 0.01f) {
  Quantised q{t, {}, {DType::f32, {rows, columns}, {}}};
  auto byte = [&] { return uint8_t((seed = seed * 1664525u + 1013904223u) >> 24); };
  for (int64_t b = 0; b < rows * columns / 32; ++b) {
    const float d = float(rounded_to(DType::f16, double(scale * float(int(byte()) - 100)))), m = float(rounded_to(DType::f16, 0.02 * byte()));
    put_half(q.bytes, d);
    if (t == DType::q4_1) put_half(q.bytes, m);
    double out[32];
    for (int j = 0; j < (t == DType::q8_0 ? 32 : 16); ++j) {
      const uint8_t x = byte();
      q.bytes.push_back(std::byte(x));
      if (t == DType::q8_0) out[j] = double(d * float(int8_t(x)));
      if (t == DType::q4_0) out[j] = double(d * float((x & 15) - 8)), out[j + 16] = double(d * float((x >> 4) - 8));
      if (t == DType::q4_1) out[j] = double(d * float(x & 15) + m), out[j + 16] = double(d * float(x >> 4) + m);
    }
    q.values.data.insert(q.values.data.end(), out, out + 32);
  }
  return q;
}
Tensor on(const Quantised& q, const Device& d) { return Tensor::from_bytes(q.bytes, q.dtype, q.values.shape, d); }

class QuantisedOps : public ::testing::TestWithParam<std::string> {
 protected:
  Device d = Device::open(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, QuantisedOps, ::testing::Values("host", tested_device_name()), [](const auto& p) { return p.param; });

TEST_P(QuantisedOps, CastIsPlainDequantisation) {
  for (DType t : formats)
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 32}, {3, 64}, {256, 32}, {7, 896}, {2, 1056}}) {
      const Quantised q = random_blocks(t, rows, columns, uint32_t(rows * columns));
      EXPECT_EQ(difference(q.values, read(cast(on(q, d), DType::f32)), {.ulp = 1}), "") << to_string(t);
      EXPECT_EQ(difference(ref::as(DType::f16, q.values), read(cast(on(q, d), DType::f16)), {.ulp = 1}), "") << to_string(t);
      EXPECT_EQ(difference(ref::as(DType::bf16, q.values), read(cast(on(q, d), DType::bf16)), {.ulp = 1}), "") << to_string(t);
      EXPECT_EQ(difference(q.values, read(on(q, d)), {.ulp = 1}), "") << "to_vector of " << to_string(t);
    }
}

TEST_P(QuantisedOps, Q3_OddScalesAreDefined) {
  const float scales[] = {0, -0.5f, INFINITY, NAN, 6e-8f};
  for (DType t : formats)
    for (float scale : scales) {
      Quantised q = random_blocks(t, 1, 32, 3);
      const uint16_t h = f16_from_f32(scale);
      q.bytes[0] = std::byte(h & 255), q.bytes[1] = std::byte(h >> 8);
      const float s = f32_from_f16(h), m = t == DType::q4_1 ? f32_from_f16(uint16_t(uint16_t(q.bytes[2]) | uint16_t(q.bytes[3]) << 8)) : 0;
      for (int j = 0; j < 32; ++j) {
        const size_t header = t == DType::q4_1 ? 4 : 2;
        const int raw = t == DType::q8_0 ? int(int8_t(q.bytes[header + size_t(j)])) : (int(q.bytes[header + size_t(j % 16)]) >> (j < 16 ? 0 : 4)) & 15;
        const float product = s * float(t == DType::q4_0 ? raw - 8 : raw);
        q.values.data[size_t(j)] = double(t == DType::q4_1 ? product + m : product);
      }
      EXPECT_EQ(difference(q.values, read(cast(on(q, d), DType::f32)), {.ulp = 1, .nan_equal = true}), "") << to_string(t) << " " << scale;
    }
}

TEST_P(QuantisedOps, EmbeddingTakesRows) {
  for (DType t : formats) {
    const Quantised q = random_blocks(t, 33, 96, 5);
    const Values ids{DType::i32, {2, 4}, {0, 32, 7, 7, 33, -1, 1, 16}};
    EXPECT_EQ(difference(ref::take(q.values, ids, 0), read(embedding(on(q, d), tensor(ids, d))), {.ulp = 1, .nan_equal = true}), "") << to_string(t);
    const Tensor scaled = cast(embedding(on(q, d), tensor(ids, d)), DType::f16) * 2.0;
    EXPECT_EQ(read(scaled).shape, (Shape{2, 4, 96}));
  }
}

TEST_P(QuantisedOps, LinearIsTheProductWithDequantisedWeights) {
  for (DType t : formats)
    for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 33, 64}, {1, 65, 896}, {3, 7, 32}, {5, 96, 1056}, {33, 17, 128}}) {
      const Quantised w = random_blocks(t, n, k, uint32_t(n + k));
      uint32_t seed = uint32_t(m);
      const Values x = ref::build(DType::f32, {m, k}, [&](const ref::Index&) { return double((seed = seed * 1664525u + 1013904223u) >> 8) * 0x1p-23 - 1; });
      const Values want = ref::matmul(x, ref::transpose(w.values));
      double scale = 0;
      for (Real v : want.data) scale = std::max(scale, double(std::abs(v)));
      // The CPU multiplies by 8-bit quantised activations: their error, at most 1/254 of each block's largest, averages out.
      const double within = std::string(GetParam()) == "host" ? 1e-5 : 2e-2;
      EXPECT_EQ(difference(want, read(linear(tensor(x, d), on(w, d))), {.absolute = within * scale}), "") << to_string(t) << " " << m << " " << n << " " << k;
      const Tensor bias = ones({n}, DType::f32, d);
      EXPECT_EQ(difference(ref::map(want, [](double v) { return v + 1; }), read(linear(tensor(x, d), on(w, d), bias)), {.absolute = within * scale}), "");
    }
}

TEST_P(QuantisedOps, LinearTakesSeveralWeights) {
  for (int64_t m : {1, 7})
    for (size_t count : {2, 3, 4, 5}) {  // five are more than one launch takes
      const int64_t k = 64;
      const Values x = ref::build(DType::f32, {m, k}, [&](const ref::Index& i) { return double((i[0] * 7 + i[1]) % 13) / 13 - 0.4; });
      std::vector<Tensor> weights;
      std::vector<Values> values;
      int64_t n = 0;
      for (size_t i = 0; i < count; ++i) {
        const Quantised w = random_blocks(formats[i % 3], int64_t(3 + 5 * i), k, uint32_t(i + 1));
        weights.push_back(on(w, d));
        values.push_back(w.values);
        n += int64_t(3 + 5 * i);
      }
      const Values want = ref::map(ref::matmul(x, ref::transpose(ref::concat(values, 0))), [](Real v) { return v + 2; });
      EXPECT_EQ(difference(want, read(linear(tensor(x, d), weights, full({n}, 2.0, DType::f32, d))), {.absolute = 1e-3}), "") << m << " " << count;
    }
}

TEST_P(QuantisedOps, LinearTakesPlainAndQuantisedWeightsTogether) {
  const Quantised w = random_blocks(DType::q8_0, 5, 32, 1);
  const Values x = ref::build(DType::f32, {2, 32}, [](const ref::Index& i) { return double(i[1] % 5) - 2; });
  const Values plain = ref::build(DType::f32, {3, 32}, [](const ref::Index& i) { return double(i[0] - i[1] % 3); });
  const Values want = ref::matmul(x, ref::transpose(ref::concat({w.values, plain}, 0)));
  EXPECT_EQ(difference(want, read(linear(tensor(x, d), {on(w, d), tensor(plain, d)})), {.absolute = 1e-3}), "");
}

TEST_P(QuantisedOps, Q3_EveryOutputColumnIsWritten) {
  // Weights of 1 (d = 1/64, q = 64), K = 1024: every output is 1024.
  for (int64_t n : {1, 32, 63, 64, 65, 96}) {
    std::vector<std::byte> bytes;
    for (int64_t b = 0; b < n * 32; ++b) {
      put_half(bytes, 1.0f / 64);
      bytes.insert(bytes.end(), 32, std::byte(64));
    }
    const Tensor w = Tensor::from_bytes(bytes, DType::q8_0, {n, 1024}, d);
    for (int64_t m : {1, 2, 5}) {
      const std::vector<float> y = linear(ones({m, 1024}, DType::f32, d), w).to_vector<float>();
      EXPECT_EQ(y.size(), size_t(m * n));
      for (float v : y) EXPECT_NEAR(v, 1024, 0.5) << n;
    }
  }
}

TEST_P(QuantisedOps, Q1_RowsAreWholeBlocks) {
  EXPECT_THROW(Tensor::from_bytes(std::vector<std::byte>(34), DType::q8_0, {1, 33}, d), Error);
  EXPECT_THROW(Tensor::from_bytes(std::vector<std::byte>(68), DType::q8_0, {64, 1}, d), Error);
  EXPECT_EQ(Tensor::from_bytes(std::vector<std::byte>(952), DType::q8_0, {1, 896}, d).size(), 896);
}

}  // namespace
}  // namespace tenon::testing
