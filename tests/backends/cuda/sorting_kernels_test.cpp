// Generated kernels of scan, sort, scatter and sample through the stand-in, on strided rows and on both sides of every
// size at which another kernel takes over, against the kernels of the other devices, with which they share no code.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "backends/cuda/cuda.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/standin.h"
#include "kernels/index.h"

namespace tenon::testing {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  const auto all = std::as_bytes(std::span(values));
  return {all.begin(), all.end()};
}

// One launch of an anchor without an epilogue.
struct Launch {
  KernelDesc desc;
  Params params;
  std::vector<Bytes> inputs;
  std::vector<int64_t> origins;  // of the inputs, in bytes
  std::vector<uint32_t> scalars{0};
  int64_t out_bytes;

  Launch(const char* family, DType out, int64_t elements) : out_bytes(elements * block_bytes(out)) {
    desc.family = family;
    desc.operands.resize(1);
    desc.operands[0].access = Access::out;
    desc.operands[0].dtype = out;
  }
  template <class T>
  void add(DType t, const std::vector<T>& values, int64_t origin = 0) {
    Operand in;
    in.dtype = t;
    desc.operands.insert(desc.operands.end() - 1, in);
    ++desc.anchor_operands;
    inputs.push_back(bytes_of(values));
    origins.push_back(origin * int64_t(sizeof(T)));
  }
};

// The device is open as long as the tests of a suite run.
std::unique_ptr<Backend> open_device;
Backend& device() { return *open_device; }

class GeneratedKernels : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { open_device = cuda::open("cuda:0", {}); }
  static void TearDownTestSuite() { open_device.reset(); }
};
class GeneratedSort : public GeneratedKernels {};
class GeneratedScan : public GeneratedKernels {};
class GeneratedScatter : public GeneratedKernels {};
class GeneratedSample : public GeneratedKernels {};

Handle upload(const Bytes& bytes) {
  const Handle h = device().alloc(int64_t(bytes.size()));
  device().write(h, 0, bytes);
  return h;
}

Bytes on_device(const Launch& l) {
  Backend& b = device();
  const BackendKernel* k = b.kernel(l.desc, KernelChoice::best);
  EXPECT_NE(k, nullptr) << l.desc.family;
  const Grid grid = b.grid(*k, l.params);
  const PlannedLaunch planned{k, grid};
  b.prepare({&planned, 1});
  std::vector<BoundView> views;
  for (size_t i = 0; i < l.inputs.size(); ++i) views.push_back({upload(l.inputs[i]), l.origins[i], Access::in});
  Bytes out(size_t(l.out_bytes), std::byte{0xff});
  views.push_back({upload(out), 0, Access::out});
  const Handle scalars = upload(bytes_of(l.scalars));
  b.dispatch(*k, views, l.params, {scalars, 0, Access::in}, grid);
  b.read(views.back().buffer, 0, out);
  b.wait(b.submit());
  b.free(scalars);
  for (const BoundView& v : views) b.free(v.buffer);
  EXPECT_EQ(standin_reports(), "");
  return out;
}

Bytes on_native(const char* target, Launch l) {
  const NativeKernel* k = find_native_kernel(target, l.desc);
  EXPECT_NE(k, nullptr) << l.desc.family;
  Bytes out(size_t(l.out_bytes), std::byte{0xff});
  std::vector<std::byte*> buffers;
  for (size_t i = 0; i < l.inputs.size(); ++i) buffers.push_back(l.inputs[i].data() + l.origins[i]);
  buffers.push_back(out.data());
  const KernelArgs args{&l.desc, nullptr, buffers.data(), &l.params, l.scalars.data()};
  const Grid grid = k->grid(l.desc, l.params);
  Bytes scratch(size_t(grid.scratch_bytes) + 64);
  for (int64_t g = 0; g < grid.groups; ++g) k->run(args, g, scratch.data());
  return out;
}

template <class T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// Rows [2, 3, n] of which two axes walk backwards: element (o, r, i) lies at (1 - o) * 3 * n + r + (n - 1 - i) * 3.
constexpr int64_t all_rows = 6;
int64_t origin_of(int64_t n) { return 3 * n + (n - 1) * 3; }

// Of every bit pattern of T some, few enough that many are equal.
template <class T>
std::vector<T> patterns(int64_t count) {
  std::mt19937_64 rng(5);
  std::vector<T> some(97), out(static_cast<size_t>(count));
  for (T& v : some) v = T(rng());
  for (T& v : out) v = some[rng() % some.size()];
  return out;
}
std::vector<float> reals(int64_t count, float spread = 1) {
  std::mt19937 rng(6);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> out(static_cast<size_t>(count));
  for (float& v : out) v = normal(rng);
  return out;
}

