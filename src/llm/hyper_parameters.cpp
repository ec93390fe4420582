#include "llm/hyper_parameters.h"

#include <cmath>

#include "base/cat.h"
#include "tenon/error.h"

namespace tenon::llm {
namespace {

// Keys of one architecture: "llama." + name.
class Keys {
 public:
  Keys(const Gguf& gguf, std::string architecture) : gguf_(gguf), prefix_(architecture + ".") {}

  std::string key(const char* name) const { return prefix_ + name; }

  [[noreturn]] void fail(ErrorCode code, const char* name, const std::string& what) const {
    ErrorContext context;
    context.path = gguf_.path();
    if (const GgufEntry* e = gguf_.find_entry(key(name))) context.offset = e->offset;
    throw Error(code, cat(gguf_.path(), ": ", key(name), " ", what), std::move(context));
  }

  // A size, from 1 to `most`.
  int64_t size(const char* name, int64_t most) const { return checked(name, int64_t(gguf_.get_u32(key(name))), most); }
  int64_t size_or(const char* name, int64_t otherwise, int64_t most) const {
    const auto found = gguf_.find_u32(key(name));
    return checked(name, found ? int64_t(*found) : otherwise, most);
  }
  double positive(const char* name, std::optional<float> found) const {
    if (!found) fail(ErrorCode::format, name, "is missing; a float above 0 is needed");
    if (!std::isfinite(*found) || *found <= 0) fail(ErrorCode::format, name, cat("is ", *found, "; a float above 0 is needed"));
    return double(*found);
  }
  std::optional<float> find_f32(const char* name) const { return gguf_.find_f32(key(name)); }
  std::optional<uint32_t> find_u32(const char* name) const { return gguf_.find_u32(key(name)); }
  std::optional<std::string> find_string(const char* name) const { return gguf_.find_string(key(name)); }

 private:
  int64_t checked(const char* name, int64_t value, int64_t most) const {
    if (value < 1 || value > most) fail(ErrorCode::format, name, cat("is ", value, "; from 1 to ", most, " makes sense"));
    return value;
  }

  const Gguf& gguf_;
  std::string prefix_;
};

void refuse_scaled_rope(const Keys& keys) {
  const std::string type = keys.find_string("rope.scaling.type").value_or("none");
  if (type != "none") keys.fail(ErrorCode::unsupported, "rope.scaling.type", cat("is \"", type, "\"; known is: none"));
  for (const char* name : {"rope.scaling.factor", "rope.scale_linear"})
    if (const float f = keys.find_f32(name).value_or(1); f != 1 && f != 0)
      keys.fail(ErrorCode::unsupported, name, cat("is ", f, "; scaled rotary positions are not known, only a factor of 1 is"));
}

void refuse_unknown(const Keys& keys, const HyperParameters& h) {
  refuse_scaled_rope(keys);
  if (const int64_t d = keys.size_or("rope.dimension_count", h.head_size, 65536); d != h.head_size)
    keys.fail(ErrorCode::unsupported, "rope.dimension_count",
              cat("is ", d, ", but a head has ", h.head_size, " channels; rotating only a part of them is not known"));
  if (const int64_t d = keys.size_or("attention.value_length", h.head_size, 65536); d != h.head_size)
    keys.fail(ErrorCode::unsupported, "attention.value_length",
              cat("is ", d, ", but keys have ", h.head_size, " channels; only equal sizes are known"));
  if (const uint32_t n = keys.find_u32("expert_count").value_or(0); n != 0)
    keys.fail(ErrorCode::unsupported, "expert_count", cat("is ", n, "; mixtures of experts are not known, only dense models are"));
  if (const int64_t w = keys.find_u32("attention.sliding_window").value_or(0); w != 0 && w < h.context)
    keys.fail(ErrorCode::unsupported, "attention.sliding_window",
              cat("is ", w, ", less than the context of ", h.context, "; only attention to all tokens is known"));
}

}  // namespace

HyperParameters read_hyper_parameters(const Gguf& gguf) {
  HyperParameters h;
  h.architecture = gguf.get_string("general.architecture");
  const Keys keys(gguf, h.architecture);
  h.layers = keys.size("block_count", 4096);
  h.channels = keys.size("embedding_length", 1 << 20);
  h.feed_forward = keys.size("feed_forward_length", 1 << 22);
  h.context = keys.size("context_length", INT32_MAX);
  h.heads = keys.size("attention.head_count", 65536);
  h.kv_heads = keys.size_or("attention.head_count_kv", h.heads, h.heads);
  if (h.heads % h.kv_heads != 0)
    keys.fail(ErrorCode::format, "attention.head_count_kv", cat("is ", h.kv_heads, ", which does not divide the ", h.heads, " heads"));
  if (!keys.find_u32("attention.key_length") && h.channels % h.heads != 0)
    keys.fail(ErrorCode::format, "attention.head_count", cat("is ", h.heads, ", which does not divide the ", h.channels, " channels"));
  h.head_size = keys.size_or("attention.key_length", h.channels / h.heads, 65536);
  if (h.head_size % 2 != 0)
    keys.fail(ErrorCode::format, "attention.head_count", cat("makes heads of ", h.head_size, " channels; rotary positions need an even number"));
  h.norm_epsilon = keys.positive("attention.layer_norm_rms_epsilon", keys.find_f32("attention.layer_norm_rms_epsilon"));
  h.rope_base = keys.positive("rope.freq_base", keys.find_f32("rope.freq_base").value_or(10000.0f));
  h.vocabulary = int64_t(gguf.strings("tokenizer.ggml.tokens").size());
  refuse_unknown(keys, h);
  return h;
}

}  // namespace tenon::llm
