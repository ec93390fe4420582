#include "llm/decoder.h"

#include <cmath>

#include "base/cat.h"
#include "graph/node.h"
#include "tenon/error.h"

namespace tenon::llm {
namespace {

struct Architecture {
  const char* name;
  DecoderBuilder build;
};
// A new family is a file and a row.
constexpr Architecture architectures[] = {
    {"llama", make_llama},
    {"qwen2", make_qwen2},
};

}  // namespace

DecoderBuilder find_architecture(const Gguf& gguf) {
  const std::string name = gguf.get_string("general.architecture");
  std::string known;
  for (const Architecture& a : architectures) {
    if (name == a.name) return a.build;
    known += cat(known.empty() ? "" : ", ", a.name);
  }
  ErrorContext context;
  context.path = gguf.path();
  context.offset = gguf.find_entry("general.architecture")->offset;
  throw Error(ErrorCode::unsupported, cat(gguf.path(), ": architecture \"", name, "\" is not known; known are: ", known), std::move(context));
}

RopeTable make_rope_table(int64_t context, int64_t head_size, double base, const Device& device) {
  const int64_t half = head_size / 2;
  std::vector<float> cos, sin;
  cos.reserve(size_t(context * half));
  sin.reserve(size_t(context * half));
  std::vector<double> frequency;
  for (int64_t i = 0; i < half; ++i) frequency.push_back(std::pow(base, -2.0 * double(i) / double(head_size)));
  for (int64_t p = 0; p < context; ++p)
    for (double f : frequency) {
      cos.push_back(float(std::cos(double(p) * f)));
      sin.push_back(float(std::sin(double(p) * f)));
    }
  const RopeTable table{Tensor::from<float>(cos, {context, half}, device), Tensor::from<float>(sin, {context, half}, device)};
  table.cos.node()->label = "rope.cos";
  table.sin.node()->label = "rope.sin";
  eval({table.cos});
  eval({table.sin});
  return table;
}

Tensor merge_heads(const Tensor& x) {
  return reshape(permute(x, {1, 0, 2}), {x.dim(1), x.dim(0) * x.dim(2)});
}

Tensor swiglu(const Tensor& gate_and_up) {
  const int64_t F = gate_and_up.dim(1) / 2;
  return silu(slice(gate_and_up, 1, 0, F)) * slice(gate_and_up, 1, F, 2 * F);
}

Tensor Pass::attend(int64_t layer, const Tensor& q, const Tensor& k, const Tensor& v) const {
  const auto stored = [&](State& state, const Tensor& part) {
    state.set(update(state.value(), cast(expand_dims(part, 0), state.value().dtype()), position, 2));
    return state.value();  // [1, G, capacity, D]
  };
  const Tensor keys = stored(cache.keys[size_t(layer)], k), values = stored(cache.values[size_t(layer)], v);
  AttentionOptions options;
  options.causal = true;
  options.kv_len = kv_len;
  options.q_start = position;
  return squeeze(attention(expand_dims(q, 0), keys, values, options), 0);
}

}  // namespace tenon::llm
