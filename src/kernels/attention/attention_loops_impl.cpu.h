// The definitions behind AttentionLoops, compiled once per instruction set: see simd.cpu.h for the rules here.
#pragma once
#include "kernels/attention/attention_loops.cpu.h"
#include "kernels/matmul/simd.cpu.h"

namespace tenon::cpu {
namespace {

#if defined(__AVX512F__)
inline V round_to_even(V x) { return _mm512_roundscale_ps(x, 0); }
inline V zero_if_less(V x, V limit, V e) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), e);
}
inline V times_power_of_two(V x, V n) { return _mm512_scalef_ps(x, n); }
#elif defined(__AVX2__)
inline V round_to_even(V x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline V zero_if_less(V x, V limit, V e) { return _mm256_and_ps(_mm256_cmp_ps(x, limit, _CMP_NLT_UQ), e); }
inline V times_power_of_two(V x, V n) {
  const __m256i e = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  return _mm256_mul_ps(x, _mm256_castsi256_ps(e));
}
#else
inline V zero_if_less(V x, V limit, V e) { return x < limit ? zero() : e; }
inline V round_to_even(V x) { return (x + set1(0x1.8p23f)) - set1(0x1.8p23f); }
inline V times_power_of_two(V x, V n) {
  const U integer = U(n + set1(0x1.8p23f)) - 0x4b400000u;  // the sum keeps it in its low bits
  return x * V((integer + 127u) << 23);
}
#endif

// exp(x) for x <= 0, to 2 ulp; 0 below -87, which has no weight beside the maximum's 1. NaN stays NaN.
// x = n ln 2 + r, exp(r) by its Taylor polynomial on |r| <= 0.35.
inline V exp_negative(V argument) {
  const V x = max_or_second(set1(-87.0f), argument);
  const V n = round_to_even(mul(x, set1(0x1.715476p0f)));
  V r = fma(n, set1(-0x1.62ep-1f), x);  // ln 2 in two parts, the first short enough to be exact
  r = fma(n, set1(-0x1.0bfbe8p-15f), r);
  V p = set1(1.0f / 5040);
  p = fma(p, r, set1(1.0f / 720));
  p = fma(p, r, set1(1.0f / 120));
  p = fma(p, r, set1(1.0f / 24));
  p = fma(p, r, set1(1.0f / 6));
  p = fma(p, r, set1(0.5f));
  p = fma(p, r, set1(1.0f));
  p = fma(p, r, set1(1.0f));
  return zero_if_less(argument, set1(-87.0f), times_power_of_two(p, n));
}

constexpr float infinity = __builtin_inff();

inline float exp_one(float x) {
  float out[lanes];
  store(out, exp_negative(set1(x)));
  return out[0];
}

// The largest of s[0..n), NaN left out.
inline float largest(const float* s, int64_t n) {
  V m = set1(-infinity);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) m = max_or_second(load(s + i), m);
  float part[lanes], best = -infinity;
  store(part, m);
  for (int j = 0; j < lanes; j++) best = part[j] > best ? part[j] : best;
  for (; i < n; i++) best = s[i] > best ? s[i] : best;
  return best;
}

void scale(float* x, int64_t n, float factor) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store(x + i, mul(load(x + i), set1(factor)));
  for (; i < n; i++) x[i] *= factor;
}

float softmax_piece(float* s, int64_t n, float factor, RunningSoftmax& row) {
  scale(s, n, factor);
  const float piece = largest(s, n), max = piece > row.max ? piece : row.max;
  // While all scores are -infinity their weights are 0, not exp(-inf + inf).
  const float shift = max == -infinity ? 0.0f : -max;
  V total = zero();
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V e = exp_negative(add(load(s + i), set1(shift)));
    store(s + i, e);
    total = add(total, e);
  }
  if (i < n) {
    store_part(s + i, exp_negative(add(load_part(s + i, n - i), set1(shift))), n - i);
    total = add(total, load_part(s + i, n - i));
  }
  const float before = row.max == max || row.max == -infinity ? 1.0f : exp_one(row.max - max);
  row.sum = row.sum * before + sum(total);
  row.max = max;
  return before;
}

constexpr AttentionLoops attention_loops{softmax_piece, scale};

}  // namespace
}  // namespace tenon::cpu
