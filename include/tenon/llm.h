// Language models: load a GGUF, generate text, score ids.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/device.h"
#include "tenon/dtype.h"

namespace tenon {
class BpeTokenizer;
class ByteSource;
}

namespace tenon::llm {

// A model file's tokenizer alone; reads no weights. Copies share it; safe to share between threads.
class Tokenizer {
 public:
  // Throws Error(io | format | unsupported).
  static Tokenizer load(const std::string& path);
  // Any bytes; begins with bos where the model asks for it. parse_special: control tokens spelled out in the text
  // become those tokens.
  std::vector<int32_t> encode(std::string_view text, bool parse_special = true) const;
  // The tokens' bytes, not always UTF-8; control tokens give their spelling. Throws Error(invalid_argument) for an id
  // outside the vocabulary.
  std::string decode(const std::vector<int32_t>& ids) const;

  explicit Tokenizer(std::shared_ptr<const BpeTokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

 private:
  std::shared_ptr<const BpeTokenizer> tokenizer_;
};

struct LoadOptions {
  int64_t context = 0;               // most tokens that a conversation holds, 2 to the model's; 0: min(the model's, 4096)
  DType kv_dtype = DType::f16;       // f16 or f32
  // Called with bytes done and bytes in all; may be empty.
  std::function<void(int64_t, int64_t)> on_progress;
};

// Asks a running generation to stop; may be set from any thread or a signal handler.
struct Cancel {
  std::atomic<bool> requested{false};
};

struct GenerateOptions {
  int64_t max_tokens = 256;
  bool raw = false;        // the prompt as it is, special tokens recognised; false: as a user's message in the chat template
  std::string system;      // chat only; empty: the template's default
  float temperature = 0;   // 0: greedy
  uint32_t top_k = 0;      // 0: off
  float top_p = 1;         // 1: off
  float min_p = 0;         // 0: off
  uint64_t seed = 0;
  bool ignore_end = false; // goes on after the model's end token (for measuring)
  Cancel* cancel = nullptr;
};

enum class Finish { eos, length, interrupted };
const char* to_string(Finish f);  // "eos", "length", "interrupted"

struct Phase {
  double seconds = 0;
  int64_t tokens = 0;  // prefill: of the prompt; decode: generated after the first, which the prefill draws
  Counters counters;
};

struct Generation {
  std::vector<int32_t> prompt_ids;
  std::vector<int32_t> ids;   // generated, without the end token
  std::string text;           // UTF-8, without control tokens
  Finish finish = Finish::length;
  Phase prefill, decode;
};

struct TopLogits {
  std::vector<int32_t> ids;  // best first; ties: the lower id
  std::vector<float> logits;
};

// A loaded model and one conversation's memory. Copies share both. One call at a time: a second one, from another thread
// or from on_piece, throws Error(invalid_argument). Each call starts anew, whatever became of the one before.
class Model {
 public:
  // Throws Error(io | format | unsupported | out_of_memory): what is wrong with the file and what would work.
  static Model load(const std::string& path, const Device& device = Device::default_device(), const LoadOptions& options = {});
  // Error(invalid_argument) for options outside what LoadOptions documents.
  static Model load(std::shared_ptr<ByteSource> source, const Device& device, const LoadOptions& options = {});
  // The plan of one decode step (tokens = 1) or of a prompt chunk (at most 256), on any device that plans; reads no
  // weights. Text or a JSON object, with a summary of the launches in each layer.
  static std::string plan(const std::string& path, const Device& device, int64_t tokens, bool json, const LoadOptions& options = {});
  // Makes every plan that generating and scoring run, on a device that only plans (tenon/kernel_cache.h). Reads no weights.
  // Throws as load() does.
  static void plan_all(const std::string& path, const Device& device, const LoadOptions& options = {});

  // `on_piece` gets complete UTF-8 as it is generated; returning false stops (Finish::interrupted). It may be empty.
  // An empty prompt stands for the model's bos. Generation ends (Finish::length) when prompt and answer fill the context.
  // Throws Error(context_length) when the prompt leaves no room for an answer; Error(invalid_argument) for options or
  // ids outside what is documented, or an empty prompt without bos; Error(unsupported) without `raw` when the model's
  // chat template is not known.
  Generation generate(std::string_view prompt, const GenerateOptions& options = {},
                      const std::function<bool(std::string_view)>& on_piece = {});
  Generation generate_ids(const std::vector<int32_t>& prompt_ids, const GenerateOptions& options = {},
                          const std::function<bool(std::string_view)>& on_piece = {});
  // Teacher-forced: entry i holds the `top` best logits after ids[0..i]; NaN counts as best. Throws Error(context_length),
  // Error(invalid_argument) for an id outside the vocabulary, Error(cancelled).
  std::vector<TopLogits> score(const std::vector<int32_t>& ids, int64_t top = 2, Cancel* cancel = nullptr);

  std::vector<int32_t> encode(std::string_view text, bool parse_special = true) const;
  std::string decode(const std::vector<int32_t>& ids) const;

  const std::string& architecture() const;  // "llama", "qwen2"
  int64_t context() const;
  int64_t vocabulary() const;
  const Device& device() const;
  const Phase& load_phase() const;

  struct Impl;
  explicit Model(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

// A model of a true shape with random weights, for measuring: "MODEL:TYPE" with qwen2.5-0.5b, qwen2.5-1.5b, qwen2.5-7b or
// smollm2-135m, and f32, f16, bf16, q8_0, q4_0 or q4_1 (of the matrices; bf16 when left out). A GGUF file that is made
// while it is read, the same each time. Its tokens are the bytes and fillers. Throws Error(invalid_argument).
std::shared_ptr<ByteSource> random_weights(const std::string& spec);

}  // namespace tenon::llm
