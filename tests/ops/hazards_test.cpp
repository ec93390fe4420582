// Faults that shipped in comparable projects, as named tests on host and cpu, in each mode of lowering. The numbers are derived by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "ops/hazard_fixture.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

class Hazards : public HazardFixture {};
INSTANTIATE_TEST_SUITE_P(Devices, Hazards, hazard_devices, [](const auto& p) { return std::string(p.param); });

TEST_P(Hazards, S1_QueryThatSeesNoKeyGivesZeros) {
  const Tensor one = ones({1, 1, 2, 4}, DType::f32, d);
  AttentionOptions o;
  o.kv_len = Scalar(uint32_t(0), d);
  EXPECT_EQ(check(attention(one, one, one, o), {1, 1, 2, 4}, std::vector<double>(8, 0)), "");
  // Causal with the queries before every key's end: query 0 sees key 0 only.
  o.kv_len = Scalar(uint32_t(2), d);
  o.causal = true;
  EXPECT_EQ(check(attention(one, one, one, o), {1, 1, 2, 4}, std::vector<double>(8, 1)), "");
}

TEST_P(Hazards, S1_StaleKeysMayHoldNan) {
  const Tensor q = ones({1, 1, 1, 4}, DType::f32, d);
  const Tensor k = f32({1, 1, 1, 1, nan_, nan_, nan_, nan_, inf, -inf, nan_, 0}, {1, 1, 3, 4});
  AttentionOptions o;
  o.kv_len = Scalar(uint32_t(1), d);
  EXPECT_EQ(check(attention(q, k, k, o), {1, 1, 1, 4}, {1, 1, 1, 1}), "");
}

TEST_P(Hazards, S1_RowThatIsMinusInfinityEverywhere) {
  EXPECT_EQ(check(softmax(f32({-inf, -inf, 1, 1}, {2, 2})), {2, 2}, {0, 0, .5, .5}), "");
  EXPECT_EQ(check(softmax(row({-3.4e38f, -3.4e38f})), {2}, {.5, .5}), "");
  // The same as one of several roots, so that the row is not fused the same way.
  const Tensor x = f32({-inf, -inf, 1, 1}, {2, 2}) + 0.0;
  const Tensor p = softmax(x), m = max(x, {1});
  eval(p, m);
  EXPECT_EQ(check(p, {2, 2}, {0, 0, .5, .5}), "");
  EXPECT_EQ(check(m, {2}, {-inf, 1}), "");
}

TEST_P(Hazards, S3_LogsumexpAndSoftmaxAtTheEdges) {
  EXPECT_EQ(check(logsumexp(row({-inf, -inf})), {}, {-inf}), "");
  EXPECT_EQ(check(logsumexp(row({1000, 1000})), {}, {1000.6931472}, 1e-4), "");
  EXPECT_EQ(check(softmax(row({1000, 1000, -1000})), {3}, {.5, .5, 0}), "");
  const Tensor mask = Tensor::from<bool>({true, true, false}, {3}, d);
  EXPECT_EQ(check(softmax(where(mask, row({1, 1, 100}), full({}, -inf, DType::f32, d))), {3}, {.5, .5, 0}), "");
  EXPECT_EQ(check(log_softmax(row({0, -inf})), {2}, {0, -inf}), "");
  EXPECT_EQ(check(softmax(row({-inf, 0})), {2}, {0, 1}), "");
}

TEST_P(Hazards, S3_CrossEntropyOfLargeLogitsAndBadTargets) {
  const Tensor logits = f32({1000, 0, 0, 1, 2, 3, 1, 2, 3, 1, 2, 3}, {4, 3});
  const Tensor targets = Tensor::from<int32_t>({1, 2, -100, 3}, {4}, d);
  CrossEntropyOptions o;
  o.reduction = Reduction::none;
  EXPECT_EQ(check(cross_entropy(logits, targets, o), {4}, {1000, .4076060, 0, nan_}, 1e-6), "");
  o.ignore_index = {};
  EXPECT_EQ(check(cross_entropy(logits, targets, o), {4}, {1000, .4076060, nan_, nan_}, 1e-6), "");
}

