// Part of kernels' text: draws a token from each row of logits, by the rules of kernels/sample/sample_token.h. Before it
// stands Buffers. A group takes one row.
//
// The tokens that are kept are those from some bar on, in the order of their logits and numbers. The bar is found four
// bits at a time: each thread sums the weights of its tokens by those bits. Weights are integers, so their sums have no
// order.

constexpr int bins = 16;

struct Draw {
  const float* logits;
  int64_t v;
  float temperature, top_p, min_p;
  uint32_t top_k;
  float largest;
  uint32_t best;  // the first of the largest
};

inline float scaled(const Draw& d, float logit) { return (logit - d.largest) / d.temperature; }
inline float weight_of(const Draw& d, float logit) { return exp_f32(scaled(d, logit)); }
inline bool can_be_drawn(float logit) { return logit > -infinity; }

// -------------------------------------------------------------------------------------------------- the best token

struct Scored {
  float score;
  uint32_t token;
};
inline Scored better(const Scored& a, const Scored& b) {
  return b.score > a.score || (b.score == a.score && b.token < a.token) ? b : a;
}

// The best of the group, for every thread.
inline Scored best_of_group(Scored x) {
  __shared__ Scored each[8];
#pragma unroll
  for (int mask = 1; mask < 32; mask <<= 1)
    x = better(x, {__shfl_xor_sync(0xffffffffu, x.score, mask), __shfl_xor_sync(0xffffffffu, x.token, mask)});
  if ((threadIdx.x & 31) == 0) each[threadIdx.x / 32] = x;
  __syncthreads();
  for (int w = 0; w < 8; ++w) x = better(x, each[w]);
  __syncthreads();
  return x;
}

// ---------------------------------------------------------------------------------------------------------- the bar

// A greater rank comes first.
inline uint64_t rank_of(float logit, uint32_t token) {
  const uint32_t bits = bits_of(logit == 0.0f ? 0.0f : logit);
  const uint32_t key = bits & sign_bit ? ~bits : bits | sign_bit;
  return uint64_t(key) << 32 | uint32_t(~token);
}
inline float logit_of_rank(uint64_t rank) {
  const uint32_t key = uint32_t(rank >> 32);
  return float_of(key & sign_bit ? key & ~sign_bit : ~key);
}

// How much is to be kept: a number of tokens, or a part of their mass.
struct Share {
  bool of_mass;
  int fraction_bits;  // of a mass; v of them fit 62 bits
  uint64_t total;
};
inline uint64_t measure(const Draw& d, const Share& s, float logit) {
  return s.of_mass ? uint64_t(double(weight_of(d, logit)) * double(uint64_t(1) << s.fraction_bits)) : uint64_t(1);
}
inline bool is_enough(const Draw& d, const Share& s, uint64_t sum) {
  return s.of_mass ? float(double(sum) / double(s.total)) >= d.top_p : sum >= uint64_t(d.top_k);
}

// sums[bin * 256 + thread] become totals[bin].
inline void add_up_bins(const uint64_t* sums, uint64_t* totals) {
  const int bin = threadIdx.x / 16, part = threadIdx.x % 16;
  uint64_t sum = 0;
  for (int i = 0; i < 16; ++i) sum += sums[bin * 256 + i * 16 + part];
#pragma unroll
  for (int mask = 1; mask < 16; mask <<= 1) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  if (part == 0) totals[bin] = sum;
}

