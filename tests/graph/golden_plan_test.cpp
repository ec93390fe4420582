// A few whole plans as text, compared exactly but for the hashes in kernel names. TENON_UPDATE_GOLDEN=1 writes them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "llm/tiny_model.h"
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

TEST_F(GoldenPlans, LanguageModel) {
  const test::TinyModel tiny{.quantised = true};
  const std::string path = (std::filesystem::temp_directory_path() / "tenon_golden_plan.gguf").string();
  const std::vector<std::byte> bytes = tiny.build();
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  const Device d = Device::open("null:webgpu");
  check_golden("llama_decode", llm::Model::plan(path, d, 1, false));
  check_golden("llama_prefill", llm::Model::plan(path, d, 7, false));
  std::filesystem::remove(path);
}

// Forward, gradients by hand, momentum and weights updated in one plan.
TEST_F(GoldenPlans, TrainingStep) {
  const Device d = Device::open("null:webgpu");
  State weight(leaf({64, 10}, d), "weight"), bias(leaf({10}, d), "bias"), momentum(leaf({64, 10}, d), "momentum");
  const Scalar rate(0.1f, d);
  const Compiled step = compile(
      [&](const std::vector<Tensor>& in) {
        const Tensor &x = in[0], &target = in[1];
        // Read in an order of their own: a compiler may take the operands of + in either.
        const Tensor w = weight.value(), b = bias.value();
        const Tensor error = matmul(x, w) + b - target;
        const Tensor gradient = matmul(transpose(x), error) * (2.0 / 320);
        momentum.set(momentum.value() * 0.9 + gradient);
        weight.set(weight.value() - momentum.value() * rate);
        bias.set(bias.value() - sum(error, {0}) * (2.0 / 320) * rate);
        return std::vector<Tensor>{mean(square(error))};
      },
      {leaf({32, 64}, d), leaf({32, 10}, d)}, d);
  check_golden("training_step", step.plan_text());
}

TEST_F(GoldenPlans, AttentionWithMask) {
  for (const auto& [device, name] : {std::pair<const char*, const char*>{"null:webgpu", "masked_attention"}, {"null:tiny", "masked_attention_tiny"}}) {
    const Device d = Device::open(device);
    const Qkv p = qkv_projection(leaf({2, 9, 32}, d), leaf({64, 32}, d), 4, 2, leaf({64}, d));
    AttentionOptions o;
    o.mask = leaf({9, 9}, d, DType::bool_);
    o.scale = 0.25f;
    check_golden(name, plan_text({attention(p.q, p.k, p.v, o)}));
  }
}

TEST_F(GoldenPlans, PerceptronWithResidual) {
  const Device d = Device::open("null:webgpu");
  const Tensor x = leaf({33, 65}, d);
  const Tensor h = gelu(linear(x, leaf({129, 65}, d), leaf({129}, d)));
  check_golden("perceptron", plan_text({linear(h, leaf({65, 129}, d), leaf({65}, d)) + x}));
}

// Views that begin off the alignment: the rest of their offset is a parameter, shown in brackets.
TEST_F(GoldenPlans, JoinedAndPadded) {
  const Device d = Device::open("null:webgpu");
  const Tensor x = leaf({5, 65}, d, DType::f16), y = leaf({3, 65}, d, DType::f16);
  Tensor tail = slice(y, 0, 1, {});
  eval(tail);  // a leaf that begins at byte 130
  check_golden("joined_and_padded", plan_text({pad(concat({slice(x, 1, 1, {}), slice(tail, 1, 0, 64)}, 0), {{1, 0}, {0, 2}})}));
}

}  // namespace
}  // namespace tenon
