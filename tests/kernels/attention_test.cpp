// attention kernels against softmax(scale * q k^T) v in double precision, one row at a time.
#include <limits>

#include "kernels/anchor_case.h"

namespace tenon {
namespace {

const float nan_value = std::numeric_limits<float>::quiet_NaN();

struct Attention {
  int64_t b = 1, h = 1, g = 1, t = 1, s = 1, d = 1;
  bool causal = false;
  int64_t kv_len = -1, q_start = -1;  // -1: no run-time scalar
  DType q_type = DType::f32, kv_type = DType::f32;
  float scale = 0.125f;
  int64_t window = 0;
  float soft_cap = 0;
  bool masked = false;
  DType bias_type = DType::bool_;  // bool: no bias
  // Filled by make(): q is laid out [B,T,H,D] and padded, k [B,G,S,D], v [B,S,G,D], the mask [B,S,T] for all heads, the
  // bias [S,H] for all batches and queries, backwards along S.
  Data q{}, k{}, v{}, bias{};
  std::vector<std::byte> mask{};

  void make(uint32_t seed) {
    q = random_values(q_type, b * t * h * (d + 3), seed);
    k = random_values(kv_type, b * g * s * d, seed + 1);
    v = random_values(kv_type, b * s * g * d, seed + 2);
    if (biased()) bias = random_values(bias_type, s * h, seed + 3);
    for (float f : random_values(DType::f32, masked ? b * s * t : 0, seed + 4).values) mask.push_back(std::byte(f > -0.3f));
  }
  bool biased() const { return bias_type != DType::bool_; }
  bool seen(int64_t ib, int64_t it, int64_t is) const {
    const int64_t position = (q_start < 0 ? length() - t : q_start) + it;
    if (window > 0 && is <= position - window) return false;
    return !masked || mask[size_t((ib * s + is) * t + it)] != std::byte{0};
  }
  double score(double dot, int64_t ih, int64_t is) const {
    double x = dot * double(scale);
    if (soft_cap > 0) x = double(soft_cap) * std::tanh(x / double(soft_cap));
    return biased() ? x + double(bias.values[size_t((s - 1 - is) * h + ih)]) : x;
  }
  size_t q_at(int64_t ib, int64_t ih, int64_t it) const { return size_t(((ib * t + it) * h + ih) * (d + 3)); }
  size_t k_at(int64_t ib, int64_t ig, int64_t is) const { return size_t(((ib * g + ig) * s + is) * d); }
  size_t v_at(int64_t ib, int64_t ig, int64_t is) const { return size_t(((ib * s + is) * g + ig) * d); }
  int64_t length() const { return kv_len < 0 ? s : std::min(kv_len, s); }
  int64_t keys(int64_t it) const {
    const int64_t position = (q_start < 0 ? length() - t : q_start) + it;
    return causal || window > 0 ? std::max<int64_t>(0, std::min(length(), position + 1)) : length();
  }

  AnchorCase to_case() const {
    AnchorCase c;
    c.desc.family = "attention";
    c.desc.attributes = {causal || window > 0, window > 0, soft_cap > 0, masked, biased()};
    c.add_input(q_type, q.bytes.data());
    c.add_input(kv_type, k.bytes.data());
    c.add_input(kv_type, v.bytes.data());
    if (masked) c.add_input(DType::bool_, mask.data());
    if (biased()) c.add_input(bias_type, bias.bytes.data() + (s - 1) * h * block_bytes(bias_type));
    AttentionParams p;
    p.b = b, p.h = h, p.g = g, p.t = t, p.s = s, p.d = d;
    p.q_b = t * h * (d + 3), p.q_t = h * (d + 3), p.q_h = d + 3;
    p.k_b = g * s * d, p.k_g = s * d, p.k_s = d;
    p.v_b = s * g * d, p.v_s = g * d, p.v_g = d;
    p.scale = scale;
    p.window = window;
    p.soft_cap = soft_cap;
    p.mask[0] = s * t, p.mask[2] = 1, p.mask[3] = t;
    p.bias[1] = 1, p.bias[3] = -h;
    c.scalars = {uint32_t(kv_len), uint32_t(q_start)};
    if (kv_len >= 0) p.kv_len_slot = 0;
    if (q_start >= 0) p.q_start_slot = 1;
    c.params.attention = p;
    c.store_result(b * h * t * d);
    return c;
  }

