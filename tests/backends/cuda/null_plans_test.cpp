// The plans of "null:cuda" are those of the CUDA backend on the device that it stands for, whose driver the stand-in plays.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "backends/cuda/standin.h"
#include "graph/random_graph.h"
#include "llm/tiny_model.h"
#include "runtime/device_context.h"
#include "tenon/llm.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

class NullPlans : public ::testing::Test {
 protected:
  // What an H200 says of itself.
  Setting capability_{"TENON_STANDIN_CAPABILITY", "90"}, memory_{"TENON_STANDIN_MEMORY", std::to_string(143771ll << 20)};
  Device cuda_ = Device::open("cuda", 1), null_ = Device::open("null:cuda", 1);

  // One plan's text on both devices.
  void compare(const std::function<std::string(const Device&)>& plan) {
    const std::string want = plan(cuda_);
    EXPECT_NE(want.find(" groups "), want.npos) << want;
    EXPECT_EQ(plan(null_), want);
  }
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
    return plan_text({index_add(leaf({100, 64}, d), 0, leaf({1000}, d, DType::i32), leaf({1000, 64}, d))});
  });
  compare([](const Device& d) { return plan_text({quantised_like(d)}); });
}

TEST_F(NullPlans, Products) {
  for (const DType t : {DType::f32, DType::f16, DType::bf16})
    for (const int64_t rows : {1, 5, 300})
      compare([&](const Device& d) {
        return plan_text({silu(linear(rms_norm(leaf({rows, 256}, d, t), leaf({256}, d, t)), leaf({512, 256}, d, t)))});
      });
}

}  // namespace
}  // namespace tenon::testing
