// random_bits and sample as ops: known answers, bits that depend on nothing but (seed, stream, index), and the rules of
// sampling (hazards R1, R3, A1, A2).
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "ops/reference.h"
#include "support/lowering.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
using Words = std::vector<uint32_t>;

// "cpu_composed" samples by sorting.
class RandomOps : public ::testing::TestWithParam<const char*> {
 protected:
  const bool composed = std::string(GetParam()) == "cpu_composed";
  const modes::InLowerMode mode{composed ? modes::LowerMode::composed : modes::LowerMode::tuned};
  Device d = Device::open(composed ? "cpu" : GetParam());

  int32_t draw(std::vector<float> logits, const std::function<void(SampleSettings&)>& set) {
    SampleSettings s(d);
    set(s);
    const Shape shape{1, int64_t(logits.size())};
    return sample(Tensor::from<float>(logits, shape, d), s).to_vector<int32_t>()[0];
  }
  // How often each token comes over many positions.
  std::map<int32_t, int> draws(const std::vector<float>& logits, int n, const std::function<void(SampleSettings&)>& set) {
    SampleSettings s(d);
    s.temperature.set(1.0f);
    set(s);
    const Tensor x = Tensor::from<float>(logits, {1, int64_t(logits.size())}, d);
    std::map<int32_t, int> seen;
    for (int i = 0; i < n; ++i) {
      s.position.set(uint32_t(i));
      ++seen[sample(x, s).to_vector<int32_t>()[0]];
    }
    return seen;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, RandomOps, ::testing::Values("host", "cpu", "cpu_composed"), [](const auto& p) { return std::string(p.param); });

TEST_P(RandomOps, R1_KnownAnswers) {
  // Counter 0, key 0: the first vector of the reference implementation's known answers.
  EXPECT_EQ(random_bits({4}, 0, 0, d).to_vector<uint32_t>(), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  // The reference of these tests against the vector with all bits set, which no element index reaches.
  const std::array<uint32_t, 4> all{~0u, ~0u, ~0u, ~0u};
  EXPECT_EQ(ref::philox(all, {~0u, ~0u}), (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST_P(RandomOps, R1_APrefixDoesNotDependOnTheLength) {
  Words longer = random_bits({40961}, 7, 1, d).to_vector<uint32_t>();
  longer.pop_back();
  EXPECT_EQ(longer, random_bits({40960}, 7, 1, d).to_vector<uint32_t>());
  EXPECT_EQ(longer, reshape(random_bits({64, 640}, 7, 1, d), {40960}).to_vector<uint32_t>());
}

TEST_P(RandomOps, R1_ViewsReadTheSameWords) {
  const Words all = random_bits({6, 5}, 11, 0, d).to_vector<uint32_t>();
  Words columns, reversed;
  for (size_t c = 0; c < 5; ++c)
    for (size_t r = 0; r < 6; ++r) columns.push_back(all[r * 5 + c]);
  for (size_t r = 6; r-- > 0;)
    for (size_t c = 0; c < 5; c += 2) reversed.push_back(all[r * 5 + c]);
  EXPECT_EQ(concat({transpose(random_bits({6, 5}, 11, 0, d))}).to_vector<uint32_t>(), columns);
  EXPECT_EQ((slice(flip(random_bits({6, 5}, 11, 0, d), 0), 1, {}, {}, 2) + 0).to_vector<uint32_t>(), reversed);
}

TEST_P(RandomOps, R1_SeedAndStreamMatterAndMakeNoPlan) {
  const Words a = random_bits({100}, 1, 0, d).to_vector<uint32_t>();
  const int64_t plans = d.counters().plans;
  EXPECT_NE(a, random_bits({100}, 2, 0, d).to_vector<uint32_t>());
  EXPECT_NE(a, random_bits({100}, 1, 1, d).to_vector<uint32_t>());
  EXPECT_NE(a, random_bits({100}, uint64_t(1) << 32 | 1, 0, d).to_vector<uint32_t>());
  EXPECT_EQ(a, random_bits({100}, 1, 0, d).to_vector<uint32_t>());
  EXPECT_EQ(d.counters().plans, plans);
}

TEST(RandomOps, R1_EqualOnEveryDeviceAndThreadCount) {
  const Words host = random_bits({70001}, 5, 9, Device::open("host")).to_vector<uint32_t>();
  for (int threads : {1, 2, 7}) EXPECT_EQ(host, random_bits({70001}, 5, 9, Device::open("cpu", threads)).to_vector<uint32_t>());
}

TEST_P(RandomOps, R3_UniformsStayBelowOneAndAboveZero) {
  const Words edge{0, 0xffffffffu};
  const Tensor bits = Tensor::from<uint32_t>(edge, {2}, d);
  const Tensor eight = full({}, 8, DType::u32, d), nine = full({}, 9, DType::u32, d);
  const std::vector<float> uniform = (cast(bitwise_right_shift(bits, eight), DType::f32) * 0x1p-24).to_vector<float>();
  EXPECT_EQ(uniform, (std::vector<float>{0, 0.99999994f}));
  const Tensor open = (cast(bitwise_right_shift(bits, nine), DType::f32) + 0.5) * 0x1p-23;
  EXPECT_EQ(open.to_vector<float>(), (std::vector<float>{0x1p-24f, 1 - 0x1p-24f}));
  const std::vector<float> noise = (-log(-log(open))).to_vector<float>();
  EXPECT_NEAR(noise[0], -2.8115, 1e-4);
  EXPECT_NEAR(noise[1], 16.6355, 1e-4);
}

TEST_P(RandomOps, R3_MaskedTokensAreNeverChosen) {
  const auto seen = draws({-inf, 0, -inf, 1, -inf}, 500, [](SampleSettings&) {});
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen.contains(1) && seen.contains(3));
}

TEST_P(RandomOps, A1_TemperatureZeroAndTopK) {
  for (float t : {0.0f, 1e-45f}) EXPECT_EQ(draw({1, 3, 3, 2}, [&](SampleSettings& s) { s.temperature.set(t); }), 1) << t;
  EXPECT_EQ(draws({1, 3, 3, 2}, 100, [](SampleSettings& s) { s.top_k.set(uint32_t(1)); }), (std::map<int32_t, int>{{1, 100}}));
  const auto off = draws({1, 2, 2.5f, 2}, 300, [](SampleSettings&) {});
  EXPECT_EQ(off.size(), 4u);
  EXPECT_EQ(draws({1, 2, 2.5f, 2}, 300, [](SampleSettings& s) { s.top_k.set(uint32_t(0)); }), off);
  EXPECT_EQ(draws({1, 2, 2.5f, 2}, 300, [](SampleSettings& s) { s.top_k.set(uint32_t(1000000)); }), off);
}

TEST_P(RandomOps, A2_TopPKeepsTheTokenThatCrosses) {
  const std::vector<float> logits{std::log(.5f), std::log(.25f), std::log(.125f), std::log(.125f)};
  auto kept = [&](float p) {
    std::vector<int32_t> tokens;
    for (const auto& [token, n] : draws(logits, 400, [&](SampleSettings& s) { s.top_p.set(p); })) tokens.push_back(token);
    return tokens;
  };
  using T = std::vector<int32_t>;
  EXPECT_EQ(kept(.49f), (T{0}));
  EXPECT_EQ(kept(.51f), (T{0, 1}));
  EXPECT_EQ(kept(.74f), (T{0, 1}));
  EXPECT_EQ(kept(.76f), (T{0, 1, 2}));
  EXPECT_EQ(kept(1.0f), (T{0, 1, 2, 3}));
}

TEST_P(RandomOps, A2_MinPIsRelativeToTheBest) {
  const std::vector<float> logits{std::log(.5f), std::log(.3f), std::log(.15f), std::log(.05f)};
  const auto seen = draws(logits, 400, [](SampleSettings& s) { s.min_p.set(0.25f); });
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_FALSE(seen.contains(3));
}

TEST_P(RandomOps, SamplesFollowTheDistribution) {
  const auto seen = draws({std::log(.6f), std::log(.3f), std::log(.1f)}, 3000, [](SampleSettings&) {});
  EXPECT_NEAR(seen.at(0), 1800, 120);  // about four standard deviations
  EXPECT_NEAR(seen.at(1), 900, 110);
  EXPECT_NEAR(seen.at(2), 300, 70);
}

// The kernel's token for logits of all kinds and every setting, by the composition.
TEST(SampleComposition, DrawsTheKernelsTokens) {
  const Device d = Device::open("cpu", 1);
  const float nan_ = std::nanf("");
  const std::vector<std::vector<float>> special{{1, 3, 3, 2}, {-1, -3, -3, -2}, {nan_, 3, nan_, 4}, {nan_, nan_, nan_, nan_}, {nan_, -inf, -inf, -inf},
                                                {0, inf, inf, 1}, {-inf, 0, nan_, -1}, {0, 0, 0, 0}, {1, -inf, -inf, -inf}, {5, 5, 4, nan_}};
  std::vector<float> few, many;
  for (const auto& row : special) few.insert(few.end(), row.begin(), row.end());
  for (int i = 0; i < 3 * 1500; ++i) many.push_back(float((i * 7919) % 641) * 0.01f);  // with ties
  const Tensor x = Tensor::from<float>(few, {int64_t(special.size()), 4}, d), y = Tensor::from<float>(many, {3, 1500}, d);
  SampleSettings s(d);
  s.seed_low.set(uint32_t(12345));
  s.seed_high.set(uint32_t(3));
  int compared = 0;
  for (float temperature : {0.0f, 1e-7f, 0.7f, 5.0f, nan_})
    for (uint32_t k : {0u, 1u, 2u, 3u, 40u, 4000u})
      for (float p : {0.0f, 0.3f, 0.9f, 1.0f})
        for (float least : {0.0f, 0.2f, 2.0f}) {
          s.temperature.set(temperature), s.top_k.set(k), s.top_p.set(p), s.min_p.set(least);
          s.position.set(uint32_t(compared++));
          const bool large = compared % 24 == 0;
          const Tensor& logits = large ? y : x;
          const std::vector<int32_t> want = sample(logits, s).to_vector<int32_t>();
          const modes::InLowerMode mode(modes::LowerMode::composed);
          d.reset_census();
          EXPECT_EQ(sample(logits, s).to_vector<int32_t>(), want) << temperature << " " << k << " " << p << " " << least;
          EXPECT_EQ(modes::foreign_kernels(d, modes::LowerMode::composed), "");
        }
}

TEST_P(RandomOps, SettingsMakeNoPlan) {
  const Tensor x = Tensor::from<float>({1, 2, 3}, {1, 3}, d);
  SampleSettings s(d);
  sample(x, s).to_vector<int32_t>();
  const int64_t plans = d.counters().plans;
  s.temperature.set(0.5f);
  s.top_k.set(uint32_t(2));
  s.position.set(uint32_t(17));
  sample(x, s).to_vector<int32_t>();
  EXPECT_EQ(d.counters().plans, plans);
}

}  // namespace
}  // namespace tenon::testing