  std::vector<double> row(int64_t ib, int64_t ih, int64_t it) const {
    const int64_t n = keys(it), ig = ih / (h / g);
    std::vector<double> w(static_cast<size_t>(n)), out(static_cast<size_t>(d), 0.0);
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < n; i++) {
      double x = 0;
      for (int64_t j = 0; j < d; j++)
        x += double(q.values[q_at(ib, ih, it) + size_t(j)]) * double(k.values[k_at(ib, ig, i) + size_t(j)]);
      w[size_t(i)] = seen(ib, it, i) ? score(x, ih, i) : -std::numeric_limits<double>::infinity();
      max = std::max(max, w[size_t(i)]);
    }
    if (std::isinf(max)) return out;
    for (double& x : w) sum += x = std::exp(x - max);
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < d; j++)
        out[size_t(j)] += w[size_t(i)] / sum * double(v.values[v_at(ib, ig, i) + size_t(j)]);
    return out;
  }

  void check(double tolerance) const {
    const AnchorCase c = to_case();
    for (const NativeKernel* kernel : rows_for("cpu", c.desc)) {
      const auto out = run_case(*kernel, c);
      size_t at = 0;
      for (int64_t ib = 0; ib < b; ib++)
        for (int64_t ih = 0; ih < h; ih++)
          for (int64_t it = 0; it < t; it++)
            for (double want : row(ib, ih, it)) {
              ASSERT_LE(std::abs(out[at++] - want), tolerance)
                  << kernel->name << " T=" << t << " S=" << s << " D=" << d << " kv_len=" << kv_len << " at " << ib
                  << "," << ih << "," << it;
            }
      expect_equal_bits(out, run_case(*kernel, c, Order::two_threads), kernel->name);
    }
  }
};

// |values| <= 1 and |scores| <= 8, so 1e-5 is a generous bound for f32 throughout.
constexpr double close = 1e-5;

TEST(AttentionKernel, HeadSizesAndLengths) {
  for (int64_t d : {1, 40, 64, 80, 96, 112, 128, 160, 256, 320})
    for (int64_t t : {1, 2, 7, 33})
      for (bool causal : {false, true}) {
        Attention a{.b = 2, .h = 4, .g = 2, .t = t, .s = 65, .d = d, .causal = causal};
        a.make(uint32_t(d + t));
        a.check(close);
      }
  for (int64_t s : {1, 31, 33, 63, 65, 127, 128, 129, 300})
    for (int64_t t : {int64_t(1), s / 2, s})
      if (t > 0) {
        Attention a{.h = 2, .g = 1, .t = t, .s = s, .d = 40, .causal = true};
        a.make(uint32_t(s * 7 + t));
        a.check(close);
      }
}

// Each option alone and all together, at lengths on both sides of the kernel's blocks.
TEST(AttentionKernel, Options) {
  for (int64_t t : {1, 3, 90})
    for (int64_t s : {5, 127, 129, 300})
      for (int option = 0; option < 5; option++) {
        Attention a{.b = 2, .h = 4, .g = 2, .t = t, .s = s, .d = 20, .scale = 0.5f};
        if (option == 0 || option == 4) a.window = 4;
        if (option == 1 || option == 4) a.soft_cap = 1.5f;
        if (option == 2 || option == 4) a.masked = true;
        if (option == 3) a.bias_type = DType::f32;
        if (option == 4) a.bias_type = DType::f16, a.kv_len = s - 2;
        a.make(uint32_t(t * s) + uint32_t(option));
        a.check(close);
      }
}

TEST(AttentionKernel, Windows) {
  for (int64_t t : {1, 100})
    for (int64_t window : {1, 2, 84, 127, 128, 129, 1000})
      for (int64_t q_start : {-1, 0, 290}) {
        Attention a{.h = 2, .t = t, .s = 300, .d = 8, .kv_len = 280, .q_start = q_start, .window = window};
        a.make(uint32_t(t + window));
        a.check(close);
      }
}