template <class T>
void expect_sorted(DType t, int64_t n) {
  std::vector<T> x = patterns<T>(all_rows * n);
  if (t == DType::bool_)
    for (T& v : x) v &= 1;
  if (is_float(t)) x[0] = 0, x[1] = T(T(1) << (8 * sizeof(T) - 1)), x[2] = T(~T(0));  // zeros and a NaN
  for (bool descending : {false, true}) {
    Launch l("sort", DType::u32, all_rows * n);
    l.add(t, x, origin_of(n));
    l.desc.attributes = {descending};
    l.params.sort = {2, 3, n, -3 * n, 1, -3};
    EXPECT_EQ(on_device(l), on_native("host", l))
        << to_string(t) << ", rows of " << n << (descending ? ", descending" : "");
  }
}

TEST_F(GeneratedSort, SortsStridedRowsStably) {
  for (int64_t n : {1, 2, 33, 1024, 2047, 2048, 2049, 4096, 5000}) expect_sorted<uint32_t>(DType::u32, n);
  for (int64_t n : {100, 2100}) {
    expect_sorted<uint32_t>(DType::f32, n);
    expect_sorted<uint32_t>(DType::i32, n);
    expect_sorted<uint16_t>(DType::f16, n);
    expect_sorted<uint16_t>(DType::bf16, n);
    expect_sorted<uint8_t>(DType::bool_, n);
  }
}

// Keys of one and eight bytes, against the library's stable sort of the values.
template <class T>
void expect_sorted_values(DType t, std::vector<T> x) {
  const int64_t n = int64_t(x.size());
  for (bool descending : {false, true}) {
    Launch l("sort", DType::u32, n);
    l.add(t, x);
    l.desc.attributes = {descending};
    l.params.sort = {1, 1, n, 0, 0, 1};
    std::vector<uint32_t> want(x.size());
    std::iota(want.begin(), want.end(), 0u);
    const auto before = [&](T a, T b) { return a < b || (b != b && a == a); };
    // By the values and then by the positions, which is stable.
    std::sort(want.begin(), want.end(), [&](uint32_t a, uint32_t b) {
      const bool first = descending ? before(x[b], x[a]) : before(x[a], x[b]);
      return first || (!(descending ? before(x[a], x[b]) : before(x[b], x[a])) && a < b);
    });
    EXPECT_EQ(values_of<uint32_t>(on_device(l)), want)
        << to_string(t) << ", " << n << (descending ? ", descending" : "");
  }
}

TEST_F(GeneratedSort, KeysOfOneAndEightBytes) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (int64_t n : {100, 2500}) {
    expect_sorted_values(DType::u8, patterns<uint8_t>(n));
    expect_sorted_values(DType::i8, patterns<int8_t>(n));
    expect_sorted_values(DType::i64, patterns<int64_t>(n));
    std::vector<double> reals(static_cast<size_t>(n));
    const std::vector<int64_t> integers = patterns<int64_t>(n);
    std::transform(integers.begin(), integers.end(), reals.begin(), [](int64_t i) { return double(i) * 0x1p-40; });
    const double special[] = {0, nan, -0.0, inf, -nan, -inf, 0, 5e-324, -5e-324};
    std::copy(std::begin(special), std::end(special), reals.begin() + 20);
    expect_sorted_values(DType::f64, reals);
  }
}

// More than 32 tiles, so that the sums over them take more than one round.
TEST_F(GeneratedSort, SortsALongRow) {
  const int64_t n = 70001;
  Launch l("sort", DType::u32, n);
  l.add(DType::f16, patterns<uint16_t>(n));
  l.desc.attributes = {0};
  l.params.sort = {1, 1, n, 0, 0, 1};
  EXPECT_EQ(on_device(l), on_native("host", l));
}

TEST_F(GeneratedScan, IntegersRunAlongStridedRows) {
  for (int64_t n : {1, 16, 17, 128, 129, 256, 257, 1024, 3000})
    for (int64_t block : {int64_t(64), std::max<int64_t>(n, 1024)})
      for (ScanOp op : {ScanOp::sum, ScanOp::prod, ScanOp::max})
        for (DType t : {DType::u32, DType::i32}) {
          Launch l("scan", t, all_rows * n);
          l.add(t, patterns<uint32_t>(all_rows * n), origin_of(n));
          l.desc.attributes = {int64_t(op)};
          l.params.scan = {2, 3, n, block, -3 * n, 1, -3};
          EXPECT_EQ(on_device(l), on_native("host", l)) << to_string(t) << ", rows of " << n << ", op " << int(op);
        }
}

