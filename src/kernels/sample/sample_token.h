// Draws one token from a row of logits. Plain C++ in a fixed order: the same bits on every device that uses it.
#pragma once
#include <cstdint>

namespace tenon {

struct SampleOptions {
  float temperature = 0;  // below 1e-6, or so small that logits / temperature is not finite: the largest logit
  uint32_t top_k = 0;     // keep the k largest logits; 0 or at least V: all
  float top_p = 1;        // keep the smallest prefix, by falling logit, with at least this mass; 1 or more: all
  float min_p = 0;        // keep what is at least this fraction as likely as the likeliest; 0: all
  uint64_t seed = 0;
  uint32_t position = 0;  // stream of random numbers
};

struct SampleCandidate {
  float logit;
  uint32_t token;
};

// Keeps the top_k tokens by (logit falling, index rising), takes the softmax of logits / temperature over them, keeps
// of these the shortest prefix with mass >= top_p and what reaches min_p of the largest probability, and draws from
// the rest by Gumbel-max (Gumbel 1954; Maddison et al. 2014): the largest (logit - max) / temperature + noise, where
// noise = -log(-log(u)), u = ((bits >> 9) + 0.5) * 2^-23, and bits is the word `first_element` + token of
// Philox4x32-10 with key = seed, stream = position. The largest logit is kept always; NaN and -infinity are never
// drawn. If no logit is finite, or all options ask for one token: the first of the largest, or 0 if all are NaN.
//
// logits: v >= 1 values. `scratch`: v candidates.
uint32_t sample_token(const float* logits, int64_t v, int64_t first_element, const SampleOptions& options,
                      SampleCandidate* scratch);

}  // namespace tenon
