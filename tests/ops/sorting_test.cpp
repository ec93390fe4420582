// Sorting, scans and scatter at sizes and thread counts that the op cases do not reach.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>

#include "support/lowering.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using modes::LowerMode, modes::name_of;

std::vector<float> scrambled(int64_t n, uint32_t values) {
  std::vector<float> v(static_cast<size_t>(n));
  uint32_t state = 1;
  for (float& f : v) {
    state = state * 1664525u + 1013904223u;  // Numerical Recipes
    f = float(state % values) - float(values / 2);
  }
  return v;
}

template <class F>
double seconds(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Sorting, LongRowsAreStableInEveryDtype) {
  const int64_t n = 70001;
  const std::vector<float> v = scrambled(n, 300);
  std::vector<int32_t> want(v.size());
  for (bool descending : {false, true}) {
    std::iota(want.begin(), want.end(), 0);
    std::sort(want.begin(), want.end(), [&](int32_t a, int32_t b) {
      const float x = v[size_t(a)], y = v[size_t(b)];
      return x == y ? a < b : (x < y) != descending;
    });
    for (const char* device : {"cpu", "host"}) {
      const Tensor x = Tensor::from<float>(v, {n}, Device::open(device));
      for (DType t : {DType::f32, DType::f16, DType::i32}) EXPECT_EQ(argsort(cast(x, t), 0, descending).to_vector<int32_t>(), want) << device << " " << to_string(t);
    }
  }
}

// A million elements in a time that no quadratic way meets.
TEST(Sorting, WorkDoesNotGrowWithTheSquare) {
  const int64_t n = 1000000;
  const std::vector<float> v = scrambled(n, 1u << 20);
  for (LowerMode mode : {LowerMode::tuned, LowerMode::generated}) {
    const modes::InLowerMode in(mode);
    const Device d = Device::open("cpu", 1);
    const Tensor x = Tensor::from<float>(v, {n}, d), index = cast(abs(x), DType::i32);
    std::vector<float> sorted, added, running;
    EXPECT_LT(seconds([&] { sorted = sort(x).to_vector<float>(); }), 20) << name_of(mode);
    EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
    EXPECT_LT(seconds([&] { added = index_add(zeros({n}, DType::f32, d), index, ones({n}, DType::f32, d)).to_vector<float>(); }), 20) << name_of(mode);
    EXPECT_EQ(std::accumulate(added.begin(), added.end(), 0.0), double(n));
    EXPECT_LT(seconds([&] { added = scatter_add(zeros({3}, DType::f32, d), zeros({n}, DType::i32, d), full({}, 0.1, DType::f32, d)).to_vector<float>(); }), 20) << name_of(mode);
    EXPECT_NEAR(added[0], 0.1f * double(n), 10) << "sums over chunks do not lose what is small";
    EXPECT_LT(seconds([&] { running = cumsum(full({n}, 0.1, DType::f32, d)).to_vector<float>(); }), 20) << name_of(mode);
    for (int64_t i : {int64_t(1023), int64_t(1024), n / 2, n - 1}) EXPECT_NEAR(running[size_t(i)], 0.1f * double(i + 1), 1e-6 * double(i)) << i;
  }
}

TEST(Sorting, BitsDoNotDependOnTheThreads) {
  const int64_t n = 30011;
  std::vector<std::vector<float>> sums, scans;
  for (int threads : {1, 2, 5}) {
    const Device d = Device::open("cpu", threads);
    const Tensor x = Tensor::from<float>(scrambled(n, 100003), {n}, d) * 0.0137, index = cast(abs(x), DType::i32);
    sums.push_back(index_add(zeros({40}, DType::f32, d), bitwise_and(index, full({}, 31, DType::i32, d)), x).to_vector<float>());
    scans.push_back(cumsum(x).to_vector<float>());
  }
  EXPECT_EQ(sums[1], sums[0]);
  EXPECT_EQ(sums[2], sums[0]);
  EXPECT_EQ(scans[1], scans[0]);
  EXPECT_EQ(scans[2], scans[0]);
}

TEST(Sorting, LaunchesAreFew) {
  const Device d = Device::open("null:roomy");
  Tensor x = zeros({8, 1000}, DType::f32, d), index = Tensor::from<int32_t>({1, 2, 1}, {3}, d);
  eval(x);
  const auto launches = [&](Tensor t) {
    const int64_t before = d.counters().launches;
    eval(t);
    return d.counters().launches - before;
  };
  EXPECT_EQ(launches(cumsum(x)), 1);
  EXPECT_EQ(launches(argsort(x)), 2);                                                  // and the cast to i32
  EXPECT_EQ(launches(sort(x)), 2);
  EXPECT_EQ(launches(cumsum(reshape(x, {8000}))), 5);                                  // blocks, totals, their front, sum
  EXPECT_EQ(launches(index_add(x, index, slice(x, 0, 0, 3))), 4);                      // keys, order, sorted keys, slices
}

// Also where there are too few bindings for a kernel: its composition takes its place.
TEST(Sorting, EveryOpPlansOnSmallDevicesInEveryMode) {
  for (const char* device : {"null:webgpu", "null:tiny"})
    for (LowerMode mode : modes::lower_modes) {
      const modes::InLowerMode in(mode);
      const Device d = Device::open(device);
      const Tensor x = zeros({8, 1500}, DType::f16, d), index = Tensor::from<int32_t>({1, 2, 1}, {3}, d);
      const Tensor along = zeros({8, 3}, DType::i32, d), source = ones({3, 1500}, DType::f16, d), element = ones({8, 3}, DType::f16, d);
      for (Tensor y : {cumsum(x), cumprod(x), cummax(x, 0), logcumsumexp(x), argsort(x), sort(x, 0, true), topk(x, 5).values,
                       index_set(x, index, source), index_add(x, index, source), index_max(x, index, source), scatter_set(x, along, element),
                       scatter_add(x, along, element), scatter_max(x, along, element), sample(cast(x, DType::f32), SampleSettings(d))})
        EXPECT_NO_THROW(eval(y)) << device << " " << name_of(mode);
    }
}

TEST(Sorting, AnAxisOfTooManyElementsIsRefused) {
  const Tensor one = zeros({}, DType::f32, Device::open("null:roomy")), x = broadcast_to(one, {int64_t(1) << 31});
  for (const auto& call : std::vector<std::function<Tensor()>>{[&] { return argsort(x); }, [&] { return cumsum(x); }, [&] { return index_set(x, zeros({1}, DType::i32, x.device()), one); }}) {
    try {
      call();
      ADD_FAILURE() << "was taken";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unsupported) << e.what();
    }
  }
}

}  // namespace
}  // namespace tenon