void expect_close(const std::vector<float>& got, const std::vector<float>& want, const std::string& what) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) {
      ASSERT_TRUE(std::isnan(got[i])) << what << " at " << i;
    } else if (got[i] != want[i]) {
      ASSERT_NEAR(got[i], want[i], 2e-7 * std::abs(want[i]) + 1e-44) << what << " at " << i;
    }
  }
}

TEST_F(GeneratedScan, FloatsAreRoundedOnce) {
  const float inf = std::numeric_limits<float>::infinity();
  for (int64_t n : {16, 100, 1000, 2500})
    for (ScanOp op : {ScanOp::sum, ScanOp::prod, ScanOp::max, ScanOp::logsumexp}) {
      // Products of numbers of this spread grow no more than they shrink; the f64 of the other device is enough for
      // them.
      std::vector<float> x = reals(all_rows * n, 1.9f);
      x[0] = std::numeric_limits<float>::quiet_NaN(), x[1] = inf, x[2] = -inf, x[9] = -inf, x[size_t(3 * n)] = -0.0f;
      Launch l("scan", DType::f32, all_rows * n);
      l.add(DType::f32, x, origin_of(n));
      l.desc.attributes = {int64_t(op)};
      l.params.scan = {2, 3, n, n, -3 * n, 1, -3};
      expect_close(values_of<float>(on_device(l)), values_of<float>(on_native("host", l)),
                   "op " + std::to_string(int(op)));
    }
}

// Stretches whose product is far outside f64, while the running product is not.
TEST_F(GeneratedScan, ProductsComeBackFromFarAway) {
  std::vector<float> x(1024, 1e30f);
  for (size_t i = 0; i < x.size(); ++i)
    if (i < 5 || i % 20 >= 10) x[i] = 1e-30f;
  Launch l("scan", DType::f32, 1024);
  l.add(DType::f32, x);
  l.desc.attributes = {int64_t(ScanOp::prod)};
  l.params.scan = {1, 1, 1024, 1024, 0, 0, 1};
  const std::vector<float> got = values_of<float>(on_device(l));
  long double product = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    product *= x[i];
    const float want = float(product);
    ASSERT_TRUE(got[i] == want || std::abs(got[i] - want) <= 1e-6f * want + 1e-44f)
        << i << ": " << got[i] << ", not " << want;
  }
}

TEST_F(GeneratedScan, LanesOfEightBytes) {
  const int64_t n = 1500;
  const std::vector<int64_t> x = patterns<int64_t>(n);
  std::vector<double> y(static_cast<size_t>(n));
  std::transform(x.begin(), x.end(), y.begin(), [](int64_t i) { return double(i) * 0x1p-63; });
  for (ScanOp op : {ScanOp::sum, ScanOp::prod, ScanOp::max}) {
    Launch integers("scan", DType::i64, n), reals("scan", DType::f64, n);
    integers.add(DType::i64, x);
    reals.add(DType::f64, y);
    integers.desc.attributes = reals.desc.attributes = {int64_t(op)};
    integers.params.scan = reals.params.scan = {1, 1, n, n, 0, 0, 1};
    const std::vector<int64_t> got = values_of<int64_t>(on_device(integers));
    const std::vector<double> got_reals = values_of<double>(on_device(reals));
    uint64_t run = uint64_t(x[0]);
    long double real_run = y[0];
    for (size_t i = 0; i < x.size(); ++i) {
      if (i > 0) {
        const uint64_t v = uint64_t(x[i]);
        run = op == ScanOp::sum ? run + v : op == ScanOp::prod ? run * v : uint64_t(std::max(int64_t(run), x[i]));
        const long double r = y[i];
        real_run = op == ScanOp::sum ? real_run + r : op == ScanOp::prod ? real_run * r : std::max(real_run, r);
      }
      ASSERT_EQ(got[i], int64_t(run)) << "op " << int(op) << " at " << i;
      ASSERT_NEAR(got_reals[i], double(real_run), 1e-13 * std::abs(double(real_run)) + 1e-320)
          << "op " << int(op) << " at " << i;
    }
  }
}

Launch scatter_launch(DType t, ScatterOp op, int64_t size, int64_t inner, const std::vector<uint32_t>& keys) {
  const int64_t n = int64_t(keys.size());
  std::vector<uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937(4));
  Launch l("scatter", t, 2 * size * inner);
  if (t == DType::f32) l.add(t, reals(2 * size * inner), 2 * size * inner - 1);  // x is read backwards
  else l.add(t, patterns<uint32_t>(2 * size * inner), 2 * size * inner - 1);
  l.add(DType::u32, keys);
  l.add(DType::u32, order);
  if (t == DType::f32) l.add(t, reals(2 * n * inner));
  else l.add(t, patterns<uint32_t>(2 * n * inner));
  l.desc.attributes = {int64_t(op)};
  l.params.scatter = {2, size, inner, n, {-size * inner, -inner, -1}, {1, 2 * inner, 2}};  // source: [n, inner, outer]
  return l;
}

