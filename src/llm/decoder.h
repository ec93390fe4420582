// What all decoder-only transformers share: the interface that a family implements, and the blocks that it is built of.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "llm/hyper_parameters.h"
#include "llm/weights.h"
#include "tenon/ops.h"
#include "tenon/state.h"

namespace tenon::llm {

// Keys and values of all tokens so far, one pair of States a layer: [1, G, capacity, D].
struct KvCache {
  std::vector<State> keys, values;
  int64_t capacity = 0;  // tokens
};

// One run of T tokens through a decoder, behind `position` tokens that the cache holds.
struct Pass {
  KvCache& cache;
  Tensor cos, sin;   // [T, D/2], of the T positions
  Scalar position;   // of the first token
  Scalar kv_len;     // position + T

  // Stores k, v: [G, T, D] of these tokens in the layer's cache, then attends from q: [H, T, D] to all tokens up to
  // each query's own. -> [H, T, D]
  Tensor attend(int64_t layer, const Tensor& q, const Tensor& k, const Tensor& v) const;
};

// x: [heads, T, D] -> [T, heads*D]
Tensor merge_heads(const Tensor& x);
// gate and up side by side, [T, 2F] -> silu(gate) * up, [T, F]. Source: Shazeer, arXiv:2002.05202.
Tensor swiglu(const Tensor& gate_and_up);

class Decoder {
 public:
  virtual ~Decoder() = default;
  // ids: [T] i32 -> [T, C] f32, what the last layer leaves.
  virtual Tensor hidden(const Tensor& ids, const Pass& pass) const = 0;
  // x: [T, C] of hidden() -> [T, V] f32.
  virtual Tensor logits(const Tensor& x) const = 0;
};

using DecoderBuilder = std::unique_ptr<Decoder> (*)(const HyperParameters& h, WeightReader& weights);
std::unique_ptr<Decoder> make_llama(const HyperParameters& h, WeightReader& weights);
std::unique_ptr<Decoder> make_qwen2(const HyperParameters& h, WeightReader& weights);

// The builder for a file's general.architecture. Throws Error(unsupported) naming those that are known.
DecoderBuilder find_architecture(const Gguf& gguf);

// Rotary angles of all positions of a context: cos and sin, [context, D/2] f32.
struct RopeTable {
  Tensor cos, sin;
};
// angle(p, i) = p * base^(-2i/D), computed in double: in f32 a late position's phase would be off by 1e-3 and more.
// Source: Su et al., arXiv:2104.09864.
RopeTable make_rope_table(int64_t context, int64_t head_size, double base, const Device& device);

}  // namespace tenon::llm