// The highest bar from which on the share is reached by tokens that are not below `bar`; or that, if it is not.
inline uint64_t raised(const Draw& d, Share share, uint64_t bar) {
  __shared__ uint64_t sums[bins * 256];
  __shared__ uint64_t totals[bins];
  const int t = threadIdx.x;
  uint64_t prefix = 0, above = 0;
  for (int shift = 60; shift >= 0; shift -= 4) {
    for (int b = 0; b < bins; ++b) sums[b * 256 + t] = 0;
    for (int64_t i = t; i < d.v; i += 256) {
      const uint64_t rank = rank_of(d.logits[i], uint32_t(i));
      const bool within = shift == 60 || (rank ^ prefix) >> ((shift + 4) & 63) == 0;
      if (can_be_drawn(d.logits[i]) && rank >= bar && within) sums[int(rank >> shift & 15u) * 256 + t] += measure(d, share, d.logits[i]);
    }
    __syncthreads();
    add_up_bins(sums, totals);
    __syncthreads();
    if (shift == 60) {
      share.total = 0;
      for (int b = 0; b < bins; ++b) share.total += totals[b];
    }
    int chosen = bins - 1;
    for (; chosen >= 0; --chosen) {
      if (totals[chosen] != 0 && is_enough(d, share, above + totals[chosen])) break;
      above += totals[chosen];
    }
    if (chosen < 0) return bar;
    const uint64_t reached = above + totals[chosen];
    prefix |= uint64_t(chosen) << shift;
    __syncthreads();
    // All tokens with this logit, of those that are not below `bar`, are wanted.
    if (shift == 32 && !is_enough(d, share, reached - measure(d, share, logit_of_rank(prefix)))) break;
  }
  return prefix < bar ? bar : prefix;
}

// ------------------------------------------------------------------------------------------------------------- drawing

inline float gumbel(const uint32_t* scalars, const SampleParams& q, int64_t element) {
  const uint32_t word = philox_u(uint32_t(element), uint32_t(uint64_t(element) >> 32), scalars[q.seed_lo], scalars[q.seed_hi], scalars[q.position]);
  const float u = (float(word >> 9) + 0.5f) * 0x1p-23f;
  return -log_f32(-log_f32(u));
}

inline uint32_t draw(const Buffers& B, const SampleParams& q, const Draw& d, int64_t first_element) {
  constexpr float most_noise = 16.64f;  // above -log(-log(1 - 2^-24)) = 16.6355
  uint64_t bar = 0;
  const int bits = 64 - __clzll(d.v);
  if (d.top_k > 0u && int64_t(d.top_k) < d.v) bar = raised(d, {false, 0, 0}, bar);
  if (d.top_p < 1.0f) bar = raised(d, {true, 62 - bits, 0}, bar);
  Scored winner = {gumbel(B.scalars, q, first_element + d.best), d.best};
  for (int64_t i = threadIdx.x; i < d.v; i += 256) {
    const float logit = d.logits[i];
    if (!can_be_drawn(logit) || !(scaled(d, logit) + most_noise >= winner.score)) continue;
    if (rank_of(logit, uint32_t(i)) < bar || (d.min_p > 0.0f && !(weight_of(d, logit) >= d.min_p))) continue;
    winner = better(winner, {scaled(d, logit) + gumbel(B.scalars, q, first_element + i), uint32_t(i)});
  }
  return best_of_group(winner).token;
}

inline void sample_row(const Buffers& B, const SampleParams& q) {
  const int64_t row = group_index();
  if (row >= int64_t(q.n)) return;
  const uint32_t* s = B.scalars;
  Draw d = {B.b0 + row * int64_t(q.v), q.v, float_of(s[q.temperature]), float_of(s[q.top_p]), float_of(s[q.min_p]), s[q.top_k], 0.0f, 0u};
  Scored first = {-infinity, 0xffffffffu};
  for (int64_t i = threadIdx.x; i < d.v; i += 256) first = better(first, {d.logits[i], uint32_t(i)});
  first = best_of_group(first);
  d.largest = first.score;
  d.best = first.token == 0xffffffffu ? 0u : first.token;
  const float heat = d.largest / d.temperature;
  const bool finite = d.largest - d.largest == 0.0f && heat - heat == 0.0f;
  const bool greedy = !(d.temperature >= 1e-6f) || !finite || d.top_k == 1u;
  const uint32_t token = greedy ? d.best : draw(B, q, d, row * d.v);
  if (threadIdx.x == 0) B.b1[row] = token;
}
