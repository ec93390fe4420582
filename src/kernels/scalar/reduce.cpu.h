// Reductions in the fixed order of loops.cpu.h, in explicit vectors: compilers do not find them here.
// Only for the translation units of loop_table.cpu.h: internal linkage, nothing of std::.
#pragma once
#include "kernels/scalar/ops.cpu.h"
#include "kernels/scalar/wide_reduce.cpu.h"

namespace tenon::cpu {
namespace {

constexpr int ways = 16;
constexpr int vectors = ways / vector_lanes;

// max and argmax work on keys: i32 whose order is that of the lanes, with -0 before +0 and every NaN on top. Turning a
// key back gives the lane, and the quiet NaN 0x7fffffff for every NaN.
constexpr uint32_t top_key = 0x7fffffffu;
TENON_LOOP_INLINE VecI float_keys(VecF x) {
  const VecI b = (VecI)x;
  const VecI nan = x != x;
  return ((b ^ ((b >> 31) & int32_t(top_key))) & ~nan) | (int32_t(top_key) & nan);
}
template <Lane lane>
TENON_LOOP_INLINE VecI keys_at(const uint32_t* x, int j) {
  if constexpr (lane == Lane::f32) return float_keys(vector_at<VecF>(x, j));
  const VecI v = vector_at<VecI>(x, j);
  return lane == Lane::u32 ? v ^ int32_t(sign_bit) : v;
}
TENON_LOOP_INLINE uint32_t key_to_lane(Lane lane, int32_t key) {
  if (lane == Lane::f32) return uint32_t(key ^ ((key >> 31) & int32_t(top_key)));
  return lane == Lane::u32 ? uint32_t(key) ^ sign_bit : uint32_t(key);
}

// As lane bits.
TENON_LOOP_INLINE uint32_t reduce_identity(ReduceOp op, Lane lane) {
  if (op == ReduceOp::prod) return lane == Lane::f32 ? bits_of(1.0f) : 1;
  if (op == ReduceOp::sum || op == ReduceOp::sum_exp || op == ReduceOp::sum_sq_dev || lane == Lane::u32) return 0;
  return lane == Lane::f32 ? bits_of(-infinity) : sign_bit;
}

// The last elements of a row, filled up to 16 with the identity (which adds and wins nothing).
struct Tail {
  uint32_t lanes[ways];
};
TENON_LOOP_INLINE Tail tail_of(const uint32_t* x, int64_t n, uint32_t identity) {
  Tail t;
  for (int64_t l = 0; l < ways; ++l) t.lanes[l] = l < n ? x[l] : identity;
  return t;
}

template <class V>
void fold_sum(Reduction& r, const uint32_t* x, int64_t n) {
  V acc[vectors] = {};
  const Tail tail = tail_of(x + (n & ~int64_t(15)), n & 15, 0);
  for (int64_t i = 0; i + ways <= n; i += ways)
    for (int j = 0; j < vectors; ++j) acc[j] += vector_at<V>(x + i, j);
  for (int j = 0; j < vectors; ++j) {
    acc[j] += vector_at<V>(tail.lanes, j);
    set_vector(r.value, j, V(vector_at<V>(r.value, j) + acc[j]));
  }
}

template <class V, Lane lane>
void fold_prod(Reduction& r, const uint32_t* x, int64_t n) {
  const uint32_t one = reduce_identity(ReduceOp::prod, lane);
  const Tail ones = tail_of(x, 0, one), tail = tail_of(x + (n & ~int64_t(15)), n & 15, one);
  V acc[vectors];
  for (int j = 0; j < vectors; ++j) acc[j] = vector_at<V>(ones.lanes, j);
  for (int64_t i = 0; i + ways <= n; i += ways)
    for (int j = 0; j < vectors; ++j) acc[j] *= vector_at<V>(x + i, j);
  for (int j = 0; j < vectors; ++j) {
    acc[j] *= vector_at<V>(tail.lanes, j);
    set_vector(r.value, j, V(vector_at<V>(r.value, j) * acc[j]));
  }
}

// `keys`: of the maximum so far, in each lane.
template <Lane lane>
void fold_max(uint32_t* keys, const uint32_t* x, int64_t n) {
  VecI best[vectors];
  for (int j = 0; j < vectors; ++j) best[j] = vector_at<VecI>(keys, j);
  const auto take = [&best](const uint32_t* p) {
    for (int j = 0; j < vectors; ++j) {
      const VecI k = keys_at<lane>(p, j);
      best[j] = k > best[j] ? k : best[j];
    }
  };
  for (int64_t i = 0; i + ways <= n; i += ways) take(x + i);
  take(tail_of(x + (n & ~int64_t(15)), n & 15, reduce_identity(ReduceOp::max, lane)).lanes);
  for (int j = 0; j < vectors; ++j) set_vector(keys, j, best[j]);
}

template <Lane lane>
void fold_argmax(Reduction& r, const uint32_t* x, int64_t n, int64_t first) {
  // Before the first element each lane points at its own: a row of nothing but the identity has its maximum there.
  if (r.empty)
    for (int l = 0; l < ways; ++l) r.index[l] = uint32_t(first) + uint32_t(l);
  VecI best[vectors];
  VecU at[vectors];
  for (int j = 0; j < vectors; ++j) best[j] = vector_at<VecI>(r.value, j), at[j] = vector_at<VecU>(r.index, j);
  VecU here[vectors];
  for (int j = 0; j < vectors; ++j)
    for (int l = 0; l < vector_lanes; ++l) here[j][l] = uint32_t(first) + uint32_t(j * vector_lanes + l);
  const auto take = [&best, &at, &here](const uint32_t* p) {
    for (int j = 0; j < vectors; ++j) {
      VecI k = keys_at<lane>(p, j);
      if constexpr (lane == Lane::f32) k = float_keys(vector_at<VecF>(p, j) + 0.0f);  // -0 ties with +0
      const VecI better = k > best[j];
      best[j] = better ? k : best[j];
      at[j] = better ? here[j] : at[j];
      here[j] += uint32_t(ways);
    }
  };
  for (int64_t i = 0; i + ways <= n; i += ways) take(x + i);
  take(tail_of(x + (n & ~int64_t(15)), n & 15, reduce_identity(ReduceOp::argmax, lane)).lanes);
  for (int j = 0; j < vectors; ++j) {
    set_vector(r.value, j, best[j]);
    set_vector(r.index, j, at[j]);
  }
}

TENON_LOOP_INLINE uint32_t lowest_key(Lane lane) { return lane == Lane::f32 ? bits_of(-infinity) ^ top_key : sign_bit; }

void fold_sum_exp(Reduction& r, const uint32_t* x, int64_t n) {
  uint32_t keys[ways];
  for (int l = 0; l < ways; ++l) keys[l] = lowest_key(Lane::f32);
  fold_max<Lane::f32>(keys, x, n);
  int32_t key = int32_t(keys[0]);
  for (int l = 1; l < ways; ++l) key = int32_t(keys[l]) > key ? int32_t(keys[l]) : key;
  const double before = r.centre;
  r.centre = raised(r.centre, double(float_of(key_to_lane(Lane::f32, key))));
  const float top = float(shift_of(r.centre)), scale = exp_f32(float(before) - top);
  for (int l = 0; l < ways; ++l) r.value[l] = bits_of(float_of(r.value[l]) * scale);
  uint32_t terms[int64_t(block_scale)];
  for (int64_t i = 0; i < n; ++i) terms[i] = bits_of(exp_f32(float_of(x[i]) - top));
  fold_sum<VecF>(r, terms, n);
}

TENON_LOOP_INLINE double total(const VecF* lanes) {
  double sum = 0.0;
  for (int l = 0; l < ways; ++l) sum += double(lanes[l / vector_lanes][l % vector_lanes]);
  return sum;
}
void fold_sum_sq_dev(Reduction& r, const uint32_t* x, int64_t n) {
  const int64_t whole = n & ~int64_t(15);
  VecF sum[vectors] = {}, first[vectors] = {}, second[vectors] = {};
  const auto add = [&sum](const uint32_t* p) {
    for (int j = 0; j < vectors; ++j) sum[j] += vector_at<VecF>(p, j) * float(1.0 / block_scale);
  };
  for (int64_t i = 0; i < whole; i += ways) add(x + i);
  add(tail_of(x + whole, n - whole, 0).lanes);
  const float near = float(total(sum) / double(n) * block_scale);
  const auto deviate = [&](const uint32_t* p) {
    for (int j = 0; j < vectors; ++j) {
      const VecF d = vector_at<VecF>(p, j) - near;
      first[j] += d;
      second[j] += d * d;
    }
  };
  for (int64_t i = 0; i < whole; i += ways) deviate(x + i);
  // Nothing is added for an element that is `near`; there is none where that is no number or infinite.
  if (n > whole) deviate(tail_of(x + whole, n - whole, bits_of(near)).lanes);
  merge_deviations(r, double(near), total(first), total(second), n);
}

void reduce(ReduceOp op, Lane lane, Reduction& r, const uint32_t* x, int64_t n, int64_t first) {
  if (n <= 0) return;
  if (is_wide(lane)) {
    wide_reduce(op, lane, r, x, n, first);
    r.empty = false;
    return;
  }
  switch (op) {
    case ReduceOp::sum:
      if (lane == Lane::f32) fold_sum<VecF>(r, x, n);
      else fold_sum<VecU>(r, x, n);
      break;
    case ReduceOp::prod:
      if (lane == Lane::f32) fold_prod<VecF, Lane::f32>(r, x, n);
      else fold_prod<VecU, Lane::u32>(r, x, n);
      break;
    case ReduceOp::max:
      if (lane == Lane::f32) fold_max<Lane::f32>(r.value, x, n);
      if (lane == Lane::i32) fold_max<Lane::i32>(r.value, x, n);
      if (lane == Lane::u32) fold_max<Lane::u32>(r.value, x, n);
      break;
    case ReduceOp::argmax:
      if (lane == Lane::f32) fold_argmax<Lane::f32>(r, x, n, first);
      if (lane == Lane::i32) fold_argmax<Lane::i32>(r, x, n, first);
      if (lane == Lane::u32) fold_argmax<Lane::u32>(r, x, n, first);
      break;
    case ReduceOp::sum_exp: fold_sum_exp(r, x, n); break;
    case ReduceOp::sum_sq_dev: fold_sum_sq_dev(r, x, n); break;
  }
  r.empty = false;
}

// Lane l is combined with lane l + 8, then l + 4, l + 2, l + 1.
template <class T>
uint32_t join(const Reduction& r, bool product) {
  T acc[ways];
  for (int l = 0; l < ways; ++l) acc[l] = lane_as<T>(r.value[l]);
  for (int half = ways / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) acc[l] = product ? acc[l] * acc[l + half] : acc[l] + acc[l + half];
  return lane_of(acc[0]);
}
// Of lanes that hold the same key the one that met it first.
int best_lane(const Reduction& r) {
  int best = 0;
  for (int l = 1; l < ways; ++l) {
    const int32_t key = int32_t(r.value[l]), most = int32_t(r.value[best]);
    if (key > most || (key == most && r.index[l] < r.index[best])) best = l;
  }
  return best;
}

uint64_t end(ReduceOp op, Lane lane, const Reduction& r) {
  if (is_wide(lane)) return wide_end(op, lane, r);
  const bool product = op == ReduceOp::prod;
  if (op == ReduceOp::sum_sq_dev) return bits_of(float(r.deviations));
  if (product || op == ReduceOp::sum || op == ReduceOp::sum_exp) return lane == Lane::f32 ? join<float>(r, product) : join<uint32_t>(r, product);
  const int best = best_lane(r);
  if (op == ReduceOp::max) return key_to_lane(lane, int32_t(r.value[best]));
  return r.empty ? 0 : r.index[best];
}

void begin(ReduceOp op, Lane lane, Reduction& r) {
  if (is_wide(lane)) return wide_begin(op, lane, r);
  const uint32_t identity = reduce_identity(op, lane);
  const uint32_t lowest = lowest_key(lane);  // of -inf, of the smallest i32, and of 0 as u32
  const bool keys = op == ReduceOp::max || op == ReduceOp::argmax;
  for (int l = 0; l < ways; ++l) r.value[l] = keys ? lowest : identity;
  for (int l = 0; l < ways; ++l) r.index[l] = 0;
  begin_centre(op, r);
  r.empty = true;
}

}  // namespace
}  // namespace tenon::cpu
