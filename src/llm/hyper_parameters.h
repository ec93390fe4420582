// A model's sizes, from a GGUF file's metadata.
#pragma once
#include <cstdint>
#include <string>

#include "io/gguf.h"

namespace tenon::llm {

struct HyperParameters {
  std::string architecture;
  int64_t layers = 0;
  int64_t channels = 0;   // C
  int64_t heads = 0;      // H, of the queries
  int64_t kv_heads = 0;   // G, divides H
  int64_t head_size = 0;  // D, even
  int64_t feed_forward = 0;
  int64_t vocabulary = 0;  // V
  int64_t context = 0;     // that the model was trained for
  double norm_epsilon = 0;
  double rope_base = 0;
};

// Throws Error(format) for a missing, ill-typed or senseless value; Error(unsupported) for what the decoders here would
// silently compute wrongly: scaled or partial rope, experts, a window of attention shorter than the context. Both name
// file and key.
HyperParameters read_hyper_parameters(const Gguf& gguf);

}  // namespace tenon::llm
