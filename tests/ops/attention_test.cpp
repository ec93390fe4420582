// attention() with its options at their edges, and against multi-head attention made of other ops. Plain values of each
// option are rows of cases.def.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "support/compare.h"
#include "support/lowering.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan_ = std::nanf("");

class AttentionOp : public ::testing::TestWithParam<const char*> {
 protected:
  const modes::InLowerMode mode{modes::mode_of(GetParam())};
  Device d = Device::open(modes::device_of(GetParam()));
  Tensor f32(const std::vector<float>& v, Shape s) { return Tensor::from<float>(v, std::move(s), d); }
  // Values in [-1, 1), another series for each seed.
  Tensor random(Shape s, uint64_t seed) {
    return cast(bitwise_right_shift(random_bits(std::move(s), seed, 0, d), full({}, 8, DType::u32, d)), DType::f32) * 0x1p-23 - 1;
  }
  static std::string check(const Tensor& got, Shape shape, std::vector<double> want, double within = 0) {
    return difference({got.dtype(), std::move(shape), {want.begin(), want.end()}}, read(got), {.absolute = within});
  }
  static std::string same(const Tensor& got, const Tensor& want, double within) {
    return difference(read(want), read(got), {.absolute = within});
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, AttentionOp, ::testing::Values("host", "cpu", "cpu_generated", "cpu_composed"),
                         [](const auto& p) { return std::string(p.param); });

// Hazard S1. Values 0, 2, 4, 6 in every column, so the mean is 3.
TEST_P(AttentionOp, RowsThatAMaskHides) {
  for (int64_t T : {1, 3}) {
    const Tensor q = random({1, 2, T, 4}, 1), k = random({1, 1, 4, 4}, 2);
    const Tensor v = broadcast_to(f32({0, 2, 4, 6}, {1, 1, 4, 1}), {1, 1, 4, 4});
    const Shape shape{1, 2, T, 4};
    const size_t n = size_t(8 * T);
    AttentionOptions o;
    o.bias = f32({-inf}, {1});
    EXPECT_EQ(check(attention(q, k, v, o), shape, std::vector<double>(n, 0)), "");
    o.bias = f32({-3.4e38f}, {});
    EXPECT_EQ(check(attention(q, k, v, o), shape, std::vector<double>(n, 3), 1e-6), "");
    o.bias = f32({-inf, -inf, 0, -inf}, {4});
    EXPECT_EQ(check(attention(q, k, v, o), shape, std::vector<double>(n, 4)), "");
    o.bias = {};
    o.mask = Tensor::from<bool>({false}, {1, 1, 1, 1}, d);
    EXPECT_EQ(check(attention(q, k, v, o), shape, std::vector<double>(n, 0)), "");
    o.mask = Tensor::from<bool>({false, false, false, true}, {4}, d);
    EXPECT_EQ(check(attention(q, k, v, o), shape, std::vector<double>(n, 6)), "");
    o.window = 2;  // the last query sees keys 2 and 3
    o.mask = Tensor::from<bool>({true, true, true, false}, {4}, d);
    EXPECT_EQ(check(slice(attention(q, k, v, o), 2, T - 1, T), {1, 2, 1, 4}, std::vector<double>(8, 4)), "");
  }
}

// What lies from kv_len on may be anything, also where a mask and a window choose among the keys.
TEST_P(AttentionOp, StaleTailOfACacheWithMasks) {
  for (int64_t T : {1, 2}) {
    Tensor k = random({1, 2, 9, 8}, 3), v = random({1, 2, 9, 8}, 4);
    const Tensor q = random({1, 4, T, 8}, 5), mask = greater(random({T, 9}, 6), full({}, -0.5, DType::f32, d)), bias = random({4, 1, 9}, 7);
    AttentionOptions o;
    o.window = 4;
    o.soft_cap = 3;
    o.mask = slice(mask, 1, 0, 6);
    o.bias = slice(bias, 2, 0, 6);
    const Tensor want = attention(q, slice(k, 2, 0, 6), slice(v, 2, 0, 6), o);
    const Tensor bad = f32({nan_, inf, -inf, nan_, 1, 2, nan_, -inf}, {1, 1, 1, 8});
    const Tensor tail = greater_equal(reshape(arange(0, 9, 1, DType::i32, d), {1, 1, 9, 1}), full({}, 6, DType::i32, d));
    k = where(tail, bad, k);
    v = where(tail, bad, v);
    o.mask = mask;
    o.bias = where(reshape(tail, {1, 1, 9}), full({}, nan_, DType::f32, d), bias);
    o.kv_len = Scalar(uint32_t(6), d);
    EXPECT_EQ(same(attention(q, k, v, o), want, 1e-6), "");
    o.kv_len = Scalar(uint32_t(4000000000), d);  // more than there are: all
    o.bias = {};
    k = where(tail, full({}, 0, DType::f32, d), k);
    v = where(tail, full({}, 0, DType::f32, d), v);
    const Tensor clamped = attention(q, k, v, o);
    o.kv_len = {};
    EXPECT_EQ(same(clamped, attention(q, k, v, o), 1e-6), "");
  }
}

// Keys and values that no query or not every query sees, by causality, a window or a mask, may hold anything.
TEST_P(AttentionOp, HiddenKeysAndValuesSpoilNothing) {
  for (DType t : {DType::f32, DType::f16, DType::f64})
    for (int64_t T : {1, 5}) {
      const int64_t S = 7;
      const Tensor q = cast(random({1, 4, T, 8}, 1), t), k = cast(random({1, 2, S, 8}, 2), t), v = cast(random({1, 2, S, 8}, 3), t);
      // bad[s, c]: NaN and infinities at keys 2 and 6; query i stands at position S - T + i.
      const Tensor key = reshape(arange(0, double(S), 1, DType::i32, d), {S, 1}), query = reshape(key, {1, S});
      const auto at = [&](const Tensor& x, double n) { return equal(x, full({}, n, DType::i32, d)); };
      const Tensor bad = cast(f32({nan_, inf, -inf, nan_, 1, 2, nan_, -inf}, {8}), t);
      const auto spoil = [&](const Tensor& x, double n) { return where(at(key, n), bad, x); };
      AttentionOptions o;
      // Rows first to end - 1 do not see the key n: they are what they are without it, bit for bit.
      const auto expect_rows = [&](double n, int64_t first, int64_t end) {
        const Tensor want = slice(attention(q, k, v, o), 2, first, end);
        const Tensor got = slice(attention(q, spoil(k, n), spoil(v, n), o), 2, first, end);
        EXPECT_EQ(same(got, want, 0), "") << to_string(t) << " T=" << T << " key " << n << " rows from " << first;
        EXPECT_EQ(same(slice(attention(q, k, spoil(v, n), o), 2, first, end), want, 0), "") << to_string(t) << " T=" << T;
      };
      o.causal = true;
      if (T > 1) expect_rows(6, 0, T - 1);
      o.window = 3;
      expect_rows(2, T - 1, T);  // the last query sees keys 4 to 6
      if (T > 1) expect_rows(6, 0, T - 1);
      o = {};
      o.mask = logical_not(at(query, 2));
      expect_rows(2, 0, T);
      o.bias = where(at(query, 2), full({}, nan_, DType::f32, d), random({S}, 4));
      expect_rows(2, 0, T);
      o = {};
      o.mask = Tensor::from<bool>({false}, {1, 1}, d);
      const Tensor hidden = attention(q, broadcast_to(bad, k.shape()), broadcast_to(bad, v.shape()), o);
      EXPECT_EQ(same(hidden, zeros(q.shape(), t, d), 0), "");
    }
}

// A value that a query sees goes in, whatever it is.
TEST_P(AttentionOp, InfinitiesThatAreSeenArrive) {
  const Tensor q = zeros({1, 1, 3, 1}, DType::f32, d), k = zeros({1, 1, 3, 1}, DType::f32, d);
  AttentionOptions causal;
  causal.causal = true;
  const auto rows = [&](std::vector<float> v) { return attention(q, k, f32(v, {1, 1, 3, 1}), causal); };
  const auto expect = [&](const Tensor& got, std::vector<double> want) {
    EXPECT_EQ(difference({DType::f32, {1, 1, 3, 1}, {want.begin(), want.end()}}, read(got), {.absolute = 1e-6, .nan_equal = true}), "");
  };
  expect(rows({2, 4, 6}), {2, 3, 4});
  expect(rows({2, inf, 6}), {2, inf, inf});
  expect(rows({2, -inf, 6}), {2, -inf, -inf});
  expect(rows({2, inf, -inf}), {2, inf, nan_});
  expect(rows({2, nan_, inf}), {2, nan_, nan_});
}

TEST_P(AttentionOp, WindowsLargerThanAllKeysAreCausal) {
  const Tensor q = random({1, 2, 5, 8}, 1), k = random({1, 2, 7, 8}, 2), v = random({1, 2, 7, 8}, 3);
  AttentionOptions causal, window;
  causal.causal = true;
  for (int64_t w : {int64_t(7), int64_t(1) << 31, std::numeric_limits<int64_t>::max()}) {
    window.window = w;
    EXPECT_EQ(same(attention(q, k, v, window), attention(q, k, v, causal), 0), "") << w;
  }
  window.window = 1;  // each query sees its own position only
  EXPECT_EQ(same(attention(q, k, v, window), slice(v, 2, 2, 7), 1e-6), "");
}

// A window that slides over a cache: decoding step by step gives the rows of the whole, by one plan.
TEST_P(AttentionOp, StepsOverACacheWithAWindow) {
  const Tensor q = random({1, 4, 12, 8}, 1), k = random({1, 2, 12, 8}, 2), v = random({1, 2, 12, 8}, 3);
  eval(q, k, v);
  AttentionOptions o;
  o.window = 5;
  const Tensor whole = attention(q, k, v, o);
  Scalar length(uint32_t(1), d), at(uint32_t(0), d);
  o.kv_len = length;
  int64_t plans = 0;
  for (uint32_t n = 1; n <= 12; ++n) {
    length.set(n);
    at.set(n - 1);
    const Tensor got = attention(dynamic_slice(q, at, 2, 1), k, v, o);
    const int64_t before = d.counters().plans;
    eval(got);
    plans += d.counters().plans - before;
    EXPECT_EQ(same(got, slice(whole, 2, n - 1, n), 1e-6), "") << n;
  }
  EXPECT_EQ(plans, 1);
}

// All heads and batches at once: one projection, batched products, softmax, one projection back.
TEST_P(AttentionOp, EqualsMultiHeadAttentionByComposition) {
  const int64_t B = 3, T = 7, H = 4, D = 8;
  const Tensor out = random({H, D, 32}, 4);
  for (DType t : {DType::f32, DType::f16}) {
    const Tensor x = cast(random({B, T, 32}, 1), t), w = cast(random({3 * H * D, 32}, 2), t), b = cast(random({3 * H * D}, 3), t);
    const Tensor to_out = cast(out, t), first = slice(w, 0, 0, H * D);
    const Qkv p = qkv_projection(x, w, H, H, b);
    // The queries by a plain linear as well.
    EXPECT_EQ(same(p.q, permute(reshape(linear(x, first, slice(b, 0, 0, H * D)), {B, T, H, D}), {0, 2, 1, 3}), t == DType::f32 ? 1e-5 : 5e-3), "");
    const Tensor q = cast(p.q, DType::f32), k = cast(p.k, DType::f32), v = cast(p.v, DType::f32);
    const Tensor row = reshape(arange(0, double(T), 1, DType::i32, d), {T, 1}), column = reshape(row, {1, T});
    const Tensor scores = matmul(q, transpose(k)) * (1 / std::sqrt(double(D)));
    const Tensor seen = where(less_equal(column, row), scores, full({}, -inf, DType::f32, d));
    const Tensor heads = cast(matmul(softmax(seen), v), t);
    AttentionOptions causal;
    causal.causal = true;
    const Tensor by_op = attention(p.q, p.k, p.v, causal);
    EXPECT_EQ(same(by_op, heads, t == DType::f32 ? 2e-5 : 1e-2), "");
    const auto back = [&](const Tensor& y) { return linear_general(permute(y, {0, 2, 1, 3}), to_out, {-2, -1}); };
    EXPECT_EQ(same(back(by_op), back(heads), t == DType::f32 ? 1e-4 : 5e-2), "");
  }
}

TEST_P(AttentionOp, OptionsThatAreWrong) {
  const Tensor q = random({1, 2, 3, 4}, 1), k = random({1, 2, 5, 4}, 2);
  const auto error = [&](ErrorCode code, const char* part, const std::function<void(AttentionOptions&)>& set) {
    AttentionOptions o;
    set(o);
    try {
      attention(q, k, k, o);
      ADD_FAILURE() << part;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  error(ErrorCode::invalid_argument, "window -1", [](auto& o) { o.window = -1; });
  error(ErrorCode::invalid_argument, "soft_cap -2", [](auto& o) { o.soft_cap = -2; });
  error(ErrorCode::invalid_argument, "soft_cap", [](auto& o) { o.soft_cap = nan_; });
  error(ErrorCode::invalid_argument, "soft_cap", [](auto& o) { o.soft_cap = inf; });
  error(ErrorCode::dtype, "bias", [&](auto& o) { o.mask = zeros({3, 5}, DType::f32, d); });
  error(ErrorCode::dtype, "mask", [&](auto& o) { o.bias = zeros({3, 5}, DType::bool_, d); });
  error(ErrorCode::shape, "[4,5]", [&](auto& o) { o.mask = zeros({4, 5}, DType::bool_, d); });
  error(ErrorCode::shape, "[1,2,3,5]", [&](auto& o) { o.bias = zeros({1, 1, 2, 3, 5}, DType::f32, d); });
  error(ErrorCode::dtype, "u32", [&](auto& o) { o.kv_len = Scalar(1.0f, d); });
}

}  // namespace
}  // namespace tenon::testing
