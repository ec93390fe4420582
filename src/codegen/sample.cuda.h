// Part of kernels' text: draws a token from each row of logits, by the rules of kernels/sample/sample_token.h. Before
// it stands Buffers. A group takes one row.
//
// The tokens that are kept are those from some bar on, in the order of their logits and numbers. The bar is found four
// bits at a time: each thread sums the weights of its tokens by those bits. Weights are integers, so their sums have no
// order. As a rule the bar is high, and a list of a few hundred tokens holds all that are above it.

constexpr int threads = 1024, bins = 16, summing = 256, listed = 1024;

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

// Calls f(logit, token) for the thread's tokens; several loads are under way at once.
template <class F>
inline void for_tokens(const float* logits, int64_t v, F f) {
  constexpr int batch = 4;
  for (int64_t first = threadIdx.x; first < v; first += batch * threads) {
    float x[batch];
#pragma unroll
    for (int e = 0; e < batch; ++e) x[e] = first + e * threads < v ? logits[first + e * threads] : 0.0f;
#pragma unroll
    for (int e = 0; e < batch; ++e)
      if (first + e * threads < v) f(x[e], uint32_t(first + e * threads));
  }
}

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
  __shared__ Scored each[threads / 32];
#pragma unroll
  for (int mask = 1; mask < 32; mask <<= 1)
    x = better(x, {__shfl_xor_sync(0xffffffffu, x.score, mask), __shfl_xor_sync(0xffffffffu, x.token, mask)});
  if ((threadIdx.x & 31) == 0) each[threadIdx.x / 32] = x;
  __syncthreads();
  for (int w = 0; w < threads / 32; ++w) x = better(x, each[w]);
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

inline uint64_t sum_of_group(uint64_t x) {
  __shared__ uint64_t each[threads / 32];
#pragma unroll
  for (int mask = 1; mask < 32; mask <<= 1) x += __shfl_xor_sync(0xffffffffu, x, mask);
  if ((threadIdx.x & 31) == 0) each[threadIdx.x / 32] = x;
  __syncthreads();
  x = 0;
  for (int w = 0; w < threads / 32; ++w) x += each[w];
  __syncthreads();
  return x;
}

// Ranks in shared memory, or (null) those of the whole row.
struct Tokens {
  const uint64_t* ranks;
  int64_t count;
  uint64_t rank(const Draw& d, int64_t i) const { return ranks ? ranks[i] : rank_of(d.logits[i], uint32_t(i)); }
};

// sums[bin * summing + thread] become totals[bin].
inline void add_up_bins(const uint64_t* sums, uint64_t* totals) {
  const int bin = threadIdx.x / 16, part = threadIdx.x % 16;
  uint64_t sum = 0;
  for (int i = 0; i < 16; ++i) sum += sums[bin * summing + i * 16 + part];
#pragma unroll
  for (int mask = 1; mask < 16; mask <<= 1) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  if (part == 0) totals[bin] = sum;
}