TEST_P(Hazards, T3_IgnoredAndInvalidTargets) {
  const Tensor logits = f32({1, 2, 3, 1, 2, 3}, {2, 3});
  auto targets = [&](int32_t a, int32_t b) { return Tensor::from<int32_t>({a, b}, {2}, d); };
  EXPECT_EQ(check(cross_entropy(logits, targets(2, -100)), {}, {.4076060}, 1e-6), "");
  EXPECT_EQ(check(cross_entropy(logits, targets(2, 0)), {}, {1.4076060}, 1e-6), "");
  for (Reduction r : {Reduction::none, Reduction::mean, Reduction::sum}) {
    CrossEntropyOptions o;
    o.reduction = r;
    for (int32_t bad : {-4, 3, -1, 2147483647})
      EXPECT_TRUE(std::isnan(cross_entropy(logits, targets(bad, bad), o).to_vector<float>()[0])) << bad;
  }
  CrossEntropyOptions o;
  EXPECT_EQ(check(cross_entropy(logits, targets(-100, -100), o), {}, {nan_}), "");  // the mean of nothing
  o.reduction = Reduction::sum;
  EXPECT_EQ(check(cross_entropy(logits, targets(-100, -100), o), {}, {0}), "");
  CrossEntropyOptions first;
  first.ignore_index = 0;
  EXPECT_EQ(check(cross_entropy(ones({2, 3}, DType::f32, d), targets(0, 1), first), {}, {1.0986123}, 1e-6), "");
  EXPECT_EQ(check(cross_entropy(f32({1000, 0, 0}, {1, 3}), Tensor::from<int32_t>({1}, {1}, d)), {}, {1000}), "");
  // An unsigned target is no negative one, whatever its bits.
  const Tensor unsigned_target = Tensor::from<uint32_t>({4294967196u}, {1}, d);
  EXPECT_EQ(check(cross_entropy(f32({1, 2, 3}, {1, 3}), unsigned_target), {}, {nan_}), "");
}

TEST_P(Hazards, T3_WeightsAndSmoothing) {
  const Tensor logits = f32({1, 2, 3, 3, 1, 2}, {2, 3}), targets = Tensor::from<int32_t>({2, 1}, {2}, d);
  const double lse = 3 + std::log(1 + std::exp(-1.0) + std::exp(-2.0)), p0 = lse - 3, p1 = lse - 1;
  CrossEntropyOptions o;
  o.weight = row({.5f, 2, 4});
  EXPECT_EQ(check(cross_entropy(logits, targets, o), {}, {(4 * p0 + 2 * p1) / 6}, 1e-6), "");
  o.label_smoothing = 0.3;
  const double spread0 = .5 * (lse - 1) + 2 * (lse - 2) + 4 * (lse - 3), spread1 = .5 * (lse - 3) + 2 * (lse - 1) + 4 * (lse - 2);
  const double row0 = .7 * 4 * p0 + .1 * spread0, row1 = .7 * 2 * p1 + .1 * spread1;
  EXPECT_EQ(check(cross_entropy(logits, targets, o), {}, {(row0 + row1) / 6}, 2e-6), "");
  o.ignore_index = 1;
  EXPECT_EQ(check(cross_entropy(logits, targets, o), {}, {row0 / 4}, 2e-6), "");
  o.reduction = Reduction::none;
  EXPECT_EQ(check(cross_entropy(logits, targets, o), {2}, {row0, 0}, 2e-6), "");
}

TEST_P(Hazards, S4_ScoresAboveTheRangeOfF16) {
  for (DType t : {DType::f16, DType::bf16, DType::f32}) {
    const Tensor q = full({1, 1, 1, 128}, 60, t, d), k = full({1, 1, 2, 128}, 60, t, d);
    const Tensor v = broadcast_to(cast(f32({1, 3}, {1, 1, 2, 1}), t), {1, 1, 2, 128});
    EXPECT_EQ(check(attention(q, k, v), t, {1, 1, 1, 128}, std::vector<double>(128, 2)), "") << to_string(t);
  }
}

TEST_P(Hazards, D1_UpdateOfATransposedValue) {
  const Tensor x = transpose(f32({1, 2, 3, 4, 5, 6}, {2, 3}));
  const Tensor y = update(x, f32({9, 9}, {1, 2}), Scalar(uint32_t(1), d), 0);
  EXPECT_EQ(check(y, {3, 2}, {1, 4, 9, 9, 3, 6}), "");
  EXPECT_EQ(check(transpose(x), {2, 3}, {1, 2, 3, 4, 5, 6}), "");
}

