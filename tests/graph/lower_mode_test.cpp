// TENON_LOWER: its words, what runs in each mode by the census, and that the modes agree.
#include "support/lowering.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/cat.h"
#include "core/shape.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using namespace modes;

Tensor numbers(Shape shape, const Device& d) {
  std::vector<float> v(size_t(element_count(shape)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = float(int(i * 37 % 101) - 50) / 40;
  return Tensor::from<float>(v, std::move(shape), d);
}

// A matmul, a quantised matmul, attention, a row and a map.
std::vector<float> everything(const Device& d) {
  std::vector<std::byte> blocks(size_t(8 * 64 / 32 * block_bytes(DType::q8_0)), std::byte{3});
  const Tensor weight = Tensor::from_bytes(blocks, DType::q8_0, {8, 64}, d);
  const Tensor x = numbers({6, 64}, d);
  const Tensor product = linear(x, weight) * 0.01;
  const Tensor mixed = matmul(product, numbers({8, 8}, d));
  const Tensor heads = reshape(mixed, {1, 2, 3, 8});
  Tensor seen = attention(heads, heads, heads), p = softmax(seen);
  eval(seen, p);
  return (tanh(p) + seen).to_vector<float>();
}

// Names up to the part that describes the region.
std::set<std::string> families(const Device& d) {
  std::set<std::string> out;
  for (const auto& [name, launches] : d.census()) {
    EXPECT_GT(launches, 0);
    const size_t plain = name.find("_plain");
    for (const char* f : {"quant_matmul", "matmul", "attention", "row", "map"})
      if (name.starts_with(f)) {
        out.insert(cat(f, plain == std::string::npos ? "" : "_plain"));
        break;
      }
  }
  return out;
}

TEST(LowerMode, TheCensusShowsWhatEachModeRuns) {
  const Device d = Device::open("cpu", 2);
  const std::vector<float> host = everything(Device::open("host"));
  const std::set<std::string> wanted[] = {{"quant_matmul", "matmul", "attention", "row", "map"},
                                          {"quant_matmul_plain", "matmul_plain", "attention_plain", "row_plain", "map_plain"},
                                          {"row", "map"}};
  for (int i = 0; i < 3; ++i) {
    SCOPED_TRACE(name_of(lower_modes[i]));
    const InLowerMode in(lower_modes[i]);
    d.reset_census();
    const std::vector<float> y = everything(d);
    EXPECT_EQ(families(d), wanted[i]);
    ASSERT_EQ(y.size(), host.size());
    for (size_t k = 0; k < y.size(); ++k) EXPECT_NEAR(y[k], host[k], 2e-5 * (1 + std::abs(host[k])));
  }
}

TEST(LowerMode, TheReferenceHasOneMode) {
  const Device d = Device::open("host");
  const Tensor a = numbers({5, 7}, d), b = numbers({7, 3}, d);
  std::vector<std::map<std::string, int64_t>> ran;
  for (LowerMode mode : lower_modes) {
    const InLowerMode in(mode);
    d.reset_census();
    matmul(a, b).to_vector<float>();
    ran.push_back(d.census());
  }
  EXPECT_EQ(ran[0].size(), 1u);
  EXPECT_EQ(ran[1], ran[0]);
  EXPECT_EQ(ran[2], ran[0]);
}

TEST(LowerMode, IsPartOfThePlansKey) {
  const Device d = Device::open("cpu", 1);
  const Tensor a = numbers({4, 4}, d);
  for (int64_t round = 0; round < 2; ++round)
    for (LowerMode mode : lower_modes) {
      const InLowerMode in(mode);
      const int64_t before = d.counters().plans;
      matmul(a, a).to_vector<float>();
      EXPECT_EQ(d.counters().plans - before, 1 - round) << name_of(mode);
    }
}

TEST(LowerMode, HasThreeWords) {
  EXPECT_EQ(graph::lower_mode_from(nullptr), LowerMode::tuned);
  EXPECT_EQ(graph::lower_mode_from(""), LowerMode::tuned);
  for (LowerMode mode : lower_modes) EXPECT_EQ(graph::lower_mode_from(name_of(mode)), mode);
  for (const char* word : {"fast", "Tuned", "tuned ", "0"}) {
    try {
      graph::lower_mode_from(word);
      ADD_FAILURE() << word << " was taken";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      for (const char* part : {word, "TENON_LOWER", "tuned", "generated", "composed"})
        EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  }
}

TEST(Census, CountsLaunchesByNameSinceTheReset) {
  const Device d = Device::open("cpu", 1);
  EXPECT_TRUE(d.census().empty());
  const Tensor x = numbers({9}, d);
  for (int i = 0; i < 3; ++i) (x * (0.25 + i)).to_vector<float>();
  ASSERT_EQ(d.census().size(), 1u);
  EXPECT_EQ(d.census().begin()->second, 3);
  EXPECT_EQ(d.census().begin()->second, d.counters().launches);
  d.reset_census();
  EXPECT_TRUE(d.census().empty());
  EXPECT_EQ(d.counters().launches, 3);
}

}  // namespace
}  // namespace tenon
