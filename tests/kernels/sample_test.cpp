// The sample kernel against a plain statement of its rules in double precision.
#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>

#include "kernels/anchor_case.h"

namespace tenon {
namespace {

const float inf = std::numeric_limits<float>::infinity(), nan_value = std::numeric_limits<float>::quiet_NaN();

struct Options {
  float temperature = 1;
  uint32_t top_k = 0;
  float top_p = 1, min_p = 0;
  uint64_t seed = 1;
  uint32_t position = 0;
};

std::vector<uint32_t> sample_rows(const std::vector<float>& logits, int64_t n, const Options& o,
                                  const char* target = "cpu") {
  AnchorCase c;
  c.desc.family = "sample";
  c.add_input(DType::f32, reinterpret_cast<const std::byte*>(logits.data()));
  Operand out;
  out.access = Access::out;
  out.dtype = DType::u32;
  c.desc.operands.push_back(out);
  c.desc.anchor_operands = 1;
  c.out_elements = n;
  c.params.sample = SampleParams{n, int64_t(logits.size()) / n, 0, 1, 2, 3, 4, 5, 6};
  c.scalars = {std::bit_cast<uint32_t>(o.temperature), o.top_k, std::bit_cast<uint32_t>(o.top_p),
               std::bit_cast<uint32_t>(o.min_p), uint32_t(o.seed), uint32_t(o.seed >> 32), o.position};
  const NativeKernel* kernel = find_native_kernel(target, c.desc);
  EXPECT_NE(kernel, nullptr);
  const auto bits = run_case(*kernel, c);
  std::vector<uint32_t> tokens(bits.size());
  std::memcpy(tokens.data(), bits.data(), bits.size() * 4);
  return tokens;
}
uint32_t sample_one(const std::vector<float>& logits, const Options& o) { return sample_rows(logits, 1, o)[0]; }

// All tokens that come up, drawn at many positions.
std::map<uint32_t, int> drawn(const std::vector<float>& logits, Options o, uint32_t draws) {
  std::map<uint32_t, int> count;
  for (o.position = 0; o.position < draws; o.position++) count[sample_one(logits, o)]++;
  return count;
}
std::vector<uint32_t> support(const std::vector<float>& logits, const Options& o, uint32_t draws = 400) {
  std::vector<uint32_t> tokens;
  for (const auto& [token, n] : drawn(logits, o, draws)) tokens.push_back(token);
  return tokens;
}

using Tokens = std::vector<uint32_t>;

uint32_t philox_word(uint64_t element, uint64_t seed, uint32_t stream) {
  uint64_t c0 = uint32_t(element / 4), c1 = (element / 4) >> 32, c2 = stream, c3 = 0;
  uint64_t k0 = uint32_t(seed), k1 = seed >> 32;
  for (int i = 0; i < 10; i++) {
    const uint64_t p0 = 0xd2511f53ull * c0, p1 = 0xcd9e8d57ull * c2;
    c0 = (p1 >> 32) ^ c1 ^ k0, c1 = p1 & 0xffffffff, c2 = (p0 >> 32) ^ c3 ^ k1, c3 = p0 & 0xffffffff;
    k0 = (k0 + 0x9e3779b9) & 0xffffffff, k1 = (k1 + 0xbb67ae85) & 0xffffffff;
  }
  const uint64_t words[] = {c0, c1, c2, c3};
  return uint32_t(words[element % 4]);
}

TEST(SampleKernel, PhiloxKnownAnswer) {  // hazard R1
  EXPECT_EQ(philox_word(0, 0, 0), 0x6627e8d5u);
  EXPECT_EQ(philox_word(3, 0, 0), 0x9b00dbd8u);
}

TEST(SampleKernel, LowTemperatureTakesTheFirstLargest) {  // hazard A1
  for (float t : {0.0f, 1e-45f, 1e-7f, -1.0f, nan_value})
    EXPECT_EQ(sample_one({1, 3, 3, 2}, {.temperature = t}), 1u) << t;
  EXPECT_EQ(sample_one({-1, -3, -3, -2}, {.temperature = 1e-45f}), 0u);
  EXPECT_EQ(sample_one({1, 3, 3, 2}, {.temperature = 5, .top_k = 1}), 1u);
  EXPECT_EQ(sample_one({nan_value, 3, nan_value, 4}, {.temperature = 0}), 3u);
  EXPECT_EQ(sample_one({nan_value, nan_value}, {.temperature = 0}), 0u);
  EXPECT_EQ(sample_one({nan_value, -inf, -inf}, {.temperature = 1}), 1u);
  EXPECT_EQ(sample_one({0, inf, inf}, {.temperature = 1}), 1u);
}

TEST(SampleKernel, TopKOffAndOn) {  // hazard A1
  const std::vector<float> logits{0, 0.1f, 0.2f, 0.1f};
  for (uint32_t off : {0u, 4u, 1000000u}) EXPECT_EQ(support(logits, {.top_k = off}), (Tokens{0, 1, 2, 3}));
  EXPECT_EQ(support(logits, {.top_k = 2}), (Tokens{1, 2}));  // of the equals the lower index
  EXPECT_EQ(support(logits, {.top_k = 3}), (Tokens{1, 2, 3}));
}

TEST(SampleKernel, TopPKeepsTheShortestPrefix) {  // hazard A2
  const float ln2 = 0.693147180559945f;
  const std::vector<float> logits{0, -ln2, -2 * ln2, -2 * ln2};  // probabilities 1/2, 1/4, 1/8, 1/8
  for (uint32_t k : {0u, 100u}) {
    EXPECT_EQ(support(logits, {.top_k = k, .top_p = 0.5f}), (Tokens{0}));
    EXPECT_EQ(support(logits, {.top_k = k, .top_p = 0.51f}), (Tokens{0, 1}));
    EXPECT_EQ(support(logits, {.top_k = k, .top_p = 0.75f}), (Tokens{0, 1}));
    EXPECT_EQ(support(logits, {.top_k = k, .top_p = 0.76f}), (Tokens{0, 1, 2}));
    EXPECT_EQ(support(logits, {.top_k = k, .top_p = 1.0f}), (Tokens{0, 1, 2, 3}));
    EXPECT_EQ(support(logits, {.top_k = k, .top_p = 0.0f}), (Tokens{0}));
  }
  // Over the three that top_k keeps, the probabilities are 4/7, 2/7, 1/7.
  EXPECT_EQ(support(logits, {.top_k = 3, .top_p = 0.56f}), (Tokens{0}));
  EXPECT_EQ(support(logits, {.top_k = 3, .top_p = 0.86f}), (Tokens{0, 1, 2}));
}

TEST(SampleKernel, MinP) {
  const float ln2 = 0.693147180559945f;
  const std::vector<float> logits{-2 * ln2, 0, -ln2};
  EXPECT_EQ(support(logits, {.min_p = 0.26f}), (Tokens{1, 2}));
  EXPECT_EQ(support(logits, {.min_p = 0.2f}), (Tokens{0, 1, 2}));
  EXPECT_EQ(support(logits, {.min_p = 2.0f}), (Tokens{1}));
  EXPECT_EQ(support(logits, {.top_k = 2, .min_p = 0.6f}), (Tokens{1}));
}

TEST(SampleKernel, MaskedAndNanAreNeverDrawn) {  // hazard R3
  const std::vector<float> logits{-inf, 0, nan_value, -1, -inf};
  for (const Options& o : {Options{}, Options{.temperature = 1e6f}, Options{.top_k = 4}, Options{.top_p = 0.999f},
                           Options{.min_p = 1e-9f}})
    EXPECT_EQ(support(logits, o), (Tokens{1, 3}));
}

TEST(SampleKernel, FollowsTheSoftmax) {
  const std::vector<float> logits{1, 0, 2, -1};
  const uint32_t draws = 20000;
  for (float t : {0.7f, 1.0f, 2.0f}) {
    double total = 0;
    for (float l : logits) total += std::exp(double(l / t));
    const auto count = drawn(logits, {.temperature = t, .seed = 99}, draws);
    for (uint32_t i = 0; i < 4; i++) {
      const double p = std::exp(double(logits[i] / t)) / total;
      EXPECT_NEAR(count.at(i) / double(draws), p, 5 * std::sqrt(p * (1 - p) / draws));
    }
  }
}

// The token drawn is the best under the documented noise, also where most tokens are skipped.
TEST(SampleKernel, IsGumbelMaxOverTheDocumentedWords) {
  const int64_t n = 3, v = 5000;
  std::mt19937 rng(7);
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> logits(static_cast<size_t>(n * v));
  for (float& f : logits) f = normal(rng);
  for (uint32_t position = 0; position < 20; position++) {
    const Options o{.temperature = 0.8f, .seed = 0x123456789abcull, .position = position};
    const auto tokens = sample_rows(logits, n, o);
    EXPECT_EQ(tokens, sample_rows(logits, n, o, "host"));
    for (int64_t r = 0; r < n; r++) {
      std::vector<double> score(static_cast<size_t>(v));
      for (int64_t i = 0; i < v; i++) {
        const double u = (double(philox_word(uint64_t(r * v + i), o.seed, position) >> 9) + 0.5) * 0x1p-23;
        score[size_t(i)] = double(logits[size_t(r * v + i)]) / double(o.temperature) - std::log(-std::log(u));
      }
      EXPECT_GE(score[tokens[size_t(r)]], *std::max_element(score.begin(), score.end()) - 1e-4);
    }
  }
}

// top_k and top_p on a large row, against a full sort.
TEST(SampleKernel, LargeRowsKeepWhatASortKeeps) {
  const int64_t v = 30000;
  std::mt19937 rng(8);
  std::vector<float> logits(static_cast<size_t>(v));
  for (float& f : logits) f = float(rng() % 2000) * 0.004f;  // many ties
  std::vector<uint32_t> order(static_cast<size_t>(v));
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return logits[a] > logits[b] || (logits[a] == logits[b] && a < b); });
  std::vector<size_t> rank(order.size());
  for (size_t i = 0; i < order.size(); i++) rank[order[i]] = i;
  double total = 0, sum = 0;
  for (float f : logits) total += std::exp(double(f));
  size_t prefix = 0;
  while (sum < 0.3 * total) sum += std::exp(double(logits[order[prefix++]]));
  size_t last_k = 0, last_p = 0;
  for (uint32_t position = 0; position < 300; position++) {
    last_k = std::max(last_k, rank[sample_one(logits, {.temperature = 50, .top_k = 20, .position = position})]);
    last_p = std::max(last_p, rank[sample_one(logits, {.top_p = 0.3f, .position = position})]);
  }
  EXPECT_EQ(last_k, 19u);
  EXPECT_LE(last_p, prefix);
  EXPECT_GE(last_p, prefix * 9 / 10);
}

}  // namespace
}  // namespace tenon