TEST_P(Hazards, D2_SumWithItsOwnTranspose) {
  const Tensor x = reshape(cast(arange(0, 10000, 1, DType::i32, d), DType::i32), {100, 100});
  const Tensor s = x + transpose(x);
  EXPECT_EQ(sum(s).item<int32_t>(), 99990000);
  EXPECT_EQ(s.to_vector<int32_t>(), transpose(s).to_vector<int32_t>());
}

TEST_P(Hazards, D4_ReversedViews) {
  const Tensor r = flip(arange(0, 6, 1, DType::f32, d), 0);
  EXPECT_EQ(check(matmul(r, row({1, 0, 0, 0, 0, 0})), {}, {5}), "");
  EXPECT_EQ(argmax(r).item<int32_t>(), 0);
  EXPECT_EQ(check(cumsum(r), {6}, {5, 9, 12, 14, 15, 15}), "");
  EXPECT_EQ(check(argsort(r), DType::i32, {6}, {5, 4, 3, 2, 1, 0}), "");
  eval(r);  // now a leaf with a negative stride
  EXPECT_EQ(check(cumsum(r), {6}, {5, 9, 12, 14, 15, 15}), "");
  EXPECT_EQ(check(cummax(flip(r, 0)), {6}, {0, 1, 2, 3, 4, 5}), "");
  EXPECT_EQ(check(argsort(r), DType::i32, {6}, {5, 4, 3, 2, 1, 0}), "");
  EXPECT_EQ(check(index_add(r, Tensor::from<int32_t>({0, 5}, {2}, d), slice(r, 0, 0, 2)), {6}, {10, 4, 3, 2, 1, 4}), "");
  EXPECT_EQ(check(matmul(r, row({1, 0, 0, 0, 0, 0})), {}, {5}), "");
  EXPECT_EQ(argmax(r).item<int32_t>(), 0);
  EXPECT_EQ(check(slice(r, 0, 1, {}, 2), {3}, {4, 2, 0}), "");
  EXPECT_EQ(check(flip(r, 0), {6}, {0, 1, 2, 3, 4, 5}), "");
  const Tensor a = f32({0, 1, 2, 3, 4, 5}, {2, 3});
  EXPECT_EQ(check(flip(a, 1), {2, 3}, {2, 1, 0, 5, 4, 3}), "");
}

TEST_P(Hazards, D4_OneValueReadForwardsAndBackwards) {
  // Found by a random graph: a view of x that is x again must not be taken for the view.
  const Tensor x = f32({1, 2, 4, 8, 16}, {5, 1}), back = flip(x, 0);
  const Tensor quotient = flip(repeat(back / x, 3, 1), 0);
  std::vector<double> want;
  for (double v : {16., 8., 4., 2., 1.})
    for (int i = 0; i < 3; ++i) want.push_back(std::max(16 / v / v, v));
  EXPECT_EQ(check(maximum(quotient, back), {5, 3}, want), "");
}