// What a window or a mask hides is never multiplied.
TEST(AttentionKernel, HiddenKeysMayHoldNan) {
  for (int64_t t : {1, 40})
    for (bool masked : {false, true}) {
      Attention a{.h = 2, .g = 1, .t = t, .s = 160, .d = 8, .window = masked ? 0 : 150, .masked = masked};
      a.make(8);
      if (t > 1 && !masked) a.window = 100;  // keys 0 to 20 are behind all windows
      for (int64_t is : {3, 7})
        for (int64_t j = 0; j < a.d; j++) {
          a.k.set(a.k_at(0, 0, is) + size_t(j), nan_value);
          a.v.set(a.v_at(0, 0, is) + size_t(j), nan_value);
          for (int64_t it = 0; masked && it < t; it++) a.mask[size_t(is * t + it)] = std::byte{0};
        }
      const AnchorCase c = a.to_case();
      Attention clean = a;
      for (int64_t is : {3, 7})
        for (int64_t j = 0; j < a.d; j++) clean.k.set(a.k_at(0, 0, is) + size_t(j), 0), clean.v.set(a.v_at(0, 0, is) + size_t(j), 0);
      for (const NativeKernel* kernel : rows_for("cpu", c.desc)) {
        const auto out = run_case(*kernel, c), want = run_case(*kernel, clean.to_case());
        for (size_t i = 0; i < out.size(); i++) ASSERT_NEAR(out[i], want[i], close) << kernel->name << " t=" << t << " " << masked;
      }
    }
}

TEST(AttentionKernel, Dtypes) {
  for (DType q : {DType::f32, DType::f16, DType::bf16})
    for (DType kv : {DType::f32, DType::f16, DType::bf16})
      for (int64_t t : {1, 90}) {
        Attention a{.h = 3, .g = 1, .t = t, .s = 140, .d = 20, .causal = true, .q_type = q, .kv_type = kv};
        a.make(5);
        a.check(close);
      }
}

TEST(AttentionKernel, StaleTailIsNeverRead) {
  for (int64_t t : {1, 3, 40})
    for (int64_t kv_len : {40, 128, 129, 200}) {
      Attention a{.h = 2, .g = 2, .t = t, .s = 260, .d = 24, .causal = true, .kv_len = kv_len};
      a.make(11);
      for (int64_t ig = 0; ig < 2; ig++)
        for (int64_t is = kv_len; is < a.s; is++)
          for (int64_t j = 0; j < a.d; j++) {
            a.k.set(a.k_at(0, ig, is) + size_t(j), nan_value);
            a.v.set(a.v_at(0, ig, is) + size_t(j), nan_value);
          }
      a.check(close);
    }
}

// A key that a query must not see changes nothing, whatever it holds.
TEST(AttentionKernel, LaterKeysDoNotReachEarlierQueries) {
  Attention a{.t = 50, .s = 50, .d = 16, .causal = true};
  a.make(3);
  AnchorCase c = a.to_case();
  for (const NativeKernel* kernel : rows_for("cpu", c.desc)) {
    Attention spoilt = a;
    for (int64_t j = 0; j < a.d; j++) {
      spoilt.k.set(spoilt.k_at(0, 0, 30) + size_t(j), nan_value);
      spoilt.v.set(spoilt.v_at(0, 0, 30) + size_t(j), std::numeric_limits<float>::infinity());
    }
    const AnchorCase d = spoilt.to_case();
    const auto out = run_case(*kernel, d);
    for (int64_t it = 0; it < 50; it++) {
      const auto want = a.row(0, 0, it);
      for (size_t j = 0; j < want.size(); j++) {
        const float x = out[size_t(it) * 16 + j];
        if (it < 30)
          EXPECT_LE(std::abs(x - want[j]), close) << kernel->name << " query " << it;
        else
          EXPECT_TRUE(std::isnan(x)) << kernel->name << " query " << it;
      }
    }
  }
}

TEST(AttentionKernel, StartOfQueriesFromARunTimeScalar) {
  for (int64_t t : {1, 5})
    for (int64_t q_start : {0, 3, 200}) {
      Attention a{.h = 2, .t = t, .s = 150, .d = 8, .causal = true, .kv_len = 140, .q_start = q_start};
      a.make(4);
      a.check(close);
    }
}

// Hazard S1: a row without keys is 0; here the queries that lie before the first key, and an empty cache.
TEST(AttentionKernel, RowWithoutKeysIsZero) {
  Attention before{.t = 6, .s = 2, .d = 4, .causal = true};
  before.make(1);
  before.check(close);
  for (int64_t t : {1, 3}) {
    Attention empty{.t = t, .s = 5, .d = 4, .kv_len = 0};
    empty.make(2);
    empty.check(0.0);
  }
}

