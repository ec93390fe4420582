// Siblings of the faults in hazards_test.cpp: the same kind at another place. The numbers are derived by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/hazard_fixture.h"
#include "runtime/device_context.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

class HazardSiblings : public HazardFixture {};
INSTANTIATE_TEST_SUITE_P(Devices, HazardSiblings, hazard_devices, [](const auto& p) { return std::string(p.param); });

TEST_P(HazardSiblings, S1_MasksThatHideARow) {
  const Tensor one = ones({1, 1, 2, 4}, DType::f32, d), v = f32({1, 1, 1, 1, 3, 3, 3, 3}, {1, 1, 2, 4});
  AttentionOptions hidden, hardly, additive;
  hidden.mask = Tensor::from<bool>({false, false, true, true}, {2, 2}, d);
  EXPECT_EQ(check(attention(one, one, v, hidden), {1, 1, 2, 4}, {0, 0, 0, 0, 2, 2, 2, 2}), "");
  hardly.bias = f32({-3.4e38f, -3.4e38f, 0, 0}, {2, 2});  // all keys equally far away: their mean
  EXPECT_EQ(check(attention(one, one, v, hardly), {1, 1, 2, 4}, std::vector<double>(8, 2)), "");
  additive.bias = f32({-inf, -inf, -inf, 0}, {2, 2});
  EXPECT_EQ(check(attention(one, one, v, additive), {1, 1, 2, 4}, {0, 0, 0, 0, 3, 3, 3, 3}), "");
  // Softmax over an axis that is not the last, and of a row of one.
  EXPECT_EQ(check(softmax(f32({-inf, 1, -inf, 1}, {2, 2}), 0), {2, 2}, {0, .5, 0, .5}), "");
  EXPECT_EQ(check(softmax(f32({-inf, 5}, {2, 1})), {2, 1}, {0, 1}), "");
}

TEST_P(HazardSiblings, S3_InfinitiesInLogSums) {
  EXPECT_EQ(check(logsumexp(row({inf, 1})), {}, {inf}), "");
  EXPECT_EQ(check(logsumexp(row({-inf, inf})), {}, {inf}), "");
  EXPECT_EQ(check(logsumexp(row({nan_, 1})), {}, {nan_}), "");
  EXPECT_EQ(check(logaddexp(row({-inf, inf, nan_, -inf, 1000}), row({-inf, -inf, 1, 2, 1000})), {5}, {-inf, inf, nan_, 2, 1000.6931472}, 1e-4), "");
  EXPECT_EQ(check(log_softmax(row({1000, 1000, -1000})), {3}, {-.6931472, -.6931472, -2000.6931}, 2e-4), "");
}

TEST_P(HazardSiblings, S4_SumsOfHalvesAreKeptInF32) {
  EXPECT_EQ(check(mean(full({4096}, 60000, DType::f16, d)), DType::f16, {}, {60000}), "");
  EXPECT_EQ(check(softmax(full({1, 2}, 65504, DType::f16, d)), DType::f16, {1, 2}, {.5, .5}), "");
  EXPECT_EQ(check(rms_norm(full({1, 64}, 30000, DType::f16, d), ones({64}, DType::f16, d)), DType::f16, {1, 64}, std::vector<double>(64, 1)), "");
  EXPECT_EQ(check(vector_norm(full({64}, 4000, DType::f16, d)), DType::f16, {}, {32000}), "");
  EXPECT_EQ(check(var(full({1024}, 60000, DType::f16, d)), DType::f16, {}, {0}), "");
  // A product whose terms pass the range of f16 while its sum does not.
  const Tensor a = cast(f32({300, 300}, {1, 2}), DType::f16), b = cast(f32({300, -300}, {2, 1}), DType::f16);
  EXPECT_EQ(check(matmul(a, b), DType::f16, {1, 1}, {0}), "");
}

TEST_P(HazardSiblings, E1_NanWinsEverywhere) {
  EXPECT_EQ(argmin(row({nan_, nan_})).item<int32_t>(), 0);
  EXPECT_EQ(argmin(row({1, nan_, -3})).item<int32_t>(), 1);
  EXPECT_EQ(argmin(row({2, 0, 3, 0})).item<int32_t>(), 1);
  EXPECT_EQ(argmin(full({5}, 2147483647.0, DType::i32, d)).item<int32_t>(), 0);
  EXPECT_EQ(argmin(row({inf, inf})).item<int32_t>(), 0);
  EXPECT_EQ(check(min(row({1, nan_, 3})), {}, {nan_}), "");
  EXPECT_EQ(check(minimum(row({nan_, 1}), row({1, nan_})), {2}, {nan_, nan_}), "");
  EXPECT_EQ(check(logaddexp(row({nan_}), row({1})), {1}, {nan_}), "");
  EXPECT_EQ(check(clip(row({nan_}), 0, 1), {1}, {nan_}), "");
  EXPECT_EQ(check(relu(row({nan_, -1})), {2}, {nan_, 0}), "");
  EXPECT_EQ(check(max(f32({1, nan_, 2, 3}, {2, 2}), {0}), {2}, {2, nan_}), "");
  EXPECT_EQ(argmax(f32({1, 5, 5, 1}, {2, 2}), 0).to_vector<int32_t>(), (std::vector<int32_t>{1, 0}));
  // Along a long row, in every position of a vector.
  for (int64_t at : {0, 1, 15, 16, 17, 1022, 1023, 1024, 1500}) {
    Floats long_row(1501, 2);
    long_row[size_t(at)] = nan_;
    const Tensor x = Tensor::from<float>(long_row, {1501}, d);
    EXPECT_EQ(argmax(x).item<int32_t>(), at);
    EXPECT_EQ(argmin(x).item<int32_t>(), at);
    EXPECT_EQ(check(max(x), {}, {nan_}), "") << at;
  }
}

