#include "kernels/sample/sample_token.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
constexpr float most_noise = 16.64f;  // above -log(-log(1 - 2^-24)) = 16.6355

// Philox4x32-10 (Salmon et al., SC 2011) as scalar.def lays it out; remembers the last four words.
class Noise {
 public:
  Noise(uint64_t seed, uint32_t stream) : seed_(seed), stream_(stream) {}

  float gumbel(int64_t element) {
    const float u = (float(word(uint64_t(element)) >> 9) + 0.5f) * 0x1p-23f;
    return -std::log(-std::log(u));
  }

 private:
  uint32_t word(uint64_t element) {
    if (element / 4 != block_) fill(element / 4);
    return words_[element % 4];
  }
  void fill(uint64_t block) {
    uint32_t x[4] = {uint32_t(block), uint32_t(block >> 32), stream_, 0};
    uint32_t key0 = uint32_t(seed_), key1 = uint32_t(seed_ >> 32);
    for (int round = 0; round < 10; round++, key0 += 0x9e3779b9u, key1 += 0xbb67ae85u) {
      const uint64_t a = uint64_t(0xd2511f53u) * x[0], b = uint64_t(0xcd9e8d57u) * x[2];
      const uint32_t next[4] = {uint32_t(b >> 32) ^ x[1] ^ key0, uint32_t(b), uint32_t(a >> 32) ^ x[3] ^ key1,
                                uint32_t(a)};
      std::copy(next, next + 4, x);
    }
    std::copy(x, x + 4, words_);
    block_ = block;
  }

  uint64_t seed_;
  uint32_t stream_;
  uint64_t block_ = ~uint64_t(0);
  uint32_t words_[4] = {};
};

// The token with the largest noisy score; the lower index on ties, so the order of offering does not matter.
class Winner {
 public:
  Winner(const SampleOptions& o, float max, int64_t first)
      : noise_(o.seed, o.position), t_(o.temperature), max_(max), first_(first) {}
  // Whether any noise could make this logit win; false for NaN and -infinity. Spares the noise of most tokens.
  bool could_win(float logit) const { return logit > minus_infinity && scaled(logit) + most_noise >= score_; }
  void offer(float logit, uint32_t token) {
    if (!could_win(logit)) return;
    const float score = scaled(logit) + noise_.gumbel(first_ + token);
    if (score > score_ || (score == score_ && token < token_)) {
      score_ = score;
      token_ = token;
    }
  }
  uint32_t token() const { return token_; }

 private:
  float scaled(float logit) const { return (logit - max_) / t_; }

  Noise noise_;
  float t_, max_;
  int64_t first_;
  float score_ = minus_infinity;
  uint32_t token_ = 0xffffffffu;
};

float largest(const float* logits, int64_t v) {
  float lanes[16];  // independent maxima, which the compiler turns into vectors
  std::fill(lanes, lanes + 16, minus_infinity);
  int64_t i = 0;
  for (; i + 16 <= v; i += 16)
    for (int j = 0; j < 16; j++) lanes[j] = logits[i + j] > lanes[j] ? logits[i + j] : lanes[j];
  float max = minus_infinity;
  for (float f : lanes) max = f > max ? f : max;
  for (; i < v; i++) max = logits[i] > max ? logits[i] : max;
  return max;
}

uint32_t first_of(float value, const float* logits, int64_t v) {
  const float* found = std::find(logits, logits + v, value);
  return found == logits + v ? 0 : uint32_t(found - logits);
}

bool better(const SampleCandidate& a, const SampleCandidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

// The k best tokens, sorted; fewer if fewer are above -infinity. Tokens that beat the k-th best so far are collected;
// when the buffer of 2k is full, the better half stays. `out` holds min(2k, v).
int64_t select(const float* logits, int64_t v, int64_t k, SampleCandidate* out) {
  const int64_t room = std::min(2 * k, v);
  float bar = minus_infinity;
  int64_t n = 0;
  for (int64_t i = 0; i < v; i++) {
    if (!(logits[i] > bar)) continue;  // an equal logit with a higher index loses
    if (n == room) {
      std::nth_element(out, out + k - 1, out + n, better);
      n = k;
      bar = out[k - 1].logit;
      if (!(logits[i] > bar)) continue;
    }
    out[n++] = {logits[i], uint32_t(i)};
  }
  const int64_t kept = std::min(n, k);
  if (kept < n) std::nth_element(out, out + kept, out + n, better);
  std::sort(out, out + kept, better);
  return kept;
}

struct Weights {
  float max, temperature;
  float of(float logit) const { return std::exp((logit - max) / temperature); }  // relative to the largest
  double total(const float* logits, int64_t v) const {
    const float least = -88.0f;  // below it a weight is under 1e-38
    double sum = 0;
    for (int64_t i = 0; i < v; i++)
      if ((logits[i] - max) / temperature > least) sum += double(of(logits[i]));
    return sum;
  }
};

// Length of the shortest prefix with mass >= top_p, or -1 if the n candidates do not reach it.
int64_t prefix(const SampleCandidate* sorted, int64_t n, const Weights& weights, double total, float top_p) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += double(weights.of(sorted[i].logit));
    if (float(sum / total) >= top_p) return i + 1;
  }
  return -1;
}

// The candidates that top_k and top_p leave, sorted.
int64_t keep(const float* logits, int64_t v, const SampleOptions& o, const Weights& weights, bool use_k, bool use_p,
             SampleCandidate* out) {
  if (use_k) {
    const int64_t n = select(logits, v, int64_t(o.top_k), out);
    if (!use_p) return n;
    double total = 0;
    for (int64_t i = 0; i < n; i++) total += double(weights.of(out[i].logit));
    const int64_t m = prefix(out, n, weights, total, o.top_p);
    return m < 0 ? n : m;
  }
  // The prefix is short as a rule: look among a few, then among more.
  const double total = weights.total(logits, v);
  for (int64_t k = 64;; k *= 8) {
    const int64_t n = select(logits, v, std::min(k, v), out);
    const int64_t m = prefix(out, n, weights, total, o.top_p);
    if (m >= 0) return m;
    if (n < k) return n;
  }
}

}  // namespace

uint32_t sample_token(const float* logits, int64_t v, int64_t first_element, const SampleOptions& o,
                      SampleCandidate* scratch) {
  const float max = largest(logits, v);
  const uint32_t best = first_of(max, logits, v);
  const bool greedy = !(o.temperature >= 1e-6f) || !std::isfinite(max / o.temperature) || !std::isfinite(max);
  if (greedy || o.top_k == 1) return best;

  const Weights weights{max, o.temperature};
  const bool use_k = o.top_k > 0 && int64_t(o.top_k) < v, use_p = o.top_p < 1.0f, use_min = o.min_p > 0.0f;
  Winner winner(o, max, first_element);
  winner.offer(max, best);
  const auto passes = [&](float logit) { return !use_min || weights.of(logit) >= o.min_p; };
  if (use_k || use_p) {
    const int64_t n = keep(logits, v, o, weights, use_k, use_p, scratch);
    for (int64_t i = 0; i < n && passes(scratch[i].logit); i++) winner.offer(scratch[i].logit, scratch[i].token);
  } else {
    for (int64_t i = 0; i < v; i++)
      if (winner.could_win(logits[i]) && passes(logits[i])) winner.offer(logits[i], uint32_t(i));
  }
  return winner.token();
}

}  // namespace tenon