TEST_P(Hazards, D5_EmptyAndZeroD) {
  const Tensor e = zeros({0, 2}, DType::f32, d);
  EXPECT_THROW(max(e, {0}), Error);
  EXPECT_EQ(check(max(e, {1}), {0}, {}), "");
  EXPECT_THROW(min(e, {0}), Error);
  EXPECT_EQ(check(min(e, {1}), {0}, {}), "");
  EXPECT_EQ(check(prod(e, {0}), {2}, {1, 1}), "");
  EXPECT_EQ(check(var(e, {0}), {2}, {nan_, nan_}), "");
  EXPECT_EQ(check(any(e, {0}), DType::bool_, {2}, {0, 0}), "");
  EXPECT_EQ(check(all(e, {0}), DType::bool_, {2}, {1, 1}), "");
  EXPECT_EQ(check(einsum("ij,ik->jk", {e, zeros({0, 3}, DType::f32, d)}), {2, 3}, std::vector<double>(6, 0)), "");
  EXPECT_EQ(check(take_along_axis(e, zeros({3, 2}, DType::i32, d), 0), {3, 2}, std::vector<double>(6, nan_)), "");
  EXPECT_EQ(check(pad(e, {{1, 1}, {0, 0}}, PadMode::constant, 7), {2, 2}, {7, 7, 7, 7}), "");
  EXPECT_EQ(check(roll(e, 3), {0, 2}, {}), "");
  EXPECT_EQ(check(mse_loss(e, e), {}, {nan_}), "");
  EXPECT_EQ(check(sum(e, {0}), {2}, {0, 0}), "");
  EXPECT_EQ(check(mean(e, {0}), {2}, {nan_, nan_}), "");
  EXPECT_EQ(check(sum(e), {}, {0}), "");
  EXPECT_EQ(check(sum(e + 3), {}, {0}), "");
  EXPECT_EQ(check(logsumexp(zeros({2, 0}, DType::f32, d)), {2}, {-inf, -inf}), "");
  EXPECT_EQ(check(softmax(zeros({2, 0}, DType::f32, d)), {2, 0}, {}), "");
  EXPECT_EQ(check(matmul(zeros({2, 0}, DType::f32, d), zeros({0, 3}, DType::f32, d)), {2, 3}, std::vector<double>(6, 0)), "");
  EXPECT_EQ(check(matmul(zeros({0, 2}, DType::f32, d), zeros({2, 3}, DType::f32, d)), {0, 3}, {}), "");
  EXPECT_EQ(check(linear(zeros({2, 0}, DType::f32, d), zeros({3, 0}, DType::f32, d), row({1, 2, 3})), {2, 3}, {1, 2, 3, 1, 2, 3}), "");
  EXPECT_EQ(check(concat({e, e}), {0, 2}, {}), "");
  EXPECT_EQ(check(attention(zeros({1, 1, 2, 4}, DType::f32, d), zeros({1, 1, 0, 4}, DType::f32, d), zeros({1, 1, 0, 4}, DType::f32, d)), {1, 1, 2, 4}, std::vector<double>(8, 0)), "");
  const Tensor s = full({}, 3, DType::f32, d);
  EXPECT_EQ(check(sum(s), {}, {3}), "");
  EXPECT_EQ(check(max(s), {}, {3}), "");
  EXPECT_EQ(check(mean(s), {}, {3}), "");
  EXPECT_EQ(check(softmax(s), {}, {1}), "");
  EXPECT_EQ(check(log_softmax(s), {}, {0}), "");
  EXPECT_EQ(check(logsumexp(s), {}, {3}), "");
  EXPECT_EQ(argmax(s).item<int32_t>(), 0);
}

// Found by random graphs: values of one row read from an empty tensor inside a reduction over nothing.
TEST_P(Hazards, D5_SortingScanningAndScatteringNothing) {
  const Tensor none = zeros({2, 0}, DType::f32, d), no_index = zeros({0}, DType::i32, d);
  EXPECT_EQ(check(sort(none), {2, 0}, {}), "");
  EXPECT_EQ(check(sort(none, 0), {2, 0}, {}), "");
  EXPECT_EQ(check(argsort(none), DType::i32, {2, 0}, {}), "");
  EXPECT_EQ(check(topk(none, 0).values, {2, 0}, {}), "");
  EXPECT_EQ(check(cumsum(zeros({0}, DType::f32, d)), {0}, {}), "");
  EXPECT_EQ(check(logcumsumexp(none, 0), {2, 0}, {}), "");
  EXPECT_EQ(check(index_add(row({1, 2}), no_index, zeros({0}, DType::f32, d)), {2}, {1, 2}), "");
  EXPECT_EQ(check(scatter_set(row({1, 2}), no_index, zeros({0}, DType::f32, d)), {2}, {1, 2}), "");
  EXPECT_EQ(check(index_set(none, Tensor::from<int32_t>({1}, {1}, d), zeros({1, 0}, DType::f32, d)), {2, 0}, {}), "");
  EXPECT_EQ(check(cumsum(full({}, 3, DType::f32, d)), {}, {3}), "");
  EXPECT_EQ(check(argsort(full({}, 3, DType::f32, d)), DType::i32, {}, {0}), "");
}

TEST_P(Hazards, D5_ReductionOverNothingOfRowValues) {
  const Tensor x = zeros({3, 1, 12, 0}, DType::f32, d);
  const Tensor y = where(greater(x, mean(x, {0})), softmax(x), mean(x, {0}));
  EXPECT_EQ(check(sum(reshape(transpose(y), {-1}), {0}, true), {1}, {0}), "");
  const Tensor index = Tensor::from<int32_t>({0, 5}, {2}, d);
  EXPECT_EQ(check(take(zeros({0}, DType::f32, d), index), {2}, {nan_, nan_}), "");
  EXPECT_EQ(check(sum(take(zeros({3, 0}, DType::f32, d), Tensor::from<int32_t>({1}, {1}, d)), {1}), {1}, {0}), "");
}