// Few destinations get long runs, which begin and end anywhere in a chunk; of f32 the order of the sums is fixed, so
// that the cpu's bits come out.
TEST_F(GeneratedScatter, CollectsContributionsInOrder) {
  for (uint32_t destinations : {1u, 3u, 80u}) {
    for (int64_t n : {1, 256, 257, 2000}) {
      std::mt19937 rng(9);
      std::vector<uint32_t> keys(static_cast<size_t>(n));
      for (uint32_t& k : keys) k = rng() % destinations;
      std::sort(keys.begin(), keys.end());
      for (DType t : {DType::u32, DType::i32, DType::f32})
        for (ScatterOp op : {ScatterOp::set, ScatterOp::add, ScatterOp::max}) {
          const Launch l = scatter_launch(t, op, 70, 5, keys);
          EXPECT_EQ(on_device(l), on_native("cpu", l))
              << to_string(t) << ", op " << int(op) << ", " << n << " to " << destinations;
        }
    }
  }
}

// Run lengths around the chunk of 256, one behind the other.
TEST_F(GeneratedScatter, RunsAroundAChunk) {
  std::vector<uint32_t> keys;
  uint32_t destination = 0;
  for (int length : {255, 256, 257, 1, 511, 512, 513, 2, 300, 300, 256, 1000}) {
    keys.insert(keys.end(), size_t(length), destination);
    destination += 2;
  }
  for (ScatterOp op : {ScatterOp::add, ScatterOp::max}) {
    const Launch l = scatter_launch(DType::f32, op, 23, 3, keys);  // the last one has a place
    EXPECT_EQ(on_device(l), on_native("cpu", l)) << int(op);
    const Launch fewer = scatter_launch(DType::f32, op, 11, 3, keys);  // half of them have none
    EXPECT_EQ(on_device(fewer), on_native("cpu", fewer)) << int(op);
  }
}

// Integers wrap in their own width; f64 as f32, but for its width.
template <class T, class Wrapping>
void expect_scattered(DType t, const std::vector<T>& x, const std::vector<T>& source) {
  const int64_t n = int64_t(source.size()), size = int64_t(x.size());
  std::vector<uint32_t> keys(source.size()), order(source.size());
  for (size_t k = 0; k < keys.size(); ++k) keys[k] = uint32_t(k * k * x.size() / (keys.size() * keys.size()));
  std::iota(order.begin(), order.end(), 0u);
  for (ScatterOp op : {ScatterOp::set, ScatterOp::add, ScatterOp::max}) {
    Launch l("scatter", t, size);
    l.add(t, x);
    l.add(DType::u32, keys);
    l.add(DType::u32, order);
    l.add(t, source);
    l.desc.attributes = {int64_t(op)};
    l.params.scatter = {1, size, 1, n, {0, 1, 0}, {0, 1, 0}};
    std::vector<T> want = x;
    for (size_t k = 0; k < keys.size(); ++k) {
      T& v = want[keys[k]];
      v = op == ScatterOp::set   ? source[k]
          : op == ScatterOp::add ? T(Wrapping(v) + Wrapping(source[k]))
                                 : std::max(v, source[k]);
    }
    const std::vector<T> got = values_of<T>(on_device(l));
    for (size_t i = 0; i < want.size(); ++i) {
      const bool near = is_float(t) && std::abs(double(got[i]) - double(want[i])) < 1e-12;
      ASSERT_TRUE(got[i] == want[i] || near) << to_string(t) << ", op " << int(op) << " at " << i;
    }
  }
}

TEST_F(GeneratedScatter, OneAndEightBytes) {
  expect_scattered<uint8_t, uint32_t>(DType::u8, patterns<uint8_t>(9), patterns<uint8_t>(1500));
  expect_scattered<int8_t, uint32_t>(DType::i8, patterns<int8_t>(9), patterns<int8_t>(1500));
  expect_scattered<int64_t, uint64_t>(DType::i64, patterns<int64_t>(9), patterns<int64_t>(1500));
  const std::vector<float> x = reals(9), source = reals(1500);
  expect_scattered<double, double>(DType::f64, {x.begin(), x.end()}, {source.begin(), source.end()});
}

