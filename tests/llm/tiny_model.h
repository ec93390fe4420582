// Small models with random weights, as GGUF files in memory. Header only.
#pragma once
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "core/half.h"
#include "io/gguf_writer.h"
#include "text/byte_alphabet.h"

namespace tenon::test {

struct TinyModel {
  std::string architecture = "llama";
  bool quantised = false;     // q8_0 matrices, else f32
  bool tied = false;          // no output.weight
  bool end_tokens = true;     // <|im_start|> and <|im_end|>, made unlikely
  uint32_t context = 600;
  uint32_t seed = 1;
  std::set<std::string> left_out = {};     // tensors
  std::vector<std::string> extra = {};     // tensors, [4] f32
  std::string scaling = {};                // rope.scaling.type
  int64_t channels = 64, heads = 4, kv_heads = 2, feed_forward = 96, layers = 2;

  int64_t vocabulary() const { return 256 + (end_tokens ? 2 : 0); }

  std::vector<std::byte> build() const {
    GgufWriter w;
    metadata(w);
    std::mt19937 random(seed);
    const int64_t keys = channels / heads * kv_heads;
    // Small, so that the layers decide and not the last token; the norms hide its size.
    matrix(w, random, "token_embd.weight", vocabulary(), channels, 2);
    for (int64_t i = 0; i < layers; ++i) {
      const std::string b = "blk." + std::to_string(i) + ".";
      vector(w, random, b + "attn_norm.weight", channels, 1);
      matrix(w, random, b + "attn_q.weight", channels, channels, 12);
      matrix(w, random, b + "attn_k.weight", keys, channels, 12);
      matrix(w, random, b + "attn_v.weight", keys, channels, 8);
      if (architecture == "qwen2") {
        vector(w, random, b + "attn_q.bias", channels, 0);
        vector(w, random, b + "attn_k.bias", keys, 0);
        vector(w, random, b + "attn_v.bias", keys, 0);
      }
      matrix(w, random, b + "attn_output.weight", channels, channels, 8);
      vector(w, random, b + "ffn_norm.weight", channels, 1);
      matrix(w, random, b + "ffn_gate.weight", feed_forward, channels, 8);
      matrix(w, random, b + "ffn_up.weight", feed_forward, channels, 8);
      matrix(w, random, b + "ffn_down.weight", channels, feed_forward, 8);
    }
    vector(w, random, "output_norm.weight", channels, 1);
    if (!tied) matrix(w, random, "output.weight", vocabulary(), channels, 24);
    for (const std::string& name : extra) w.tensor(name, {4}, std::vector<float>(4, 1.0f));
    return w.build();
  }
  std::shared_ptr<ByteSource> source() const { return memory_source("tiny.gguf", build()); }

 private:
  void metadata(GgufWriter& w) const {
    const std::string a = architecture + ".";
    w.kv("general.architecture", architecture).kv(a + "block_count", uint32_t(layers)).kv(a + "context_length", context);
    w.kv(a + "embedding_length", uint32_t(channels)).kv(a + "feed_forward_length", uint32_t(feed_forward));
    w.kv(a + "attention.head_count", uint32_t(heads)).kv(a + "attention.head_count_kv", uint32_t(kv_heads));
    w.kv(a + "attention.layer_norm_rms_epsilon", 1e-5f).kv(a + "rope.freq_base", 10000.0f);
    if (!scaling.empty()) w.kv(a + "rope.scaling.type", scaling);
    std::vector<std::string> tokens;
    for (int b = 0; b < 256; ++b) tokens.push_back(spelling_of_bytes(std::string(1, char(b))));
    std::vector<int32_t> types(size_t(vocabulary()), 1);
    if (end_tokens) {
      tokens.insert(tokens.end(), {"<|im_start|>", "<|im_end|>"});
      types[256] = types[257] = 3;
      w.kv("tokenizer.ggml.eos_token_id", uint32_t(257));
    }
    w.kv("tokenizer.ggml.model", "gpt2").kv("tokenizer.ggml.pre", "smollm").strings("tokenizer.ggml.tokens", tokens);
    w.strings("tokenizer.ggml.merges", {}).array<int32_t>("tokenizer.ggml.token_type", types);
    w.kv("tokenizer.chat_template", "<|im_start|>");
  }

  static float uniform(std::mt19937& random) { return float(int32_t(random())) * 0x1p-31f; }

  // Entries up to scale/channels, so that outputs of normed inputs are of order scale/8. The rows of control tokens are 0.
  void matrix(GgufWriter& w, std::mt19937& random, const std::string& name, int64_t rows, int64_t columns, float scale) const {
    ByteWriter data;
    std::vector<float> values;
    const float step = scale / float(columns);
    for (int64_t r = 0; r < rows; ++r) {
      const float size = r < 256 ? step : 0;
      for (int64_t c = 0; c < columns; ++c) {
        if (quantised && c % 32 == 0) data.put(f16_from_f32(size / 127));
        const float x = uniform(random);
        if (quantised) data.put(int8_t(x * 127));
        else values.push_back(x * size);
      }
    }
    if (left_out.contains(name)) return;
    if (quantised) w.tensor(name, {rows, columns}, 8, data.bytes());
    else w.tensor(name, {rows, columns}, values);
  }

  void vector(GgufWriter& w, std::mt19937& random, const std::string& name, int64_t size, float middle) const {
    std::vector<float> values;
    for (int64_t i = 0; i < size; ++i) values.push_back(middle + uniform(random) / 4);
    if (!left_out.contains(name)) w.tensor(name, {size}, values);
  }
};

}  // namespace tenon::test