TEST_P(Hazards, E1_NanAndTiesInSortAndScan) {
  const Tensor x = row({1, nan_, -0.0f, 3, 0, nan_, -inf, inf});
  EXPECT_EQ(check(argsort(x), DType::i32, {8}, {6, 2, 4, 0, 3, 7, 1, 5}), "");
  EXPECT_EQ(check(argsort(x, 0, true), DType::i32, {8}, {1, 5, 7, 3, 0, 2, 4, 6}), "");
  EXPECT_EQ(check(topk(x, 3).indices, DType::i32, {3}, {1, 5, 7}), "");
  std::vector<double> in_order(1500);
  std::iota(in_order.begin(), in_order.end(), 0);
  EXPECT_EQ(check(argsort(full({1500}, 7, DType::i32, d), 0, true), DType::i32, {1500}, in_order), "");
  EXPECT_EQ(check(cummax(row({1, nan_, 3})), {3}, {1, nan_, nan_}), "");
  EXPECT_EQ(check(cummax(row({-inf, -inf, 2, 1})), {4}, {-inf, -inf, 2, 2}), "");
  EXPECT_EQ(check(cumsum(row({1, inf, 1, -inf, 1})), {5}, {1, inf, inf, nan_, nan_}), "");
  EXPECT_EQ(check(cumprod(row({2, 0, 5, inf, 1})), {5}, {2, 0, 0, nan_, nan_}), "");
  EXPECT_EQ(check(logcumsumexp(row({-inf, -inf, 1000, 1000, inf, inf, nan_, 0})), {8}, {-inf, -inf, 1000, 1000.6931472, inf, inf, nan_, nan_}, 1e-4), "");
}

TEST_P(Hazards, E1_NanAndRepeatedIndicesInScatter) {
  const Tensor index = Tensor::from<int32_t>({1, 1, -1, 3, 1, 0}, {6}, d), x = row({1, 2, 4}), source = row({5, nan_, 6, 7, 3, 1});
  EXPECT_EQ(check(index_set(x, index, source), {3}, {1, 3, 4}), "");
  EXPECT_EQ(check(index_max(x, index, source), {3}, {1, nan_, 4}), "");
  EXPECT_EQ(check(scatter_add(x, index, source), {3}, {2, nan_, 4}), "");
}

TEST_P(Hazards, E1_NanAndTies) {
  EXPECT_EQ(argmax(row({1, nan_, 3})).item<int32_t>(), 1);
  EXPECT_EQ(check(max(row({1, nan_, 3})), {}, {nan_}), "");
  EXPECT_EQ(argmax(row({2, 3, 0, 3, 3})).item<int32_t>(), 1);
  EXPECT_EQ(argmax(full({16}, 7, DType::i32, d)).item<int32_t>(), 0);
  EXPECT_EQ(argmax(row({-inf, -inf})).item<int32_t>(), 0);
  EXPECT_EQ(argmax(full({1500}, -inf, DType::f32, d)).item<int32_t>(), 0);
  EXPECT_EQ(argmax(full({5}, -2147483648.0, DType::i32, d)).item<int32_t>(), 0);
  EXPECT_EQ(check(max(full({3}, -2147483648.0, DType::i32, d)), DType::i32, {}, {-2147483648.0}), "");
  // A tie over blocks of the row: the first wins.
  Floats long_row(5000, 0);
  long_row[1023] = long_row[1024] = long_row[4096] = 2;
  EXPECT_EQ(argmax(Tensor::from<float>(long_row, {5000}, d)).item<int32_t>(), 1023);
  long_row[4999] = nan_;
  EXPECT_EQ(argmax(Tensor::from<float>(long_row, {5000}, d)).item<int32_t>(), 4999);
  EXPECT_EQ(check(maximum(row({nan_, 1}), row({1, nan_})), {2}, {nan_, nan_}), "");
}

TEST_P(Hazards, F1_Bf16Rounding) {
  const std::vector<uint32_t> bits{0x7F800001, 0xFF800001, 0x7FFFFFFF, 0x7F7FFFFF, 0x3F808000, 0x3F808001, 0x3F818000};
  const std::vector<uint16_t> want{0x7FC0, 0xFFC0, 0x7FFF, 0x7F80, 0x3F80, 0x3F81, 0x3F82};
  const Tensor x = Tensor::from_bytes(std::as_bytes(std::span(bits)), DType::f32, {7}, d);
  const std::vector<std::byte> got = cast(x, DType::bf16).to_bytes();
  for (size_t i = 0; i < want.size(); ++i) {
    const uint16_t h = uint16_t(uint16_t(got[2 * i]) | uint16_t(got[2 * i + 1]) << 8);
    if (i < 3) EXPECT_TRUE((h & 0x7f80) == 0x7f80 && (h & 0x7f) != 0) << i << ": " << h;  // a NaN, whatever its payload
    else EXPECT_EQ(h, want[i]) << i;
  }
}

