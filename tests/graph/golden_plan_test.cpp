// A few whole plans as text, compared exactly but for the hashes in kernel names. TENON_UPDATE_GOLDEN=1 writes them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "support/lowering.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

class GoldenPlans : public ::testing::Test {
  modes::InLowerMode tuned_{modes::LowerMode::tuned};
};

Tensor leaf(Shape shape, const Device& d, DType t = DType::f32) {
  int64_t n = block_bytes(t);
  for (int64_t s : shape) n *= s;
  return Tensor::from_bytes(std::vector<std::byte>(size_t(n)), t, std::move(shape), d);
}

void check_golden(const std::string& name, const std::string& plan) {
  const std::string text = std::regex_replace(plan, std::regex("_[0-9a-f]{8,16}\\b"), "");
  const std::string path = std::string(TENON_TEST_DATA) + "/plans/" + name + ".txt";
  if (const char* update = std::getenv("TENON_UPDATE_GOLDEN"); update && *update == '1') std::ofstream(path) << text;
  std::ifstream file(path);
  std::stringstream want;
  want << file.rdbuf();
  EXPECT_TRUE(file) << "no " << path << "; TENON_UPDATE_GOLDEN=1 writes it";
  EXPECT_EQ(want.str(), text) << "if the change is meant, run once with TENON_UPDATE_GOLDEN=1 and look at the difference";
}

TEST_F(GoldenPlans, Softmax) {
  const Device d = Device::open("null:roomy");
  check_golden("softmax", plan_text({softmax(leaf({33, 65}, d))}));
}

TEST_F(GoldenPlans, FeedForward) {
  const Device d = Device::open("null:webgpu");
  const Tensor x = leaf({5, 64}, d, DType::f16), norm = leaf({64}, d);
  const Tensor h = rms_norm(x, norm);
  const Tensor gate = leaf({192, 64}, d, DType::f16), up = leaf({192, 64}, d, DType::f16), down = leaf({64, 192}, d, DType::f16);
  check_golden("feed_forward", plan_text({x + linear(silu(linear(h, gate)) * linear(h, up), down)}));
}

TEST_F(GoldenPlans, DecodeAttention) {
  const Device d = Device::open("null:roomy");
  State keys(leaf({1, 2, 128, 16}, d, DType::f16)), values(leaf({1, 2, 128, 16}, d, DType::f16));
  const Scalar at(uint32_t(0), d), length(uint32_t(1), d);
  const Compiled step = compile(
      [&](const std::vector<Tensor>& in) {
        const Tensor qkv = linear(in[0], in[1]);
        auto heads = [&](int64_t from, int64_t n) { return permute(reshape(slice(qkv, 1, from * 16, (from + n) * 16), {1, 1, n, 16}), {0, 2, 1, 3}); };
        keys.set(update(keys.value(), cast(rope(heads(4, 2), in[2], in[3], RopePairing::half), DType::f16), at, 2));
        values.set(update(values.value(), cast(heads(6, 2), DType::f16), at, 2));
        AttentionOptions o;
        o.kv_len = length;
        return std::vector<Tensor>{attention(rope(heads(0, 4), in[2], in[3], RopePairing::half), keys.value(), values.value(), o)};
      },
      {leaf({1, 64}, d), leaf({128, 64}, d), leaf({1, 8}, d), leaf({1, 8}, d)}, d);
  check_golden("decode_attention", step.plan_text());
}

TEST_F(GoldenPlans, SumOfTwelveWithFourBindings) {
  const Device d = Device::open("null:tiny");
  Tensor s = leaf({1025}, d);
  for (int i = 0; i < 11; ++i) s = s + leaf({1025}, d);
  check_golden("sum_of_twelve_tiny", plan_text({s}));
}

TEST_F(GoldenPlans, EmbeddingToLoss) {
  const Device d = Device::open("null:webgpu");
  const Tensor table = leaf({99, 64}, d, DType::f16), ids = leaf({7}, d, DType::i32), targets = leaf({7}, d, DType::i32);
  const Tensor x = layer_norm(embedding(table, ids), leaf({64}, d), leaf({64}, d));
  CrossEntropyOptions o;
  o.ignore_index = {};
  check_golden("embedding_to_loss", plan_text({cross_entropy(cast(linear(x, table), DType::f32), targets, o)}));
}

}  // namespace
}  // namespace tenon
