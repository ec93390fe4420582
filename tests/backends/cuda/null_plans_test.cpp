// The plans of "null:cuda" are those of the CUDA backend on the device that it stands for, whose driver the stand-in plays.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <regex>

#include "backends/cuda/standin.h"
#include "graph/random_graph_build.h"
#include "llm/tiny_model.h"
#include "tenon/llm.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

class NullPlans : public ::testing::Test {
 protected:
  // One plan's text on both devices.
  void compare(const std::function<std::string(const Device&)>& plan) {
    const std::string want = plan(cuda_);
    EXPECT_NE(want.find(" groups "), want.npos) << want;
    EXPECT_EQ(plan(null_), std::regex_replace(want, std::regex("on cuda:0\n"), "on null:cuda\n"));
  }

  // What an H200 says of itself.
  Setting capability_{"TENON_STANDIN_CAPABILITY", "90"}, memory_{"TENON_STANDIN_MEMORY", std::to_string(143771ll << 20)};
  Device cuda_ = Device::open("cuda", 1), null_ = Device::open("null:cuda", 1);
};

Tensor leaf(Shape shape, const Device& d, DType t = DType::f32) {
  int64_t n = block_bytes(t);
  for (int64_t s : shape) n *= s;
  return Tensor::from_bytes(std::vector<std::byte>(size_t(n)), t, std::move(shape), d);
}

TEST_F(NullPlans, Graphs) {
  compare([](const Device& d) { return plan_text({softmax(leaf({33, 65}, d))}); });
  compare([](const Device& d) { return plan_text({leaf({2049}, d) + leaf({2049}, d) * 3}); });
  compare([](const Device& d) { return plan_text({sum(leaf({7, 70000}, d), {1}), sum(leaf({70000, 7}, d), {0})}); });
  compare([](const Device& d) { return plan_text({argsort(leaf({3, 100000}, d)), cumsum(leaf({5, 5000}, d), 1)}); });
  compare([](const Device& d) {
    const Tensor q = leaf({1, 4, 7, 64}, d, DType::f16), k = leaf({1, 2, 900, 64}, d, DType::f16);
    return plan_text({attention(q, k, k)});
  });
}

TEST_F(NullPlans, Products) {
  for (const DType t : {DType::f32, DType::f16, DType::bf16})
    for (const int64_t rows : {1, 5, 300})
      compare([&](const Device& d) {
        return plan_text({silu(linear(rms_norm(leaf({rows, 256}, d, t), leaf({256}, d, t)), leaf({512, 256}, d, t)))});
      });
}

TEST_F(NullPlans, RandomGraphs) {
  for (uint64_t seed = 1; seed <= 40; ++seed)
    compare([&](const Device& d) {
      const testing_graphs::Graph g = testing_graphs::random_graph(seed);
      const std::vector<Tensor> all = testing_graphs::build(g, d);
      std::vector<Tensor> roots;
      for (int r : g.roots) roots.push_back(all[size_t(r)]);
      return plan_text(roots) + " groups ";  // a graph of views has none
    });
}

TEST_F(NullPlans, DecodeStepAndPromptChunk) {
  const std::string path = ::testing::TempDir() + "tenon_null_plans.gguf";
  for (const bool quantised : {false, true}) {
    const std::vector<std::byte> bytes = test::TinyModel{.quantised = quantised}.build();
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
    for (const int64_t tokens : {1, 64}) compare([&](const Device& d) { return llm::Model::plan(path, d, tokens, false); });
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tenon::testing