// Hazard S1, from the data: scores that are all -infinity have no weight.
TEST(AttentionKernel, ScoresOfMinusInfinityAreZero) {
  for (int64_t t : {1, 4}) {
    Attention a{.t = t, .s = 9, .d = 4};
    a.make(1);
    for (size_t i = 0; i < a.q.values.size(); i++) a.q.set(i, 1.0f);
    for (size_t i = 0; i < a.k.values.size(); i++) a.k.set(i, -std::numeric_limits<float>::infinity());
    const AnchorCase c = a.to_case();
    for (const NativeKernel* kernel : rows_for("cpu", c.desc))
      for (float f : run_case(*kernel, c)) EXPECT_EQ(f, 0.0f) << kernel->name;
  }
}

// Hazard S4: the dot product 460,800 does not fit f16.
TEST(AttentionKernel, LargeScoresOfHalfPrecision) {
  for (int64_t t : {1, 2}) {
    Attention a{.t = t, .s = 2, .d = 128, .q_type = DType::f16, .kv_type = DType::f16};
    a.scale = 1.0f / std::sqrt(128.0f);
    a.make(1);
    for (size_t i = 0; i < a.q.values.size(); i++) a.q.set(i, 60.0f);
    for (size_t i = 0; i < a.k.values.size(); i++) a.k.set(i, 60.0f);
    for (size_t i = 0; i < a.v.values.size(); i++) a.v.set(i, i < 128 ? 1.0f : 3.0f);
    const AnchorCase c = a.to_case();
    for (const NativeKernel* kernel : rows_for("cpu", c.desc))
      for (float f : run_case(*kernel, c)) EXPECT_EQ(f, 2.0f) << kernel->name;
  }
}

// Hazard K5: heads 0 to 6 read key head 0, heads 7 to 13 key head 1.
TEST(AttentionKernel, GroupedHeads) {
  for (int64_t t : {1, 3}) {
    Attention a{.h = 14, .g = 2, .t = t, .s = 10, .d = 64};
    a.make(1);
    for (int64_t is = 0; is < a.s; is++)
      for (int64_t ig = 0; ig < 2; ig++)
        for (int64_t j = 0; j < a.d; j++) a.v.set(a.v_at(0, ig, is) + size_t(j), float(ig));
    const AnchorCase c = a.to_case();
    for (const NativeKernel* kernel : rows_for("cpu", c.desc)) {
      const auto out = run_case(*kernel, c);
      for (size_t i = 0; i < out.size(); i++)
        ASSERT_NEAR(out[i], int64_t(i) / (t * a.d) < 7 ? 0.0f : 1.0f, 1e-6f) << kernel->name;
    }
  }
}

// Hazard K7: equal scores, value row j = j, causal: row i is the mean of 0..i.
TEST(AttentionKernel, CausalMeans) {
  for (int64_t d : {40, 64, 80, 128})
    for (int64_t s : {1, 31, 33, 63, 65, 127, 129, 1000}) {
      Attention a{.t = s, .s = s, .d = d, .causal = true};
      a.make(1);
      for (size_t i = 0; i < a.k.values.size(); i++) a.k.set(i, 0.0f);
      for (size_t i = 0; i < a.v.values.size(); i++) a.v.set(i, float(int64_t(i) / d));
      const AnchorCase c = a.to_case();
      for (const NativeKernel* kernel : rows_for("cpu", c.desc)) {
        const auto out = run_case(*kernel, c);
        for (size_t i = 0; i < out.size(); i++) {
          const float want = float(int64_t(i) / d) / 2;
          ASSERT_NEAR(out[i], want, 1e-5f * (want + 1)) << kernel->name << " s=" << s << " d=" << d;
        }
      }
    }
}

TEST(AttentionKernel, ScoresFarApart) {
  for (int64_t t : {1, 2}) {
    Attention a{.t = t, .s = 300, .d = 16};
    a.scale = 100;
    a.make(9);
    a.check(1e-3);  // scores up to about 1,000 in f32: their own rounding is 6e-5 of a weight's logarithm
  }
}

}  // namespace
}  // namespace tenon
