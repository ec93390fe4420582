// Scan, sort and scatter kernels on strided rows: every row of the index in any order of groups, into poisoned memory,
// against the values computed here.
#include <algorithm>
#include <numeric>

#include "kernels/anchor_case.h"

namespace tenon {
namespace {

constexpr Order orders[] = {Order::forward, Order::reverse, Order::two_threads};

AnchorCase one_output(const char* family, DType out_type, int64_t elements) {
  AnchorCase c;
  c.desc.family = family;
  c.out_elements = elements;
  Operand out;
  out.access = Access::out;
  out.dtype = out_type;
  c.desc.operands.push_back(out);
  return c;
}

void add_first(AnchorCase& c, DType t, const void* data) {
  Operand in;
  in.dtype = t;
  c.desc.operands.insert(c.desc.operands.end() - 1, in);
  c.inputs.push_back(static_cast<const std::byte*>(data));
  ++c.desc.anchor_operands;
}

std::vector<const NativeKernel*> rows_of_all(const KernelDesc& desc) {
  std::vector<const NativeKernel*> all = rows_for("cpu", desc);
  for (const NativeKernel* k : rows_for("host", desc)) all.push_back(k);
  return all;
}

void expect_words(const AnchorCase& c, const std::vector<uint32_t>& want) {
  for (const NativeKernel* k : rows_of_all(c.desc))
    for (Order order : orders) {
      const std::vector<float> got = run_case(*k, c, order);
      ASSERT_EQ(got.size(), want.size());
      EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * 4), 0) << k->name;
    }
}

// x[o, r, i] lies at (2 - o) * 5 * n + r + (n - 1 - i) * 5: two axes walk backwards.
struct Rows {
  int64_t outer = 3, rows = 5, n;
  std::vector<uint32_t> data;
  explicit Rows(int64_t length) : n(length), data(size_t(3 * 5 * length)) {
    std::mt19937 rng(3);
    for (uint32_t& v : data) v = rng() % 97;
  }
  uint32_t at(int64_t o, int64_t r, int64_t i) const { return data[size_t((2 - o) * 5 * n + r + (n - 1 - i) * 5)]; }
  const uint32_t* origin() const { return data.data() + 2 * 5 * n + (n - 1) * 5; }
};

TEST(ScanKernel, RunsAlongStridedRowsAndStartsAnewAtEachBlock) {
  for (int64_t n : {1, 3, 64, 65, 1500}) {
    const Rows x(n);
    for (int64_t block : {int64_t(64), n}) {
      AnchorCase c = one_output("scan", DType::u32, 15 * n);
      add_first(c, DType::u32, x.origin());
      c.params.scan = {3, 5, n, block, -5 * n, 1, -5};
      for (ScanOp op : {ScanOp::sum, ScanOp::prod, ScanOp::max}) {
        c.desc.attributes = {int64_t(op)};
        std::vector<uint32_t> want;
        for (int64_t o = 0; o < 3; ++o)
          for (int64_t r = 0; r < 5; ++r)
            for (int64_t i = 0; i < n; ++i) {
              const uint32_t v = x.at(o, r, i), before = i % block == 0 ? (op == ScanOp::prod) : want.back();
              want.push_back(op == ScanOp::sum ? before + v : op == ScanOp::prod ? before * v : std::max(before, v));
            }
        expect_words(c, want);
      }
    }
  }
}

TEST(SortKernel, SortsStridedRowsStably) {
  for (int64_t n : {1, 2, 33, 1024, 1025, 5000}) {  // both sides of where radix sort begins
    const Rows x(n);
    AnchorCase c = one_output("sort", DType::u32, 15 * n);
    add_first(c, DType::u32, x.origin());
    c.params.sort = {3, 5, n, -5 * n, 1, -5};
    for (bool descending : {false, true}) {
      c.desc.attributes = {descending};
      std::vector<uint32_t> want;
      for (int64_t o = 0; o < 3; ++o)
        for (int64_t r = 0; r < 5; ++r) {
          std::vector<uint32_t> order(static_cast<size_t>(n));
          std::iota(order.begin(), order.end(), 0u);
          std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
            const uint32_t v = x.at(o, r, a), w = x.at(o, r, b);
            return v == w ? a < b : (v < w) != descending;
          });
          want.insert(want.end(), order.begin(), order.end());
        }
      expect_words(c, want);
    }
  }
}

