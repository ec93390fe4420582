// Reductions of f64 and i64 lanes, in the order of loops.cpu.h.
// Only for the translation units of loop_table.cpu.h: internal linkage, nothing of std::.
#pragma once
#include "kernels/scalar/lanes.cpu.h"
#include "kernels/scalar/wide_math.cpu.h"

namespace tenon::cpu {
namespace {

constexpr int wide_ways = 16;

constexpr uint64_t top_wide_key = 0x7fffffffffffffffu;
// As for 4-byte lanes: integers whose order is that of the lanes, -0 before +0 and every NaN on top.
TENON_LOOP_INLINE int64_t wide_key(double x) {
  const int64_t b = int64_t(wide_bits(x));
  return x != x ? int64_t(top_wide_key) : b ^ int64_t(uint64_t(b >> 63) & top_wide_key);
}
TENON_LOOP_INLINE int64_t wide_key(int64_t x) { return x; }
// Zeros of both signs tie.
TENON_LOOP_INLINE int64_t argmax_key(double x) { return wide_key(x + 0.0); }
TENON_LOOP_INLINE int64_t argmax_key(int64_t x) { return x; }
TENON_LOOP_INLINE uint64_t wide_key_to_lane(Lane lane, int64_t key) {
  return lane == Lane::f64 ? uint64_t(key) ^ (uint64_t(key >> 63) & top_wide_key) : uint64_t(key);
}

struct Sum {
  template <class T>
  TENON_LOOP_INLINE static T of(T a, T b) { return a + b; }
};
struct Product {
  template <class T>
  TENON_LOOP_INLINE static T of(T a, T b) { return a * b; }
};

// T is double or uint64_t.
template <class T, class Op>
void fold_wide(Reduction& r, const uint32_t* x, int64_t n, T identity) {
  T acc[wide_ways];
  for (int l = 0; l < wide_ways; ++l) acc[l] = identity;
  const int64_t whole = n & ~int64_t(wide_ways - 1);
  for (int64_t i = 0; i < whole; i += wide_ways)
    for (int l = 0; l < wide_ways; ++l) acc[l] = Op::of(acc[l], lane_at<T>(x, i + l));
  for (int l = 0; l < wide_ways; ++l) {
    acc[l] = Op::of(acc[l], l < n - whole ? lane_at<T>(x, whole + l) : identity);
    r.wide[l] = __builtin_bit_cast(uint64_t, Op::of(__builtin_bit_cast(T, r.wide[l]), acc[l]));
  }
}

// T is double or int64_t.
template <class T>
void fold_wide_max(Reduction& r, const uint32_t* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t key = wide_key(lane_at<T>(x, i)), best = int64_t(r.wide[i % wide_ways]);
    r.wide[i % wide_ways] = uint64_t(key > best ? key : best);
  }
}
template <class T>
void fold_wide_argmax(Reduction& r, const uint32_t* x, int64_t n, int64_t first) {
  if (r.empty)
    for (int l = 0; l < wide_ways; ++l) r.index[l] = uint32_t(first) + uint32_t(l);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t key = argmax_key(lane_at<T>(x, i));
    const int64_t l = i % wide_ways;
    if (key <= int64_t(r.wide[l])) continue;
    r.wide[l] = uint64_t(key);
    r.index[l] = uint32_t(first) + uint32_t(i);
  }
}

void wide_reduce(ReduceOp op, Lane lane, Reduction& r, const uint32_t* x, int64_t n, int64_t first) {
  const bool real = lane == Lane::f64;
  switch (op) {
    case ReduceOp::sum: return real ? fold_wide<double, Sum>(r, x, n, 0.0) : fold_wide<uint64_t, Sum>(r, x, n, 0);
    case ReduceOp::prod: return real ? fold_wide<double, Product>(r, x, n, 1.0) : fold_wide<uint64_t, Product>(r, x, n, 1);
    case ReduceOp::max: return real ? fold_wide_max<double>(r, x, n) : fold_wide_max<int64_t>(r, x, n);
    case ReduceOp::argmax: return real ? fold_wide_argmax<double>(r, x, n, first) : fold_wide_argmax<int64_t>(r, x, n, first);
  }
}

// Lane l is combined with lane l + 8, then l + 4, l + 2, l + 1.
template <class T>
uint64_t join_wide(const Reduction& r, bool product) {
  T acc[wide_ways];
  for (int l = 0; l < wide_ways; ++l) acc[l] = __builtin_bit_cast(T, r.wide[l]);
  for (int half = wide_ways / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) acc[l] = product ? acc[l] * acc[l + half] : acc[l] + acc[l + half];
  return __builtin_bit_cast(uint64_t, acc[0]);
}

uint64_t wide_end(ReduceOp op, Lane lane, const Reduction& r) {
  const bool product = op == ReduceOp::prod;
  if (product || op == ReduceOp::sum) return lane == Lane::f64 ? join_wide<double>(r, product) : join_wide<uint64_t>(r, product);
  int best = 0;
  for (int l = 1; l < wide_ways; ++l) {
    const int64_t key = int64_t(r.wide[l]), most = int64_t(r.wide[best]);
    if (key > most || (key == most && r.index[l] < r.index[best])) best = l;
  }
  if (op == ReduceOp::max) return wide_key_to_lane(lane, int64_t(r.wide[best]));
  return r.empty ? 0 : r.index[best];
}

void wide_begin(ReduceOp op, Lane lane, Reduction& r) {
  uint64_t start = 0;
  if (op == ReduceOp::prod) start = lane == Lane::f64 ? wide_one : 1;
  if (op == ReduceOp::max || op == ReduceOp::argmax) start = lane == Lane::f64 ? uint64_t(wide_key(-wide_infinity)) : wide_sign;
  for (int l = 0; l < wide_ways; ++l) r.wide[l] = start;
  for (int l = 0; l < wide_ways; ++l) r.index[l] = 0;
  r.empty = true;
}

}  // namespace
}  // namespace tenon::cpu
