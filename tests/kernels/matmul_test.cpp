// matmul kernels against a product in double precision.
#include <limits>

#include "kernels/anchor_case.h"

namespace tenon {
namespace {

struct Layout {
  bool transposed = false, reversed = false, padded = false, broadcast = false;
};

// A batch of rows x cols matrices with some layout, and where element (batch, i, j) lies.
struct Matrices {
  Data data;
  int64_t first = 0, batch = 0, row = 0, col = 0;
  Matrices(DType t, int64_t batches, int64_t rows, int64_t cols, Layout l, uint32_t seed) {
    row = l.transposed ? 1 : cols;
    col = l.transposed ? rows : 1;
    if (l.padded) row *= 3, col *= 3;
    const int64_t span = rows * cols * (l.padded ? 3 : 1);
    batch = l.broadcast ? 0 : span;
    data = random_values(t, span * (l.broadcast ? 1 : batches), seed);
    if (l.reversed) {
      first = (rows - 1) * row + (cols - 1) * col;
      row = -row, col = -col;
    }
  }
  float at(int64_t b, int64_t i, int64_t j) const { return data.values[size_t(first + b * batch + i * row + j * col)]; }
  const std::byte* start() const { return data.bytes.data() + first * block_bytes(data.dtype); }
};

AnchorCase matmul_case(const Matrices& a, const Matrices& b, int64_t batches, int64_t m, int64_t n, int64_t k) {
  AnchorCase c;
  c.desc.family = "matmul";
  c.add_input(a.data.dtype, a.start());
  c.add_input(b.data.dtype, b.start());
  c.params.matmul = MatmulParams{m, n, k, {1, batches, 1}, {0, a.batch, 0}, {0, b.batch, 0},
                                 a.row, a.col, b.row, b.col};
  c.store_result(batches * m * n);
  return c;
}

// |error| <= (k + 2) / 2 ulp of the sum of magnitudes: each of k roundings adds at most half an ulp.
void check_product(const char* name, const std::vector<float>& out, const Matrices& a, const Matrices& b,
                   int64_t batches, int64_t m, int64_t n, int64_t k) {
  size_t at = 0;
  for (int64_t l = 0; l < batches; l++)
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++, at++) {
        double sum = 0, size = 0;
        for (int64_t p = 0; p < k; p++) {
          const double x = double(a.at(l, i, p)) * double(b.at(l, p, j));
          sum += x;
          size += std::abs(x);
        }
        ASSERT_LE(std::abs(out[at] - sum), double(k + 2) * 0x1p-24 * size)
            << name << " m=" << m << " n=" << n << " k=" << k << " at " << l << "," << i << "," << j;
      }
}

void test_product(DType ta, DType tb, int64_t batches, int64_t m, int64_t n, int64_t k, Layout la, Layout lb) {
  const Matrices a(ta, batches, m, k, la, 1), b(tb, batches, k, n, lb, 2);
  const AnchorCase c = matmul_case(a, b, batches, m, n, k);
  for (const char* target : {"cpu", "host"})
    for (const NativeKernel* kernel : rows_for(target, c.desc)) {
      const auto out = run_case(*kernel, c);
      check_product(kernel->name, out, a, b, batches, m, n, k);
      expect_equal_bits(out, run_case(*kernel, c, Order::two_threads), kernel->name);
    }
}

const Layout plain{}, transposed{.transposed = true}, reversed{.reversed = true}, padded{.padded = true},
    both{.transposed = true, .reversed = true}, shared{.broadcast = true};

TEST(MatmulKernel, OddSizesAndLayouts) {
  const int64_t sizes[][3] = {{1, 1, 1},    {3, 5, 7},     {33, 65, 129}, {2, 31, 64},  {5, 17, 300}, {14, 32, 16},
                              {15, 33, 17}, {85, 130, 31}, {1, 577, 95},  {4, 64, 513}, {70, 1, 45},  {300, 1, 7}};
  for (const auto& s : sizes)
    for (const Layout& la : {plain, transposed, reversed, padded})
      for (const Layout& lb : {plain, transposed, reversed, padded, both})
        test_product(DType::f32, DType::f32, 1, s[0], s[1], s[2], la, lb);
}

TEST(MatmulKernel, Dtypes) {
  const DType floats[] = {DType::f32, DType::f16, DType::bf16};
  for (DType ta : floats)
    for (DType tb : floats)
      for (int64_t m : {1, 3, 19})
        for (const Layout& l : {plain, transposed, padded}) test_product(ta, tb, 1, m, 45, 83, l, l);
}

TEST(MatmulKernel, BatchesAndBroadcasting) {
  for (int64_t m : {1, 6})
    for (const Layout& l : {plain, transposed}) {
      test_product(DType::f32, DType::f32, 5, m, 9, 20, shared, l);
      test_product(DType::f32, DType::f16, 5, m, 9, 20, l, shared);
      test_product(DType::f32, DType::f32, 3, m, 1, 20, l, plain);
    }
}

TEST(MatmulKernel, LargeEnoughForEveryTileAndBlockOfK) {
  test_product(DType::f32, DType::f32, 1, 260, 400, 530, plain, transposed);
  test_product(DType::f32, DType::f32, 1, 2, 300, 4100, plain, transposed);
  test_product(DType::f32, DType::f32, 1, 2, 300, 4100, plain, plain);
}

TEST(MatmulKernel, LargestTiles) {
  const int64_t m = 1000, n = 2400, k = 3;  // few steps of k, so the plain loops stay quick
  test_product(DType::f32, DType::f32, 1, m, n, k, plain, plain);
}

TEST(MatmulKernel, EmptyK) {
  for (int64_t m : {1, 5}) test_product(DType::f32, DType::f32, 1, m, 7, 0, plain, plain);
}

TEST(MatmulKernel, EmptyOutputLaunchesNothing) {
  const Matrices a(DType::f32, 1, 0, 4, plain, 1), b(DType::f32, 1, 4, 3, plain, 2);
  const AnchorCase c = matmul_case(a, b, 1, 0, 3, 4);
  for (const char* target : {"cpu", "host"})
    for (const NativeKernel* kernel : rows_for(target, c.desc)) EXPECT_EQ(kernel->grid(c.desc, c.params).groups, 0);
}

TEST(MatmulKernel, NanAndInfinityReachTheirRowAndColumnOnly) {
  const float inf = std::numeric_limits<float>::infinity();
  for (int64_t m : {3, 20})
    for (const Layout& lb : {plain, transposed}) {
      Matrices a(DType::f32, 1, m, 50, plain, 1), b(DType::f32, 1, 50, 40, lb, 2);
      a.data.set(size_t(1 * 50 + 49), std::nanf(""));
      b.data.set(size_t(b.first + 7 * b.row + 39 * b.col), inf);
      const AnchorCase c = matmul_case(a, b, 1, m, 40, 50);
      for (const NativeKernel* kernel : rows_for("cpu", c.desc)) {
        const auto out = run_case(*kernel, c);
        for (int64_t i = 0; i < m; i++)
          for (int64_t j = 0; j < 40; j++) {
            const float x = out[size_t(i * 40 + j)];
            if (i == 1)
              EXPECT_TRUE(std::isnan(x)) << kernel->name;
            else
              EXPECT_EQ(std::isinf(x), j == 39) << kernel->name;
          }
      }
    }
}

TEST(MatmulKernel, HostStoresHalfPrecision) {
  for (DType t : {DType::f16, DType::bf16}) {
    const Data a(DType::f32, {1.0f, 0x1p-12f}), b(DType::f32, {1.0f, 3.0f});
    AnchorCase c;
    c.desc.family = "matmul";
    c.add_input(DType::f32, a.bytes.data());
    c.add_input(DType::f32, b.bytes.data());
    c.params.matmul = MatmulParams{1, 1, 2, {1, 1, 1}, {}, {}, 2, 1, 1, 1};
    c.store_result(1);
    c.desc.operands.back().dtype = t;
    const NativeKernel* kernel = find_native_kernel("host", c.desc);
    ASSERT_NE(kernel, nullptr);
    const auto out = run_case(*kernel, c);
    uint16_t bits;
    std::memcpy(&bits, out.data(), 2);
    EXPECT_EQ(bits, t == DType::f16 ? 0x3c01 : 0x3f80);  // 1 + 0.75 * 2^-10 rounds up in f16, away in bf16
  }
}

}  // namespace
}  // namespace tenon