TEST_P(Hazards, F2_ExtremesOfHalfTypes) {
  EXPECT_EQ(check(max(cast(row({-5, -3}), DType::f16)), DType::f16, {}, {-3}), "");
  EXPECT_EQ(check(max(cast(row({-5, -3}), DType::bf16)), DType::bf16, {}, {-3}), "");
  EXPECT_EQ(check(cast(row({65504, 65519, 65520, -1e9f, 5.9604645e-8f, 2.9802322e-8f}), DType::f16), DType::f16, {6},
                  {65504, 65504, inf, -inf, 5.9604644775390625e-8, 0}), "");
  EXPECT_EQ(check(cast(row({3.3895314e38f, 3.4e38f}), DType::bf16), DType::bf16, {2}, {3.3895313892515355e38, inf}), "");
  // Sums of halves accumulate in f32: 4096 ones would stop at 2048 in f16 (256 in bf16).
  EXPECT_EQ(check(sum(ones({4096}, DType::f16, d)), DType::f16, {}, {4096}), "");
  EXPECT_EQ(check(sum(ones({4096}, DType::bf16, d)), DType::bf16, {}, {4096}), "");
}

Tensor rope_at(double position, const Tensor& x, RopePairing pairing, const Device& d) {
  Floats cos, sin;
  for (int64_t j = 0, n = x.dim(-1) / 2; j < n; ++j) {
    const double angle = position * std::pow(1e4, -double(j) / double(n));
    cos.push_back(float(std::cos(angle)));
    sin.push_back(float(std::sin(angle)));
  }
  const Shape table{1, x.dim(-1) / 2};
  return rope(x, Tensor::from<float>(cos, table, d), Tensor::from<float>(sin, table, d), pairing);
}

TEST_P(Hazards, K3_PositionsAreNotRoundedToTheDtype) {
  for (DType t : {DType::f32, DType::bf16, DType::f16}) {
    const double unit = t == DType::f32 ? 1e-6 : t == DType::f16 ? 5e-4 : 4e-3;
    const Tensor x = cast(f32({1, 0}, {1, 2}), t);
    EXPECT_EQ(check(rope_at(257, x, RopePairing::half, d), t, {1, 2}, {.8193055, -.5733572}, unit), "") << to_string(t);
    EXPECT_EQ(check(rope_at(131071, x, RopePairing::half, d), t, {1, 2}, {-.8179835, std::sin(131071.0)}, unit), "");
    EXPECT_EQ(check(rope_at(15962, x, RopePairing::half, d), t, {1, 2}, {-.9080159, std::sin(15962.0)}, unit), "");
  }
}

TEST_P(Hazards, K4_PairingOfRope) {
  const Tensor x = f32({1, 2, 3, 4}, {1, 4});
  EXPECT_EQ(check(rope_at(1, x, RopePairing::half, d), {1, 4}, {-1.984111, 1.959901, 2.462378, 4.019800}, 2e-6), "");
  EXPECT_EQ(check(rope_at(1, x, RopePairing::interleaved, d), {1, 4}, {-1.142640, 1.922076, 2.959851, 4.029800}, 2e-6), "");
}

TEST_P(Hazards, K5_QueryHeadsReadTheirKeyHead) {
  const Tensor q = ones({1, 14, 3, 8}, DType::f32, d), k = ones({1, 2, 5, 8}, DType::f32, d);
  const Tensor v = broadcast_to(f32({0, 1}, {1, 2, 1, 1}), {1, 2, 5, 8});
  std::vector<double> want;
  for (int h = 0; h < 14; ++h) want.insert(want.end(), 24, h < 7 ? 0 : 1);
  EXPECT_EQ(check(attention(q, k, v), {1, 14, 3, 8}, want), "");
  EXPECT_THROW(attention(ones({1, 3, 1, 8}, DType::f32, d), k, v), Error);
}

