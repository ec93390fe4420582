// Models of true shapes with random weights, as a GGUF file that is made while it is read: what speed needs, without a
// download. Shapes: the config.json of Qwen2.5 (0.5B, 1.5B, 7B) and of SmolLM2-135M.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/byte_source.h"
#include "base/cat.h"
#include "core/shape.h"
#include "tenon/error.h"
#include "tenon/llm.h"

namespace tenon::llm {
namespace {

struct Sizes {
  const char* name;
  const char* architecture;
  int64_t layers, channels, feed_forward, heads, kv_heads, vocabulary, context;
  bool tied;         // the output matrix is the embedding
  bool biases;       // on queries, keys and values
  float norm_epsilon, rope_base;
  const char* pre;   // of the tokenizer
};

constexpr Sizes known[] = {
    {"qwen2.5-0.5b", "qwen2", 24, 896, 4864, 14, 2, 151936, 32768, true, true, 1e-6f, 1e6f, "qwen2"},
    {"qwen2.5-1.5b", "qwen2", 28, 1536, 8960, 12, 2, 151936, 32768, true, true, 1e-6f, 1e6f, "qwen2"},
    {"qwen2.5-7b", "qwen2", 28, 3584, 18944, 28, 4, 152064, 32768, false, true, 1e-6f, 1e6f, "qwen2"},
    {"smollm2-135m", "llama", 30, 576, 1536, 9, 3, 49152, 8192, true, false, 1e-5f, 1e5f, "smollm"},
};

struct Type {
  DType dtype;
  uint32_t ggml;  // its id in a file
};
constexpr Type types[] = {{DType::f32, 0}, {DType::f16, 1}, {DType::q4_0, 2}, {DType::q4_1, 3}, {DType::q8_0, 8}, {DType::bf16, 30}};

// ------------------------------------------------------------------------------------------------------- the header

class HeaderWriter {
 public:
  template <class T>
  void number(T v) {
    const auto* p = reinterpret_cast<const std::byte*>(&v);
    bytes.insert(bytes.end(), p, p + sizeof v);
  }
  void text(std::string_view s) {
    number(uint64_t(s.size()));
    const auto* p = reinterpret_cast<const std::byte*>(s.data());
    bytes.insert(bytes.end(), p, p + s.size());
  }
  void u32(std::string_view key, int64_t v) { begin(key, 4), number(uint32_t(v)); }
  void f32(std::string_view key, float v) { begin(key, 6), number(v); }
  void string(std::string_view key, std::string_view v) { begin(key, 8), text(v); }
  void strings(std::string_view key, const std::vector<std::string>& v) {
    begin(key, 9);
    number(uint32_t(8));
    number(uint64_t(v.size()));
    for (const std::string& s : v) text(s);
  }
  void pad(size_t alignment) { bytes.resize((bytes.size() + alignment - 1) / alignment * alignment); }

  std::vector<std::byte> bytes;
  uint64_t keys = 0;

