// References of scans, sorting and scatter: plain loops over whole rows, in Real.
#pragma once
#include <numeric>

#include "ops/reference.h"

namespace tenon::testing::ref {

// The dtype of running sums and products: narrow integers grow.
inline Values grown(const Values& v) {
  return {v.dtype == DType::u8 ? DType::u32 : v.dtype == DType::i8 ? DType::i32 : v.dtype, v.shape, v.data};
}
// out[i] = f(out[i - 1], x[i]) along an axis, out[0] = x[0].
inline Values running(const Values& v, int64_t axis, const std::function<Real(Real, Real)>& f) {
  return along(v, axis, [&](const Row& r) {
    Row out;
    for (Real x : r) out.push_back(out.empty() ? x : f(out.back(), x));
    return out;
  });
}
inline Values running_sum(const Values& x, int64_t axis) {
  const Values v = grown(x);
  return running(v, axis, [&](Real a, Real b) { return is_integer(v.dtype) ? wrap(v.dtype, Whole(a) + Whole(b)) : a + b; });
}
inline Values running_product(const Values& x, int64_t axis) {
  const Values v = grown(x);
  return running(v, axis, [&](Real a, Real b) {
    return is_integer(v.dtype) ? wrap(v.dtype, Whole(a) * Whole(b)) : a * b;
  });
}
inline Values running_max(const Values& v, int64_t axis) { return running(v, axis, maximum); }
inline Values running_logsumexp(const Values& v, int64_t axis) {
  return running(v, axis, [](Real a, Real b) { return logsumexp({a, b}); });
}

// NaN is the greatest value.
inline std::vector<size_t> sorted_positions(const Row& r, bool descending) {
  const auto before = [](Real a, Real b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
  std::vector<size_t> order(r.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const bool a_first = descending ? before(r[b], r[a]) : before(r[a], r[b]), b_first = descending ? before(r[a], r[b]) : before(r[b], r[a]);
    return a_first || (!b_first && a < b);
  });
  return order;
}
inline Values argsort(const Values& v, int64_t axis, bool descending) {
  return along({DType::i32, v.shape, v.data}, axis, [&](const Row& r) {
    const std::vector<size_t> order = sorted_positions(r, descending);
    return Row(order.begin(), order.end());
  });
}
inline Values sort(const Values& v, int64_t axis, bool descending) {
  return along(v, axis, [&](const Row& r) {
    Row out;
    for (size_t i : sorted_positions(r, descending)) out.push_back(r[i]);
    return out;
  });
}

enum class Scatter { set, add, max };
inline Real scattered(Scatter how, DType t, Real old, Real v) {
  if (how == Scatter::set) return v;
  if (how == Scatter::max) return maximum(old, v);
  return is_integer(t) ? wrap(t, Whole(old) + Whole(v)) : old + v;
}
// Every element of the source goes to `destination(its index)`, in row-major order; an axis out of range goes nowhere.
inline Values scatter_to(Scatter how, const Values& x, const Values& source, const std::function<Index(const Index&)>& destination, size_t axis) {
  Values out = x;
  build(source.dtype, source.shape, [&](const Index& i) {
    const Index to = destination(i);
    if (to[axis] >= 0 && to[axis] < x.shape[axis]) {
      auto& v = out.data[size_t(flat(x.shape, to))];
      v = scattered(how, x.dtype, v, get(source, i));
    }
    return 0.0;
  });
  return as(x.dtype, out);
}
inline Values index_scatter(Scatter how, const R& r, size_t axis) {
  Shape shape = r[0].shape;
  shape[axis] = r[1].shape[0];
  return scatter_to(how, r[0], broadcast_to(r[2], shape), [&](Index i) {
    i[axis] = int64_t(r[1].data[size_t(i[axis])]);
    return i;
  }, axis);
}
inline Values scatter_along(Scatter how, const R& r, size_t axis) {
  Shape shape = r[0].shape;
  shape[axis] = r[1].shape[axis];
  const Values index = broadcast_to(r[1], shape);
  return scatter_to(how, r[0], broadcast_to(r[2], shape), [&](Index i) {
    i[axis] = int64_t(get(index, i));
    return i;
  }, axis);
}

}  // namespace tenon::testing::ref