TEST_P(HazardSiblings, F2_InfinitiesBecomeTheLargestValues) {
  const Tensor x = row({nan_, inf, -inf, 1.5f});
  EXPECT_EQ(check(nan_to_num(cast(x, DType::f16)), DType::f16, {4}, {0, 65504, -65504, 1.5}), "");
  EXPECT_EQ(check(nan_to_num(cast(x, DType::bf16)), DType::bf16, {4}, {0, 3.3895313892515355e38, -3.3895313892515355e38, 1.5}), "");
  EXPECT_EQ(check(nan_to_num(x), {4}, {0, 3.4028234663852886e38, -3.4028234663852886e38, 1.5}), "");
  EXPECT_EQ(check(min(cast(row({5, 3}), DType::f16)), DType::f16, {}, {3}), "");
  EXPECT_EQ(check(max(cast(full({3}, -inf, DType::f32, d), DType::bf16)), DType::bf16, {}, {-inf}), "");
}

TEST_P(HazardSiblings, D4_ReversedOperands) {
  const Tensor a = f32({1, 2, 3, 4, 5, 6}, {2, 3}), b = f32({1, 0, 0, 1, 1, 1}, {3, 2});
  // Rows and columns backwards: [[6,5,4],[3,2,1]] @ [[1,0],[0,1],[1,1]].
  EXPECT_EQ(check(matmul(flip(flip(a, 0), 1), b), {2, 2}, {10, 9, 4, 3}), "");
  EXPECT_EQ(check(matmul(a, flip(b, 0)), {2, 2}, {4, 3, 10, 9}), "");
  EXPECT_EQ(check(softmax(flip(row({0, -inf}), 0)), {2}, {0, 1}), "");
  EXPECT_EQ(check(sum(flip(a, 1) * a, {1}), {2}, {10, 73}), "");
  EXPECT_EQ(argmax(flip(a, 1), 1).to_vector<int32_t>(), (std::vector<int32_t>{0, 0}));
  EXPECT_EQ(check(take(flip(a, 0), Tensor::from<int32_t>({0}, {1}, d), 0), {1, 3}, {4, 5, 6}), "");
  EXPECT_EQ(check(concat({flip(row({1, 2}), 0), row({3})}), {3}, {2, 1, 3}), "");
  State s(flip(row({1, 2, 3}), 0));
  s.apply([&](const Tensor& v) { return update(v, flip(row({8, 9}), 0), Scalar(uint32_t(1), d), 0); });
  EXPECT_EQ(check(s.value(), {3}, {3, 9, 8}), "");
}

TEST_P(HazardSiblings, D2_BroadcastStatesAreDense) {
  State s(broadcast_to(row({2}), {3}));
  s.apply([&](const Tensor& v) { return update(v, row({7}), Scalar(uint32_t(1), d), 0); });
  EXPECT_EQ(check(s.value(), {3}, {2, 7, 2}), "");
}

// A block goes back when its tensor dies, while the device may still read it: what is written there next must wait.
TEST_P(HazardSiblings, B1_BlocksAreNotUsedAgainTooEarly) {
  const Device own = Device::open(modes::device_of(GetParam()), 2);
  const int64_t n = 1 << 14;
  for (int i = 0; i < 200; ++i) {
    Tensor a = full({n}, i, DType::i32, own) + 0;
    eval(a);
    const Tensor copy = concat({a, a});
    eval(copy);
    a = Tensor();
    if (i % 3 == 0) {
      RecursiveLock lock(own.context()->mutex());
      own.context()->pool().trim();
    }
    const Tensor b = full({n}, -1, DType::i32, own) + 0;
    eval(b);
    const std::vector<int32_t> got = copy.to_vector<int32_t>();
    ASSERT_EQ(got, std::vector<int32_t>(size_t(2 * n), i));
  }
}

}  // namespace
}  // namespace tenon::testing