 private:
  void begin(std::string_view key, uint32_t type) {
    text(key);
    number(type);
    ++keys;
  }
};

constexpr int64_t alignment = 32;

struct RandomTensor {
  std::string name;
  Type type;
  Shape shape;
  int64_t offset = 0;  // in the file
  int64_t bytes = 0;
  bool ones = false;   // norms
};

// A byte in the alphabet of byte-level BPE (Radford et al., 2019): printable ones stand for themselves.
std::string byte_token(int byte, int& others) {
  const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  const int code = printable ? byte : 256 + others++;
  if (code < 128) return std::string(1, char(code));
  return {char(0xc0 | code >> 6), char(0x80 | (code & 63))};
}

std::vector<std::string> vocabulary(int64_t size) {
  std::vector<std::string> tokens;
  int others = 0;
  for (int b = 0; b < 256; ++b) tokens.push_back(byte_token(b, others));
  for (int64_t i = 256; i < size; ++i) tokens.push_back(cat("<random ", i, ">"));
  return tokens;
}

std::vector<RandomTensor> tensors_of(const Sizes& s, Type matrices) {
  std::vector<RandomTensor> all;
  const Type f32 = types[0];
  const int64_t C = s.channels, F = s.feed_forward, D = C / s.heads, K = s.kv_heads * D;
  const auto matrix = [&](std::string name, int64_t rows, int64_t columns) {
    all.push_back({std::move(name), matrices, {rows, columns}, 0, 0, false});
  };
  const auto vector = [&](std::string name, int64_t n, bool ones) { all.push_back({std::move(name), f32, {n}, 0, 0, ones}); };
  matrix("token_embd.weight", s.vocabulary, C);
  for (int64_t i = 0; i < s.layers; ++i) {
    const std::string b = cat("blk.", i, ".");
    vector(b + "attn_norm.weight", C, true);
    matrix(b + "attn_q.weight", C, C);
    matrix(b + "attn_k.weight", K, C);
    matrix(b + "attn_v.weight", K, C);
    if (s.biases) {
      vector(b + "attn_q.bias", C, false);
      vector(b + "attn_k.bias", K, false);
      vector(b + "attn_v.bias", K, false);
    }
    matrix(b + "attn_output.weight", C, C);
    vector(b + "ffn_norm.weight", C, true);
    matrix(b + "ffn_gate.weight", F, C);
    matrix(b + "ffn_up.weight", F, C);
    matrix(b + "ffn_down.weight", C, F);
  }
  vector("output_norm.weight", C, true);
  if (!s.tied) matrix("output.weight", s.vocabulary, C);
  return all;
}

void write_metadata(HeaderWriter& w, const Sizes& s) {
  const std::string a = s.architecture;
  w.string("general.architecture", a);
  w.u32(a + ".block_count", s.layers);
  w.u32(a + ".context_length", s.context);
  w.u32(a + ".embedding_length", s.channels);
  w.u32(a + ".feed_forward_length", s.feed_forward);
  w.u32(a + ".attention.head_count", s.heads);
  w.u32(a + ".attention.head_count_kv", s.kv_heads);
  w.f32(a + ".attention.layer_norm_rms_epsilon", s.norm_epsilon);
  w.f32(a + ".rope.freq_base", s.rope_base);
  w.string("tokenizer.ggml.model", "gpt2");
  w.string("tokenizer.ggml.pre", s.pre);
  w.strings("tokenizer.ggml.tokens", vocabulary(s.vocabulary));
  w.strings("tokenizer.ggml.merges", {});
}

// Gives the tensors their offsets.
std::vector<std::byte> make_header(const Sizes& s, std::vector<RandomTensor>& tensors) {
  HeaderWriter metadata;
  write_metadata(metadata, s);
  HeaderWriter w;
  w.number(uint32_t(0x46554747));  // "GGUF"
  w.number(uint32_t(3));
  w.number(uint64_t(tensors.size()));
  w.number(metadata.keys);
  w.bytes.insert(w.bytes.end(), metadata.bytes.begin(), metadata.bytes.end());
  int64_t at = 0;
  for (RandomTensor& t : tensors) {
    t.offset = at;
    t.bytes = dense_bytes(t.type.dtype, t.shape);
    at = (at + t.bytes + alignment - 1) / alignment * alignment;
    w.text(t.name);
    w.number(uint32_t(t.shape.size()));
    for (size_t i = t.shape.size(); i-- > 0;) w.number(uint64_t(t.shape[i]));
    w.number(t.type.ggml);
    w.number(uint64_t(t.offset));
  }
  w.pad(size_t(alignment));
  for (RandomTensor& t : tensors) t.offset += int64_t(w.bytes.size());
  return w.bytes;
}

// --------------------------------------------------------------------------------------------------------- the data

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) of a counter.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// Floats of magnitude 2^-7 to 2^-5, either sign: bits of a format with `mantissa` bits and this exponent bias.
uint32_t small_float(uint32_t random, int width, int mantissa, uint32_t bias) {
  const uint32_t sign = random >> 31, exponent = bias - 6 - (random >> 30 & 1), fraction = random & ((1u << mantissa) - 1);
  return sign << (width - 1) | exponent << mantissa | fraction;
}

// f16 bits of a power of two.
uint16_t f16_power(int exponent, bool negative = false) { return uint16_t(unsigned(negative) << 15 | unsigned(exponent + 15) << 10); }

// 256 bytes of plain floats, or one block of a quantised type: the unit that is made at a time.
constexpr int64_t plain_unit = 256;

int64_t unit_bytes(DType t) { return is_quantised(t) ? block_bytes(t) : plain_unit; }

void make_unit(const RandomTensor& t, uint64_t unit, std::byte* out) {
  const uint64_t seed = mix(uint64_t(t.offset)) ^ unit * 64;
  const auto words = [&](std::byte* to, int64_t bytes) {
    for (int64_t i = 0; i * 8 < bytes; ++i) {
      const uint64_t r = mix(seed + uint64_t(i));
      std::memcpy(to + i * 8, &r, size_t(std::min<int64_t>(8, bytes - i * 8)));
    }
  };
  const auto half = [&](int64_t at, uint16_t bits) { std::memcpy(out + at, &bits, 2); };
  switch (t.type.dtype) {
    case DType::q8_0: half(0, f16_power(-12)), words(out + 2, 32); return;
    case DType::q4_0: half(0, f16_power(-8)), words(out + 2, 16); return;
    case DType::q4_1: half(0, f16_power(-8)), half(2, f16_power(-5, true)), words(out + 4, 16); return;
    default: break;
  }
  words(out, plain_unit);
  const bool wide = t.type.dtype == DType::f32;
  const int mantissa = wide ? 23 : t.type.dtype == DType::bf16 ? 7 : 10;
  for (int64_t i = 0; i < plain_unit; i += wide ? 4 : 2) {
    uint32_t r = 0;
    std::memcpy(&r, out + i, wide ? 4 : 2);
    const uint32_t bits = wide && t.ones ? 0x3f800000u
                                         : small_float(wide ? r : r << 16 | r, wide ? 32 : 16, mantissa, t.type.dtype == DType::f16 ? 15 : 127);
    std::memcpy(out + i, &bits, wide ? 4 : 2);
  }
}

class RandomWeights final : public ByteSource {
 public:
  RandomWeights(std::string name, const Sizes& s, Type matrices) : name_(std::move(name)), tensors_(tensors_of(s, matrices)) {
    header_ = make_header(s, tensors_);
    size_ = tensors_.back().offset + tensors_.back().bytes;
  }
  const std::string& name() const override { return name_; }
  int64_t size() const override { return size_; }

