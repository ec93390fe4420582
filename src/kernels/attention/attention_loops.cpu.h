// The loop that attention needs beside those of matmul; one per instruction set.
#pragma once
#include <cstdint>

namespace tenon::cpu {

// State of a softmax that sees its row in pieces (Milakov and Gimelshein, 2018).
struct RunningSoftmax {
  float max;  // -infinity before the first piece
  float sum;  // of exp(score - max)
};

struct AttentionLoops {
  // Turns s[0..n), which are dot products, into exp(scale * s - max) and counts them into `row`. Returns the factor
  // that brings what was summed under the old maximum to the new one. n >= 1.
  float (*softmax_piece)(float* s, int64_t n, float scale, RunningSoftmax& row);
  void (*scale)(float* x, int64_t n, float factor);  // in place
};

extern const AttentionLoops attention_loops_baseline;
extern const AttentionLoops attention_loops_avx2;
extern const AttentionLoops attention_loops_avx512;

}  // namespace tenon::cpu