// The highest bar from which on the share is reached by those of the tokens that are not below `bar`; or that, if it is
// not. A total of 0 is that of these tokens.
inline uint64_t raised(const Draw& d, Share share, const Tokens& tokens, uint64_t bar) {
  __shared__ uint64_t sums[bins * summing];
  __shared__ uint64_t totals[bins];
  const int t = threadIdx.x;
  uint64_t prefix = 0, above = 0;
  for (int shift = 60; shift >= 0; shift -= 4) {
    if (t < summing) {
      for (int b = 0; b < bins; ++b) sums[b * summing + t] = 0;
      for (int64_t i = t; i < tokens.count; i += summing) {
        const uint64_t rank = tokens.rank(d, i);
        const float logit = logit_of_rank(rank);
        const bool within = shift == 60 || (rank ^ prefix) >> ((shift + 4) & 63) == 0;
        if (can_be_drawn(logit) && rank >= bar && within)
          sums[int(rank >> shift & 15u) * summing + t] += measure(d, share, logit);
      }
    }
    __syncthreads();
    if (t < summing) add_up_bins(sums, totals);
    __syncthreads();
    if (share.total == 0)
      for (int b = 0; b < bins; ++b) share.total += totals[b];
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

// ------------------------------------------------------------------------------------------------- the list of tokens

// A rank that at least `count` tokens reach, and few more: that of the count-th of the largest of 256 parts. 1, which
// all reach, if there are not so many.
inline uint64_t low_bar(const Draw& d, uint64_t* most, int count) {
  __shared__ uint64_t bar;
  const int t = threadIdx.x;
  uint64_t own = 0;
  for_tokens(d.logits, d.v, [&](float logit, uint32_t token) {
    const uint64_t rank = rank_of(logit, token);
    if (can_be_drawn(logit) && rank > own) own = rank;
  });
#pragma unroll
  for (int mask = 1; mask < threads / 256; mask <<= 1) {
    const uint64_t other = __shfl_xor_sync(0xffffffffu, own, mask);
    own = other > own ? other : own;
  }
  if (t % (threads / 256) == 0) most[t / (threads / 256)] = own;
  if (t == 0) bar = 1;
  __syncthreads();
  if (t < 256) {
    own = most[t];
    int above = 0;
    for (int i = 0; i < 256; ++i) above += most[i] > own;
    if (own != 0 && above == count - 1) bar = own;
  }
  __syncthreads();
  return bar;
}

// The tokens from `from` on, and the mass of the whole row; all tokens if they are too many for the list.
inline Tokens list_tokens(const Draw& d, uint64_t* ranks, uint64_t from, Share& share) {
  __shared__ uint32_t found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  uint64_t sum = 0;
  for_tokens(d.logits, d.v, [&](float logit, uint32_t token) {
    if (!can_be_drawn(logit)) return;
    if (share.of_mass) sum += measure(d, share, logit);
    const uint64_t rank = rank_of(logit, token);
    if (rank < from) return;
    const uint32_t at = atomicAdd(&found, 1u);
    if (at < uint32_t(listed)) ranks[at] = rank;
  });
  share.total = sum_of_group(sum);
  return found <= uint32_t(listed) ? Tokens{ranks, int64_t(found)} : Tokens{nullptr, d.v};
}

// ------------------------------------------------------------------------------------------------------------- drawing

inline float gumbel(const uint32_t* scalars, const SampleParams& q, int64_t element) {
  const uint32_t word = philox_u(uint32_t(element), uint32_t(uint64_t(element) >> 32), scalars[q.seed_lo],
                                 scalars[q.seed_hi], scalars[q.position]);
  const float u = (float(word >> 9) + 0.5f) * 0x1p-23f;
  return -log_f32(-log_f32(u));
}

struct Kept {
  Tokens tokens;
  uint64_t bar;
};
inline Kept kept_tokens(const Draw& d) {
  __shared__ uint64_t ranks[listed];
  constexpr uint32_t most_listed = 192, first_guess = 64;
  const bool use_k = d.top_k > 0u && int64_t(d.top_k) < d.v, use_p = d.top_p < 1.0f;
  const Tokens row = {nullptr, d.v};
  if (!use_k && !use_p) return {row, 0};
  Share mass = {true, 62 - (64 - __clzll(d.v)), 0}, number = {false, 0, 0};
  Tokens tokens = row;
  if (!use_k || d.top_k <= most_listed) {
    const uint64_t from = low_bar(d, ranks, int(use_k ? d.top_k : first_guess));
    tokens = list_tokens(d, ranks, from, use_k ? number : mass);
  }
  if (use_k) {
    const uint64_t bar = raised(d, number, tokens, 0);
    mass.total = 0;  // of what top_k leaves
    return {tokens, use_p ? raised(d, mass, tokens, bar) : bar};
  }
  const uint64_t bar = raised(d, mass, tokens, 0);
  if (bar != 0) return {tokens, bar};
  return {row, raised(d, mass, row, 0)};
}

inline uint32_t draw(const Buffers& B, const SampleParams& q, const Draw& d, int64_t first_element) {
  constexpr float most_noise = 16.64f;  // above -log(-log(1 - 2^-24)) = 16.6355
  const Kept kept = kept_tokens(d);
  Scored winner = {gumbel(B.scalars, q, first_element + d.best), d.best};
  const auto offer = [&](float logit, uint32_t token) {
    if (!can_be_drawn(logit) || !(scaled(d, logit) + most_noise >= winner.score) || rank_of(logit, token) < kept.bar)
      return;
    if (d.min_p > 0.0f && !(weight_of(d, logit) >= d.min_p)) return;
    winner = better(winner, {scaled(d, logit) + gumbel(B.scalars, q, first_element + token), token});
  };
  if (kept.tokens.ranks == nullptr) {
    for_tokens(d.logits, d.v, offer);
  } else {
    for (int64_t i = threadIdx.x; i < kept.tokens.count; i += threads)
      offer(logit_of_rank(kept.tokens.ranks[i]), ~uint32_t(kept.tokens.ranks[i]));
  }
  return best_of_group(winner).token;
}

inline void sample_row(const Buffers& B, const SampleParams& q) {
  const int64_t row = group_index();
  if (row >= int64_t(q.n)) return;
  const uint32_t* s = B.scalars;
  Draw d = {B.b0 + row * int64_t(q.v),
            q.v,
            float_of(s[q.temperature]),
            float_of(s[q.top_p]),
            float_of(s[q.min_p]),
            s[q.top_k],
            0.0f,
            0u};
  Scored first = {-infinity, 0xffffffffu};
  for_tokens(d.logits, d.v, [&](float logit, uint32_t token) { first = better(first, {logit, token}); });
  first = best_of_group(first);
  d.largest = first.score;
  d.best = first.token == 0xffffffffu ? 0u : first.token;
  const float heat = d.largest / d.temperature;
  const bool finite = d.largest - d.largest == 0.0f && heat - heat == 0.0f;
  const bool greedy = !(d.temperature >= 1e-6f) || !finite || d.top_k == 1u;
  const uint32_t token = greedy ? d.best : draw(B, q, d, row * d.v);
  if (threadIdx.x == 0) B.b1[row] = token;
}
