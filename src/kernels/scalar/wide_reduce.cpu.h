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

// ------------------------------------------------------------------------------------- about the row's own centre

// The maximum of both, a NaN where one is.
TENON_LOOP_INLINE double raised(double top, double x) { return x > top || x != x ? x : top; }
// What to subtract: -infinity from itself would be NaN.
TENON_LOOP_INLINE double shift_of(double top) { return top == -wide_infinity ? 0.0 : top; }

// Sums of x - near and of its square over a block of n elements, into the row's mean and sum of squared deviations.
// What x - near adds up to corrects for `near` not being the mean (A. Bjorck, in Chan, Golub and LeVeque, 1983).
// Means count from the first block's `near`, so that nothing is lost where the row lies far from zero.
void merge_deviations(Reduction& r, double near, double first, double second, int64_t n) {
  const double m = double(n), count = double(r.count), part = m / (count + m);
  if (r.count == 0) r.base = near;
  r.count += n;
  if (!(r.deviations + second < wide_infinity)) {  // infinite or NaN, and stays so
    r.deviations += second;
    return;
  }
  const double own = second - first * (first / m);
  const double apart = (near - r.base) + first / m - r.centre;
  r.centre += apart * part;
  r.deviations += (own < 0.0 ? 0.0 : own) + apart * apart * (count * part);
}

// As large as a block, a power of two: sums of x / block cannot overflow.
constexpr double block_scale = 1024.0;

void fold_wide_sum_exp(Reduction& r, const uint32_t* x, int64_t n) {
  const double before = r.centre;
  for (int64_t i = 0; i < n; ++i) r.centre = raised(r.centre, lane_at<double>(x, i));
  const double top = shift_of(r.centre), scale = __builtin_exp(before - top);
  double acc[wide_ways] = {};
  for (int64_t i = 0; i < n; ++i) acc[i % wide_ways] += __builtin_exp(lane_at<double>(x, i) - top);
  for (int l = 0; l < wide_ways; ++l)
    r.wide[l] = __builtin_bit_cast(uint64_t, __builtin_bit_cast(double, r.wide[l]) * scale + acc[l]);
}

TENON_LOOP_INLINE double total(const double* lanes) {
  double sum = 0.0;
  for (int l = 0; l < wide_ways; ++l) sum += lanes[l];
  return sum;
}
void fold_wide_sum_sq_dev(Reduction& r, const uint32_t* x, int64_t n) {
  double sum[wide_ways] = {}, first[wide_ways] = {}, second[wide_ways] = {};
  for (int64_t i = 0; i < n; ++i) sum[i % wide_ways] += lane_at<double>(x, i) * (1.0 / block_scale);
  const double near = total(sum) / double(n) * block_scale;
  for (int64_t i = 0; i < n; ++i) {
    const double d = lane_at<double>(x, i) - near;
    first[i % wide_ways] += d;
    second[i % wide_ways] += d * d;
  }
  merge_deviations(r, near, total(first), total(second), n);
}

void wide_reduce(ReduceOp op, Lane lane, Reduction& r, const uint32_t* x, int64_t n, int64_t first) {
  const bool real = lane == Lane::f64;
  switch (op) {
    case ReduceOp::sum: return real ? fold_wide<double, Sum>(r, x, n, 0.0) : fold_wide<uint64_t, Sum>(r, x, n, 0);
    case ReduceOp::prod: return real ? fold_wide<double, Product>(r, x, n, 1.0) : fold_wide<uint64_t, Product>(r, x, n, 1);
    case ReduceOp::max: return real ? fold_wide_max<double>(r, x, n) : fold_wide_max<int64_t>(r, x, n);
    case ReduceOp::argmax: return real ? fold_wide_argmax<double>(r, x, n, first) : fold_wide_argmax<int64_t>(r, x, n, first);
    case ReduceOp::sum_exp: return fold_wide_sum_exp(r, x, n);
    case ReduceOp::sum_sq_dev: return fold_wide_sum_sq_dev(r, x, n);
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
  if (op == ReduceOp::sum_sq_dev) return __builtin_bit_cast(uint64_t, r.deviations);
  if (product || op == ReduceOp::sum || op == ReduceOp::sum_exp) return lane == Lane::f64 ? join_wide<double>(r, product) : join_wide<uint64_t>(r, product);
  int best = 0;
  for (int l = 1; l < wide_ways; ++l) {
    const int64_t key = int64_t(r.wide[l]), most = int64_t(r.wide[best]);
    if (key > most || (key == most && r.index[l] < r.index[best])) best = l;
  }
  if (op == ReduceOp::max) return wide_key_to_lane(lane, int64_t(r.wide[best]));
  return r.empty ? 0 : r.index[best];
}

void begin_centre(ReduceOp op, Reduction& r) {
  r.centre = op == ReduceOp::sum_exp ? -wide_infinity : 0.0;
  r.base = r.deviations = 0.0;
  r.count = 0;
}

void wide_begin(ReduceOp op, Lane lane, Reduction& r) {
  uint64_t start = 0;
  if (op == ReduceOp::prod) start = lane == Lane::f64 ? wide_one : 1;
  if (op == ReduceOp::max || op == ReduceOp::argmax) start = lane == Lane::f64 ? uint64_t(wide_key(-wide_infinity)) : wide_sign;
  for (int l = 0; l < wide_ways; ++l) r.wide[l] = start;
  for (int l = 0; l < wide_ways; ++l) r.index[l] = 0;
  begin_centre(op, r);
  r.empty = true;
}

}  // namespace
}  // namespace tenon::cpu
