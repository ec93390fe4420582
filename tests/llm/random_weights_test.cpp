#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "io/gguf.h"
#include "llm/hyper_parameters.h"
#include "tenon/tenon.h"

namespace tenon::llm {
namespace {

std::vector<std::byte> read(const ByteSource& s, int64_t offset, int64_t bytes) {
  std::vector<std::byte> out(static_cast<size_t>(bytes), std::byte(0xee));
  s.read(offset, out);
  return out;
}

TEST(RandomWeights, AreAFileInTheTrueShape) {
  const Gguf gguf = Gguf::open(random_weights("qwen2.5-0.5b:q8_0"));
  const HyperParameters h = read_hyper_parameters(gguf);
  EXPECT_EQ(h.layers, 24);
  EXPECT_EQ(h.channels, 896);
  EXPECT_EQ(h.head_size, 64);
  EXPECT_EQ(h.vocabulary, 151936);
  EXPECT_EQ(gguf.tensor("blk.23.ffn_down.weight").shape, (std::vector<int64_t>{896, 4864}));
  EXPECT_EQ(gguf.tensor("blk.0.attn_k.weight").dtype, DType::q8_0);
  EXPECT_FALSE(gguf.has_tensor("output.weight"));
  EXPECT_TRUE(Gguf::open(random_weights("qwen2.5-7b:q4_0")).has_tensor("output.weight"));
}

TEST(RandomWeights, ReadTheSameInAnyPieces) {
  const auto source = random_weights("smollm2-135m:q4_1");
  const GgufTensor t = Gguf::open(source).tensor("blk.3.ffn_up.weight");
  const std::vector<std::byte> whole = read(*source, t.offset - 100, t.bytes + 200);
  for (int64_t at = 0, piece = 1; at < int64_t(whole.size()); at += piece, piece = piece * 3 % 1009 + 1) {
    piece = std::min(piece, int64_t(whole.size()) - at);
    EXPECT_EQ(0, std::memcmp(read(*source, t.offset - 100 + at, piece).data(), whole.data() + at, size_t(piece))) << at;
  }
  EXPECT_THROW(read(*source, source->size() - 3, 4), Error);
}

TEST(RandomWeights, AreSmallAndVary) {
  for (const char* type : {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1"}) {
    const auto source = random_weights(std::string("smollm2-135m:") + type);
    const GgufTensor t = Gguf::open(source).tensor("blk.0.attn_k.weight");
    Tensor w = Tensor::from_bytes(read(*source, t.offset, t.bytes), t.dtype, t.shape, Device::open("cpu"));
    const std::vector<float> values = cast(w, DType::f32).to_vector<float>();
    double sum = 0, squares = 0;
    for (float v : values) sum += v, squares += double(v) * v;
    const double n = double(values.size()), mean = sum / n, deviation = std::sqrt(squares / n - mean * mean);
    EXPECT_LT(std::abs(mean), 0.003) << type;
    EXPECT_GT(deviation, 0.01) << type;
    EXPECT_LT(deviation, 0.04) << type;
  }
}

TEST(RandomWeights, BadNamesSayWhatThereIs) {
  for (const char* spec : {"", "gpt", "qwen2.5-0.5b:", "qwen2.5-0.5b:i32", ":f32"}) try {
      random_weights(spec);
      ADD_FAILURE() << spec;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(e.what()).find("qwen2.5-0.5b"), std::string::npos);
    }
}

}  // namespace
}  // namespace tenon::llm
