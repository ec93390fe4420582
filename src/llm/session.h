// One conversation on a decoder: its KV cache and the compiled steps that advance it.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "llm/decoder.h"
#include "tenon/llm.h"

namespace tenon::llm {

// What a run of tokens leaves behind besides the cache.
enum class Output {
  none,
  greedy,   // the best next token, [1] i32
  sampled,  // a drawn next token, [1] i32
  logits,   // of every token, [T, V] f32
};

class Session {
 public:
  static constexpr int64_t first_capacity = 256;  // of the cache; it doubles up to the context
  static constexpr int64_t prefill_chunk = 256;   // most tokens of one run: bounds memory, and the wait for a Cancel
  static constexpr int64_t score_chunk = 64;      // of score(): its logits are V wide for each token

  Session(std::shared_ptr<const Decoder> decoder, const HyperParameters& h, const Device& device, int64_t context,
          DType kv_dtype);

  // An empty conversation, whatever came before (an error too).
  void begin();
  // Runs ids: [T] i32 behind the tokens so far, T up to prefill_chunk. Returns once it is submitted; the result of
  // `output`, or an empty Tensor. The caller keeps within the context.
  Tensor run(const Tensor& ids, Output output);
  Tensor run(const std::vector<int32_t>& ids, Output output);
  // Makes room for `tokens` in all, so that what follows grows nothing.
  void reserve(int64_t tokens);

  int64_t position() const { return position_; }
  int64_t context() const { return context_; }
  const Device& device() const { return device_; }
  SampleSettings& sampling() { return sampling_; }
  // The plan of one run of `tokens`, without running it.
  Compiled compile_run(int64_t tokens, Output output);

 private:
  struct Step {
    int64_t tokens;
    Output output;
    Compiled compiled;
  };
  const Compiled& step(int64_t tokens, Output output);
  bool lost() const;  // a run failed after it was submitted

  std::shared_ptr<const Decoder> decoder_;
  int64_t layers_, kv_heads_, head_size_, context_;
  DType kv_dtype_;
  Device device_;
  RopeTable rope_;
  KvCache cache_;
  std::vector<Step> steps_;  // for the cache's present capacity, last used first
  int64_t position_ = 0;
  bool running_ = false;     // a run began and did not end: its error may have cost the cache
  Scalar at_, kv_len_;
  SampleSettings sampling_;
};

}  // namespace tenon::llm