  void read(int64_t offset, std::span<std::byte> out) const override {
    if (offset < 0 || offset > size_ || int64_t(out.size()) > size_ - offset)
      throw Error(ErrorCode::format, cat(name_, ": ", int64_t(out.size()), " bytes at ", offset, " are past its end at ", size_));
    while (!out.empty()) {
      const int64_t n = read_some(offset, out);
      out = out.subspan(size_t(n));
      offset += n;
    }
  }

 private:
  // Reads a part of `out` that lies in one piece; at least one byte.
  int64_t read_some(int64_t offset, std::span<std::byte> out) const {
    const int64_t wanted = int64_t(out.size()), header = int64_t(header_.size());
    if (offset < header) {
      const int64_t n = std::min(wanted, header - offset);
      std::memcpy(out.data(), header_.data() + offset, size_t(n));
      return n;
    }
    auto after = std::upper_bound(tensors_.begin(), tensors_.end(), offset,
                                  [](int64_t at, const RandomTensor& t) { return at < t.offset; });
    const RandomTensor& t = *(after - 1);
    const int64_t into = offset - t.offset;
    if (into >= t.bytes) {  // between two tensors
      const int64_t n = std::min(wanted, after->offset - offset);
      std::memset(out.data(), 0, size_t(n));
      return n;
    }
    return read_tensor(t, into, out.first(size_t(std::min(wanted, t.bytes - into))));
  }

  int64_t read_tensor(const RandomTensor& t, int64_t into, std::span<std::byte> out) const {
    const int64_t unit = unit_bytes(t.type.dtype);
    std::byte made[plain_unit];
    int64_t done = 0;
    while (done < int64_t(out.size())) {
      const int64_t at = into + done, skip = at % unit, n = std::min(unit - skip, int64_t(out.size()) - done);
      make_unit(t, uint64_t(at / unit), made);
      std::memcpy(out.data() + done, made + skip, size_t(n));
      done += n;
    }
    return done;
  }

  std::string name_;
  std::vector<RandomTensor> tensors_;  // by offset
  std::vector<std::byte> header_;
  int64_t size_ = 0;
};

template <class Rows, class Name>
std::string list(const Rows& rows, Name name) {
  std::string out;
  for (const auto& row : rows) out += cat(out.empty() ? "" : ", ", name(row));
  return out;
}

}  // namespace

std::shared_ptr<ByteSource> random_weights(const std::string& spec) {
  const size_t colon = spec.find(':');
  const std::string model = spec.substr(0, colon), type = colon == spec.npos ? "bf16" : spec.substr(colon + 1);
  for (const Sizes& s : known)
    for (const Type& t : types)
      if (model == s.name && type == to_string(t.dtype)) return std::make_shared<RandomWeights>(cat("random ", model, " in ", type), s, t);
  throw Error(ErrorCode::invalid_argument,
              cat("random weights were asked for as \"", spec, "\"; MODEL:TYPE is needed with a model of ",
                  list(known, [](const Sizes& s) { return s.name; }), " and a type of ",
                  list(types, [](const Type& t) { return to_string(t.dtype); })));
}

}  // namespace tenon::llm
