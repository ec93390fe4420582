// quant_matmul kernels against weights that are dequantised here, element by element, in double precision.
#include <limits>

#include "kernels/anchor_case.h"

namespace tenon {
namespace {

// N x K weights in a block format: bytes, and the values they stand for by the format's definition.
struct Weights {
  DType dtype;
  int64_t n, k;
  std::vector<std::byte> bytes;

  Weights(DType t, int64_t rows, int64_t cols, uint32_t seed) : dtype(t), n(rows), k(cols) {
    bytes.resize(size_t(n * k / 32 * block_bytes(t)));
    std::mt19937 rng(seed);
    for (std::byte& b : bytes) b = std::byte(rng());
    for (int64_t i = 0; i < n * k / 32; i++) {
      set_half(i, 0, float(int32_t(rng())) * 0x1p-36f);
      if (t == DType::q4_1) set_half(i, 1, float(int32_t(rng())) * 0x1p-33f);
    }
  }
  uint8_t* block(int64_t i) { return reinterpret_cast<uint8_t*>(bytes.data()) + i * block_bytes(dtype); }
  void set_half(int64_t i, int which, float f) {
    const uint16_t h = f16_from_f32(f);
    std::memcpy(block(i) + 2 * which, &h, 2);
  }
  float half(int64_t i, int which) {
    uint16_t h;
    std::memcpy(&h, block(i) + 2 * which, 2);
    return f32_from_f16(h);
  }
  double at(int64_t row, int64_t col) {
    const int64_t i = (row * k + col) / 32, j = col % 32;
    const double d = half(i, 0);
    const uint8_t* q = block(i);
    if (dtype == DType::q8_0) return d * double(int8_t(q[2 + j]));
    const int header = dtype == DType::q4_0 ? 2 : 4;
    const int nibble = j < 16 ? q[header + j] & 15 : q[header + j - 16] >> 4;
    return dtype == DType::q4_0 ? d * (nibble - 8) : d * nibble + double(half(i, 1));
  }
  void set_all_to_one() {
    for (int64_t i = 0; i < n * k / 32; i++) {
      const int header = dtype == DType::q4_1 ? 4 : 2;
      std::memset(block(i) + header, dtype == DType::q8_0 ? 1 : dtype == DType::q4_0 ? 0x99 : 0x33,
                  size_t(block_bytes(dtype) - header));
      set_half(i, 0, 1);
      if (dtype == DType::q4_1) set_half(i, 1, -2);
    }
  }
};

AnchorCase quant_case(const Data& x, int64_t x_row, Weights& w, int64_t m) {
  AnchorCase c;
  c.desc.family = "quant_matmul";
  c.add_input(x.dtype, x.bytes.data());
  c.add_input(w.dtype, w.bytes.data());
  c.params.quant_matmul = QuantMatmulParams{m, w.n, w.k, x_row};
  c.store_result(m * w.n);
  return c;
}

const DType formats[] = {DType::q8_0, DType::q4_0, DType::q4_1};

void test_quant(DType x_type, DType format, int64_t m, int64_t n, int64_t k, int64_t x_row) {
  const Data x = random_values(x_type, m * x_row, 1);
  Weights w(format, n, k, 2);
  const AnchorCase c = quant_case(x, x_row, w, m);
  for (const NativeKernel* kernel : rows_for("cpu", c.desc)) {
    const auto out = run_case(*kernel, c);
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double sum = 0, size = 0;
        for (int64_t p = 0; p < k; p++) {
          const double a = x.values[size_t(i * x_row + p)], b = w.at(j, p);
          sum += a * b;
          // q4_1 adds d*q and m apart, so their magnitudes count apart.
          const double min = format == DType::q4_1 ? w.half((j * k + p) / 32, 1) : 0;
          size += std::abs(a) * (std::abs(b - min) + std::abs(min));
        }
        ASSERT_LE(std::abs(out[size_t(i * n + j)] - sum), double(k + 2) * 0x1p-24 * size)
            << kernel->name << " m=" << m << " n=" << n << " k=" << k << " at " << i << "," << j;
      }
    expect_equal_bits(out, run_case(*kernel, c, Order::two_threads), kernel->name);
  }
}

TEST(QuantMatmulKernel, OddSizes) {
  for (DType format : formats)
    for (int64_t m : {1, 2, 4, 5, 15, 90})
      for (int64_t n : {1, 3, 33, 65})
        for (int64_t k : {32, 96, 576}) test_quant(DType::f32, format, m, n, k, k + 3);
}

TEST(QuantMatmulKernel, LongRowsAndManyTiles) {
  for (DType format : formats) {
    test_quant(DType::f32, format, 1, 9, 6400, 6400);
    test_quant(DType::f32, format, 3, 9, 6400, 6400);
    test_quant(DType::f32, format, 260, 200, 352, 352);
    test_quant(DType::f32, format, 6, 3100, 32, 32);
  }
}

TEST(QuantMatmulKernel, DtypesOfActivations) {
  for (DType x : {DType::f16, DType::bf16})
    for (DType format : formats)
      for (int64_t m : {1, 9}) test_quant(x, format, m, 37, 160, 161);
}

// Hazard Q3: a grid that is floored leaves the last columns unwritten.
TEST(QuantMatmulKernel, OnesGiveKInEveryColumn) {
  for (DType format : formats)
    for (int64_t n : {1, 31, 32, 63, 64, 65, 96})
      for (int64_t m : {1, 2, 5}) {
        const Data x(DType::f32, std::vector<float>(size_t(m) * 1024, 1.0f));
        Weights w(format, n, 1024, 3);
        w.set_all_to_one();
        const AnchorCase c = quant_case(x, 1024, w, m);
        for (const NativeKernel* kernel : rows_for("cpu", c.desc))
          for (float f : run_case(*kernel, c)) ASSERT_EQ(f, 1024.0f) << kernel->name;
      }
}

// Hazard Q3: scales of 0, below 0 and infinity. Rows that hold none of them are untouched by the others'.
TEST(QuantMatmulKernel, SpecialScales) {
  const float inf = std::numeric_limits<float>::infinity();
  for (DType format : {DType::q8_0, DType::q4_0})
    for (int64_t m : {1, 7}) {
      const Data x(DType::f32, std::vector<float>(size_t(m) * 64, 0.5f));
      Weights w(format, 6, 64, 4);
      w.set_all_to_one();
      w.set_half(1 * 2, 0, 0.0f);
      w.set_half(2 * 2, 0, -1.0f);
      w.set_half(3 * 2 + 1, 0, inf);
      w.set_half(4 * 2 + 1, 0, std::nanf(""));
      w.set_half(5 * 2, 0, 0x1p-24f);
      const AnchorCase c = quant_case(x, 64, w, m);
      for (const NativeKernel* kernel : rows_for("cpu", c.desc)) {
        const auto out = run_case(*kernel, c);
        for (int64_t i = 0; i < m; i++) {
          const float* row = &out[size_t(i * 6)];
          EXPECT_EQ(row[0], 32.0f) << kernel->name;
          EXPECT_EQ(row[1], 16.0f) << kernel->name;
          EXPECT_EQ(row[2], 0.0f) << kernel->name;
          EXPECT_EQ(row[3], inf) << kernel->name;
          EXPECT_TRUE(std::isnan(row[4])) << kernel->name;
          EXPECT_EQ(row[5], 16.0f + 0x1p-20f) << kernel->name;
        }
      }
    }
}

// Weights side by side give what each gives alone, bit for bit.
TEST(QuantMatmulKernel, SeveralWeightsAreSeveralProducts) {
  for (int64_t m : {1, 3, 5, 90})
    for (const std::vector<int64_t>& rows : {std::vector<int64_t>{33, 1}, {65, 7, 130}, {8, 8, 8, 8}, {5, 0, 3}}) {
      const int64_t k = 576;
      const Data x = random_values(DType::f32, m * k, 1);
      std::vector<Weights> weights;
      AnchorCase all;
      all.desc.family = "quant_matmul";
      all.add_input(x.dtype, x.bytes.data());
      int64_t n = 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        weights.emplace_back(formats[i % 3], rows[i], k, uint32_t(i + 2));
        n += rows[i];
      }
      for (const Weights& w : weights) all.add_input(w.dtype, w.bytes.data());
      all.params.quant_matmul = QuantMatmulParams{m, n, k, k};
      for (size_t i = 0; i + 1 < rows.size(); ++i) all.params.quant_matmul.rows[i] = rows[i];
      all.store_result(m * n);
      for (const NativeKernel* kernel : rows_for("cpu", all.desc)) {
        const std::vector<float> out = run_case(*kernel, all);
        expect_equal_bits(out, run_case(*kernel, all, Order::two_threads), kernel->name);
        int64_t first = 0;
        for (Weights& w : weights) {
          const std::vector<float> alone = run_case(*kernel, quant_case(x, k, w, m));
          for (int64_t i = 0; i < m; i++)
            ASSERT_TRUE(std::equal(&alone[size_t(i * w.n)], &alone[size_t(i * w.n)] + w.n, &out[size_t(i * n + first)]))
                << kernel->name << " m=" << m << " row " << i << " of the weight at " << first;
          first += w.n;
        }
      }
    }
}

TEST(QuantMatmulKernel, EmptyKGivesZero) {
  const Data x(DType::f32, {});
  for (int64_t m : {1, 6}) {
    Weights w(DType::q4_1, 5, 0, 1);
    const AnchorCase c = quant_case(x, 0, w, m);
    for (const NativeKernel* kernel : rows_for("cpu", c.desc))
      for (float f : run_case(*kernel, c)) EXPECT_EQ(f, 0.0f) << kernel->name;
  }
}

}  // namespace
}  // namespace tenon