TEST(ScatterKernel, CollectsContributionsInOrder) {
  for (int64_t inner : {1, 5, 2051}) {  // the last one is several groups wide
    const int64_t size = 70, n = 300;
    std::mt19937 rng(4);
    std::vector<uint32_t> keys(n), order(n), x(size_t(2 * size * inner)), source(size_t(2 * n * inner));
    for (uint32_t& k : keys) k = rng() % 80;  // some are beyond the end
    std::sort(keys.begin(), keys.end());
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), rng);
    for (uint32_t& v : x) v = rng();
    for (uint32_t& v : source) v = rng();
    AnchorCase c = one_output("scatter", DType::u32, 2 * size * inner);
    add_first(c, DType::u32, x.data() + x.size() - 1);  // x is read backwards
    add_first(c, DType::u32, keys.data());
    add_first(c, DType::u32, order.data());
    add_first(c, DType::u32, source.data());
    c.params.scatter = {2, size, inner, n, {-size * inner, -inner, -1}, {1, 2 * inner, 2}};  // [n, inner, outer]
    for (ScatterOp op : {ScatterOp::set, ScatterOp::add, ScatterOp::max}) {
      c.desc.attributes = {int64_t(op)};
      std::vector<uint32_t> want;
      for (int64_t i = 0; i < 2 * size * inner; ++i) {
        const int64_t o = i / (size * inner), d = i / inner % size, k = i % inner;
        uint32_t v = x[x.size() - 1 - size_t(i)];
        for (size_t j = 0; j < keys.size(); ++j) {
          if (keys[j] != uint32_t(d)) continue;
          const uint32_t s = source[size_t(int64_t(order[j]) * 2 * inner + k * 2 + o)];
          v = op == ScatterOp::set ? s : op == ScatterOp::add ? v + s : std::max(v, s);
        }
        want.push_back(v);
      }
      expect_words(c, want);
    }
  }
}

// Chunks of 256: the order in which f32 sums are rounded is part of the kernel's contract.
TEST(ScatterKernel, SumsChunksOf256) {
  const int64_t n = 700, inner = 64;
  std::vector<uint32_t> keys(n, 0), order(n);
  std::iota(order.begin(), order.end(), 0u);
  const Data x = random_values(DType::f32, inner, 6), source = random_values(DType::f32, n * inner, 5);
  AnchorCase c = one_output("scatter", DType::f32, inner);
  add_first(c, DType::f32, x.values.data());
  add_first(c, DType::u32, keys.data());
  add_first(c, DType::u32, order.data());
  add_first(c, DType::f32, source.values.data());
  c.params.scatter = {1, 1, inner, n, {0, 0, 1}, {0, inner, 1}};
  c.desc.attributes = {int64_t(ScatterOp::add)};
  std::vector<float> want = x.values;
  for (size_t i = 0; i < want.size(); ++i)
    for (size_t first = 0; first < size_t(n); first += 256) {
      float sum = source.values[first * inner + i];
      for (size_t k = first + 1; k < std::min(first + 256, size_t(n)); ++k) sum += source.values[k * inner + i];
      want[i] += sum;
    }
  const NativeKernel* tuned = find_native_kernel("cpu", c.desc);
  ASSERT_FALSE(tuned->plain);
  for (Order o : orders) expect_equal_bits(run_case(*tuned, c, o), want, tuned->name);
}

}  // namespace
}  // namespace tenon
