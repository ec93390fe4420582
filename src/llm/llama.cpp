// The Llama family: Llama, SmolLM2, Mistral without a window. Source: Touvron et al., arXiv:2302.13971; grouped-query
// attention: arXiv:2305.13245. GGUF stores its query and key rows so that rope pairs neighbours.
#include "base/cat.h"
#include "llm/decoder.h"

namespace tenon::llm {
namespace {

struct Layer {
  Tensor attention_norm;         // [C]
  std::vector<Tensor> qkv;       // [H*D, C], [G*D, C], [G*D, C] side by side
  Tensor output;                 // [C, H*D]
  Tensor mlp_norm;               // [C]
  std::vector<Tensor> gate_up;   // [F, C], [F, C] side by side
  Tensor down;                   // [C, F]
};

class Llama final : public Decoder {
 public:
  Llama(const HyperParameters& h, WeightReader& w) : h_(h) {
    const int64_t C = h.channels, F = h.feed_forward, Q = h.heads * h.head_size, K = h.kv_heads * h.head_size;
    embedding_ = w.matrix("token_embd.weight", h.vocabulary, C);
    for (int64_t i = 0; i < h.layers; ++i) {
      const std::string b = cat("blk.", i, ".");
      layers_.push_back({
          w.vector(b + "attn_norm.weight", C),
          w.matrices({{b + "attn_q.weight", Q}, {b + "attn_k.weight", K}, {b + "attn_v.weight", K}}, C),
          w.matrix(b + "attn_output.weight", C, Q),
          w.vector(b + "ffn_norm.weight", C),
          w.matrices({{b + "ffn_gate.weight", F}, {b + "ffn_up.weight", F}}, C),
          w.matrix(b + "ffn_down.weight", C, F),
      });
    }
    norm_ = w.vector("output_norm.weight", C);
    output_ = w.has("output.weight") ? w.matrix("output.weight", h.vocabulary, C) : embedding_;
  }

  Tensor hidden(const Tensor& ids, const Pass& pass) const override {
    Tensor x = cast(embedding(embedding_, ids), DType::f32);  // [T, C]
    for (int64_t i = 0; i < h_.layers; ++i) {
      const Layer& l = layers_[size_t(i)];
      x = x + attention_block(i, l, rms_norm(x, l.attention_norm, h_.norm_epsilon), pass);
      x = x + mlp_block(l, rms_norm(x, l.mlp_norm, h_.norm_epsilon));
    }
    return x;
  }

  Tensor logits(const Tensor& x) const override { return linear(rms_norm(x, norm_, h_.norm_epsilon), output_); }

 private:
  Tensor attention_block(int64_t i, const Layer& l, const Tensor& x, const Pass& pass) const {
    const auto rotated = [&](const Tensor& t) { return rope(t, pass.cos, pass.sin, RopePairing::interleaved); };
    const auto [q, k, v] = qkv_projection(expand_dims(x, 0), l.qkv, h_.heads, h_.kv_heads);  // [1, heads, T, D]
    return linear(merge_heads(pass.attend(i, rotated(squeeze(q, 0)), rotated(squeeze(k, 0)), squeeze(v, 0))), l.output);
  }

  Tensor mlp_block(const Layer& l, const Tensor& x) const { return linear(swiglu(linear(x, l.gate_up)), l.down); }

  HyperParameters h_;
  Tensor embedding_, norm_, output_;  // [V, C], [C], [V, C]
  std::vector<Layer> layers_;
};

}  // namespace

std::unique_ptr<Decoder> make_llama(const HyperParameters& h, WeightReader& weights) {
  return std::make_unique<Llama>(h, weights);
}

}  // namespace tenon::llm