TEST_P(Hazards, K7_EveryHeadSizeAndLength) {
  AttentionOptions causal;
  causal.causal = true;
  for (int64_t D : {40, 64, 80, 96, 112, 128, 160, 256, 7}) {
    for (int64_t T : {1, 31, 33, 63, 65, 127, 129}) {
      if (T > 65 && D > 128 && GetParam()[0] == 'h') continue;  // the reference device is slow
      const Tensor q = ones({1, 1, T, D}, DType::f32, d), k = zeros({1, 1, T, D}, DType::f32, d);
      const Tensor v = broadcast_to(reshape(arange(0, double(T), 1, DType::f32, d), {1, 1, T, 1}), {1, 1, T, D});
      std::vector<double> want;
      for (int64_t i = 0; i < T; ++i) want.insert(want.end(), size_t(D), double(i) / 2);
      EXPECT_EQ(check(attention(q, k, v, causal), {1, 1, T, D}, want, 1e-4), "") << D << " " << T;
    }
  }
}

TEST_P(Hazards, K7_FewerQueriesThanKeys) {
  AttentionOptions causal;
  causal.causal = true;
  for (int64_t S : {33, 129, 1000}) {
    const int64_t T = 2, D = 40;  // queries S-2 and S-1
    const Tensor q = ones({1, 1, T, D}, DType::f32, d), k = zeros({1, 1, S, D}, DType::f32, d);
    const Tensor v = broadcast_to(reshape(arange(0, double(S), 1, DType::f32, d), {1, 1, S, 1}), {1, 1, S, D});
    std::vector<double> want(size_t(D), double(S - 2) / 2);
    want.insert(want.end(), size_t(D), double(S - 1) / 2);
    EXPECT_EQ(check(attention(q, k, v, causal), {1, 1, T, D}, want, 2e-3), "") << S;
  }
}

TEST_P(Hazards, C2_OperandsThatStartAtOddBytes) {
  std::vector<double> want;
  for (int i = 1; i < 1025; ++i) want.push_back(i % 128);
  Tensor n = reshape(arange(0, 1025, 1, DType::f32, d), {1025});
  n = n - 128.0 * cast(cast(n * (1.0 / 128), DType::i32), DType::f32);
  const Tensor all = cast(n, DType::bf16);
  eval(all);
  const Tensor x = slice(all, 0, 1, {});
  EXPECT_EQ(check(relu(x), DType::bf16, {1024}, want), "");
  EXPECT_EQ(check(concat({x}), DType::bf16, {1024}, want), "");
  for (double& w : want) w *= 2;
  EXPECT_EQ(check(x + x, DType::bf16, {1024}, want), "");
  EXPECT_EQ(check(matmul(reshape(x, {8, 128}), ones({128, 1}, DType::bf16, d)), DType::bf16, {8, 1},
                  std::vector<double>(8, 8128)), "");
  const Tensor h = slice(cast(f32({0, 1, 2}, {1, 3}), DType::f16), 1, 1, 3);
  EXPECT_EQ(check(h * 2.0, DType::f16, {1, 2}, {2, 4}), "");
}

TEST_P(Hazards, W5_OneBufferReadAndWritten) {
  const Tensor x = row({1, 2, 3, 4});
  eval(x);
  EXPECT_EQ(check(concat({x, x}), {8}, {1, 2, 3, 4, 1, 2, 3, 4}), "");
  EXPECT_EQ(check(x * x, {4}, {1, 4, 9, 16}), "");
  State s(x);
  s.apply([&](Tensor v) { return v * v; });
  EXPECT_EQ(check(s.value(), {4}, {1, 4, 9, 16}), "");
  s.apply([&](Tensor v) { return update(v, slice(v, 0, 0, 2) + slice(v, 0, 2, 4), Scalar(uint32_t(0), d), 0); });
  EXPECT_EQ(check(s.value(), {4}, {10, 20, 9, 16}), "");
  s.apply([&](Tensor v) { return update(v, slice(v, 0, 0, 3), Scalar(uint32_t(1), d), 0); });  // source and target overlap
  EXPECT_EQ(check(s.value(), {4}, {10, 10, 20, 9}), "");
  s.apply([&](Tensor v) { return update(v, flip(v, 0), Scalar(uint32_t(0), d), 0); });
  EXPECT_EQ(check(s.value(), {4}, {9, 20, 10, 10}), "");
}

}  // namespace
}  // namespace tenon::testing