struct Options {
  float temperature = 1;
  uint32_t top_k = 0;
  float top_p = 1, min_p = 0;
};

Launch sample_launch(const std::vector<float>& logits, int64_t rows, const Options& o, uint32_t position) {
  Launch l("sample", DType::u32, rows);
  l.add(DType::f32, logits);
  l.params.sample = SampleParams{rows, int64_t(logits.size()) / rows, 0, 1, 2, 3, 4, 5, 6};
  l.scalars = {std::bit_cast<uint32_t>(o.temperature),
               o.top_k,
               std::bit_cast<uint32_t>(o.top_p),
               std::bit_cast<uint32_t>(o.min_p),
               99,
               3,
               position};
  return l;
}

void expect_same_tokens(const std::vector<float>& logits, int64_t rows, const Options& o, uint32_t draws) {
  for (uint32_t position = 0; position < draws; ++position) {
    const Launch l = sample_launch(logits, rows, o, position);
    EXPECT_EQ(values_of<uint32_t>(on_device(l)), values_of<uint32_t>(on_native("cpu", l)))
        << "temperature " << o.temperature << ", top_k " << o.top_k << ", top_p " << o.top_p << ", min_p " << o.min_p;
  }
}

TEST_F(GeneratedSample, DrawsTheSameTokens) {
  const std::vector<float> logits = reals(4 * 3001, 3);
  for (const Options& o : {Options{},
                           {.temperature = 0},
                           {.temperature = 0.7f},
                           {.top_k = 1},
                           {.top_k = 50},
                           {.top_k = 192},
                           {.top_k = 193},
                           {.top_k = 2000},
                           {.top_k = 3001},
                           {.top_p = 0.9f},
                           {.top_p = 0.0f},
                           {.temperature = 2, .top_k = 40, .top_p = 0.5f},
                           {.min_p = 0.05f},
                           {.temperature = 1.5f, .top_k = 100, .top_p = 0.95f, .min_p = 0.1f}})
    expect_same_tokens(logits, 4, o, 3);
}

// The list of the likeliest tokens does not do: too many reach its bar, or the mass lies below.
TEST_F(GeneratedSample, FlatAndTwoValued) {
  std::vector<float> two(5000, 0.25f);
  for (size_t i = 0; i < two.size(); i += 3) two[i] = 1;
  for (const Options& o :
       {Options{.top_k = 100}, {.top_k = 1700}, {.top_p = 0.3f}, {.top_p = 0.9f}, {.top_k = 180, .top_p = 0.5f}})
    expect_same_tokens(two, 1, o, 3);
  const std::vector<float> flat = reals(6000, 0.01f);
  for (const Options& o : {Options{.top_p = 0.02f}, {.top_p = 0.5f}, {.top_p = 0.99f}, {.top_k = 150, .top_p = 0.9f}})
    expect_same_tokens(flat, 1, o, 3);
}

// Equal logits: the ones with the lower numbers are kept (hazard A2).
TEST_F(GeneratedSample, TiesAndBounds) {
  std::vector<float> equal(300, 1.5f);
  for (uint32_t k : {1u, 2u, 17u, 299u, 300u, 1000000u}) expect_same_tokens(equal, 1, {.top_k = k}, 3);
  for (float p : {0.001f, 0.25f, 0.5f, 0.999f}) expect_same_tokens(equal, 1, {.top_p = p}, 3);
  const float ln2 = 0.693147180559945f;
  const std::vector<float> halves{0, -ln2, -2 * ln2, -2 * ln2};  // probabilities 1/2, 1/4, 1/8, 1/8
  for (float p : {0.5f, 0.51f, 0.75f, 0.76f, 0.875f, 0.88f}) expect_same_tokens(halves, 1, {.top_p = p}, 8);
  for (float p : {0.56f, 0.86f}) expect_same_tokens(halves, 1, {.top_k = 3, .top_p = p}, 8);
  for (float p : {0.2f, 0.26f, 2.0f}) expect_same_tokens(halves, 1, {.min_p = p}, 5);
}

TEST_F(GeneratedSample, MaskedAndNotANumber) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& logits :
       {std::vector<float>{-inf, 0, nan, -1, -inf}, {nan, nan}, {nan, -inf, -inf}, {0, inf, inf}, {-0.0f, 0.0f, -0.0f}})
    for (const Options& o : {Options{},
                             {.temperature = 0},
                             {.temperature = nan},
                             {.temperature = 1e6f},
                             {.top_k = 4},
                             {.top_k = 2},
                             {.top_p = 0.999f},
                             {.min_p = 1e-9f}})
      expect_same_tokens(logits, 1, o, 2);
}

}  // namespace
}  // namespace tenon::testing
