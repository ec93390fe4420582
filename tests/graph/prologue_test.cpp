// A norm before a product of few rows: one launch where the device says that this is worthwhile, two otherwise, and the
// same bits either way.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/evaluate.h"
#include "graph/handles.h"
#include "graph/mode.h"
#include "runtime/device_context.h"
#include "support/lowering.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

class Prologues : public ::testing::Test {
 protected:
  modes::InLowerMode tuned{modes::LowerMode::tuned};
  Device d = Device::open("cpu");
  const int64_t rows = d.context()->limits().prologue_rows, k = d.context()->limits().prologue_elements;

  Tensor waves(Shape shape, DType t = DType::f32) {
    int64_t n = 1;
    for (int64_t s : shape) n *= s;
    Floats v;
    for (int64_t i = 0; i < n; ++i) v.push_back(std::sin(float(i) * 0.37f) + 0.1f);
    const Tensor x = cast(Tensor::from<float>(v, std::move(shape), d), t);
    eval({x});
    return x;
  }
  // Blocks of 8-bit weights, scale 1/64.
  Tensor q8(int64_t n, int64_t columns) {
    std::vector<std::byte> bytes;
    for (int64_t b = 0; b < n * columns / 32; ++b) {
      bytes.push_back(std::byte(0));
      bytes.push_back(std::byte(0x24));
      for (int64_t j = 0; j < 32; ++j) bytes.push_back(std::byte(uint8_t(b * 31 + j * 7)));
    }
    return Tensor::from_bytes(std::move(bytes), DType::q8_0, {n, columns}, d);
  }
};

std::shared_ptr<const Plan> plan_of(std::initializer_list<Tensor> roots) {
  std::vector<graph::NodeRef> nodes;
  for (const Tensor& t : roots) nodes.push_back(graph::node_of(t));
  return graph::plan_for(nodes);
}

// Launches of f(), and that nothing changes where each op is a launch of its own or runs on other threads.
template <class F>
int64_t launches(F&& f) {
  const auto plan = plan_of({f()});
  const Floats joined = f().template to_vector<float>();
  graph::set_fusion(false);
  const Floats apart = f().template to_vector<float>();
  graph::set_fusion(true);
  EXPECT_EQ(joined, apart);
  for (float v : joined) EXPECT_TRUE(std::isfinite(v));
  return plan->launches();
}

TEST_F(Prologues, ANormBeforeAMatrixVectorProductIsOneLaunch) {
  ASSERT_GE(k, 64);
  ASSERT_GE(rows, 1);
  for (int64_t m = 1; m <= rows; ++m) {
    const Tensor x = waves({m, k}), g = waves({k}), b = waves({k}), w = waves({70, k}), wq = q8(70, k), r = waves({m, 70}), bias = waves({70});
    EXPECT_EQ(launches([&] { return linear(rms_norm(x, g), wq); }), 1) << m;
    EXPECT_EQ(launches([&] { return linear(rms_norm(x, g), w); }), 1) << m;
    EXPECT_EQ(launches([&] { return gelu(linear(layer_norm(x, g, b), wq, bias)) + r; }), 1) << m;
    EXPECT_EQ(launches([&] { return gelu(linear(layer_norm(x, g, b), w, bias)) + r; }), 1) << m;
    EXPECT_EQ(launches([&] { return linear(rms_norm(x, g), {wq, q8(33, k), wq}); }), 1) << m;
    EXPECT_EQ(launches([&] { return linear(softmax(x + 1), wq); }), 1) << m;
  }
  EXPECT_EQ(launches([&] { return linear(rms_norm(waves({1, k}, DType::f16), waves({k})), q8(9, k)); }), 1);
  EXPECT_EQ(launches([&] { return linear(silu(waves({1, k})) * waves({1, k}), q8(9, k)); }), 1) << "an element-wise row";
}

TEST_F(Prologues, RowsThatAreViewsKeepTheirStrides) {
  const Tensor wide = waves({3, 2, k}), g = waves({k});
  EXPECT_EQ(launches([&] { return linear(rms_norm(slice(wide, 1, 1, 2), g), q8(40, k)); }), 1);
  EXPECT_EQ(launches([&] { return linear(rms_norm(broadcast_to(slice(slice(wide, 0, 2, 3), 1, 1, 2), {2, 1, k}), g), q8(40, k)); }), 1);
  EXPECT_EQ(launches([&] { return linear(rms_norm(flip(waves({1, k}), 1), g), q8(40, k)); }), 2) << "not dense along k";
}

TEST_F(Prologues, OnlyWhereItIsWorthwhile) {
  const Tensor g = waves({k}), wq = q8(40, k), x = waves({1, k});
  EXPECT_EQ(launches([&] { return linear(rms_norm(waves({rows + 1, k}), g), wq); }), 2) << "many rows";
  EXPECT_EQ(launches([&] { return linear(rms_norm(waves({1, k + 32}), waves({k + 32})), q8(40, k + 32)); }), 2) << "long rows";
  EXPECT_EQ(launches([&] {
              const Tensor n = rms_norm(x, g);
              return linear(n, wq) + linear(n, q8(40, k)) * linear(n, waves({40, k}));
            }), 4) << "the norm has several readers";
  EXPECT_EQ(launches([&] { return linear(embedding(waves({5, k}), full({1}, 2, DType::i32, d)), wq); }), 2) << "a gather";
  const Tensor n = rms_norm(x, g);
  EXPECT_EQ(plan_of({n, linear(n, wq)})->launches(), 2) << "the norm is a result too";
}

TEST_F(Prologues, AReadyPlanNamesThem) {
  const std::string text = plan_text({linear(rms_norm(waves({1, k}), waves({k})), q8(40, k))});
  EXPECT_NE(text.find("_of_mul_sum_"), std::string::npos) << text;
  EXPECT_NE(text.find("plan: 1 launches"), std::string::npos) << text;
}

TEST_F(Prologues, PlainKernelsDoWithoutThem) {
  const modes::InLowerMode generated(modes::LowerMode::generated);
  EXPECT_EQ(launches([&] { return linear(rms_norm(waves({1, k}), waves({k})), q8(40, k)); }), 2);
}

}  // namespace
}  // namespace tenon
