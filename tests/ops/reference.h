// Plain ops over row-major values in Real, which has more bits than an f64: the reference of tests/ops/cases.def. Nothing of Tenon's ops or
// kernels is used; results are rounded once, to the dtype that is named.
#pragma once
#include <functional>
#include <limits>
#include <numbers>

#include "support/compare.h"
#include "support/special.h"

namespace tenon::testing::ref {

using Index = std::vector<int64_t>;
using R = std::vector<Values>;
constexpr Real inf = std::numeric_limits<Real>::infinity();
constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();

inline int64_t flat(const Shape& shape, const Index& at) {
  int64_t i = 0;
  for (size_t a = 0; a < shape.size(); ++a) i = i * shape[a] + at[a];
  return i;
}
inline Real get(const Values& v, const Index& at) { return v.data[size_t(flat(v.shape, at))]; }

// Row-major values of f(index).
inline Values build(DType t, Shape shape, const std::function<Real(const Index&)>& f) {
  Values out{t, std::move(shape), {}};
  Index at(out.shape.size(), 0);
  for (int64_t n = element_count(out.shape); n > 0; --n) {
    out.data.push_back(rounded_to(t, f(at)));
    for (size_t a = at.size(); a-- > 0;) {
      if (++at[a] < out.shape[a]) break;
      at[a] = 0;
    }
  }
  return out;
}

inline size_t axis_of(const Values& v, int64_t axis) { return size_t(axis < 0 ? axis + int64_t(v.shape.size()) : axis); }
inline Values as(DType t, Values v) {
  v.dtype = t;
  for (Real& d : v.data) d = rounded_to(t, d);
  return v;
}

// --------------------------------------------------------------------------------------------------- element-wise

inline Real broadcast_get(const Values& v, const Index& at) {
  Index own(at.end() - int64_t(v.shape.size()), at.end());
  for (size_t a = 0; a < own.size(); ++a)
    if (v.shape[a] == 1) own[a] = 0;
  return get(v, own);
}
inline Shape broadcast_shape(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (const Shape* s : {&a, &b})
    for (size_t i = 0; i < s->size(); ++i)
      if (int64_t& d = out[out.size() - 1 - i]; d == 1) d = (*s)[s->size() - 1 - i];
  return out;
}
inline Values map(const Values& x, const std::function<Real(Real)>& f) {
  return build(x.dtype, x.shape, [&](const Index& i) { return f(get(x, i)); });
}
inline Values map(const Values& a, const Values& b, const std::function<Real(Real, Real)>& f) {
  return build(a.dtype, broadcast_shape(a.shape, b.shape), [&](const Index& i) { return f(broadcast_get(a, i), broadcast_get(b, i)); });
}
inline Values map_to(DType t, const Values& a, const Values& b, const std::function<Real(Real, Real)>& f) {
  return build(t, broadcast_shape(a.shape, b.shape), [&](const Index& i) { return f(broadcast_get(a, i), broadcast_get(b, i)); });
}
// Where sums, products and shifts of integers do not overflow.
__extension__ typedef __int128 Whole;
// Integers wrap to their width.
inline Real wrap(DType t, Whole v) {
  const auto bits = uint64_t(v);
  switch (t) {
    case DType::u8: return Real(uint8_t(bits));
    case DType::i8: return Real(int8_t(bits));
    case DType::u32: return Real(uint32_t(bits));
    case DType::i64: return Real(int64_t(bits));
    default: return Real(int32_t(bits));
  }
}
// The C library's long double pow gives infinity for -infinity to the power -2^63.
inline Real power(Real a, Real b) { return std::isinf(a) ? Real(std::pow(double(a), double(b))) : std::pow(a, b); }
inline int64_t width(DType t) { return 8 * block_bytes(t); }
inline Values integer_map(const Values& a, const Values& b, const std::function<Whole(Whole, Whole)>& f) {
  return map(a, b, [&](Real x, Real y) { return wrap(a.dtype, f(Whole(x), Whole(y))); });
}
inline Values where(const Values& c, const Values& a, const Values& b) {
  return build(a.dtype, broadcast_shape(c.shape, broadcast_shape(a.shape, b.shape)),
               [&](const Index& i) { return broadcast_get(c, i) != 0 ? broadcast_get(a, i) : broadcast_get(b, i); });
}
using special::floored_remainder;
using special::inverse_erf;
// a * b + c, rounded once to a dtype's precision.
inline Real fused(DType t, Real a, Real b, Real c) {
  if (t != DType::f64) return Real(std::fmaf(float(a), float(b), float(c)));
#if defined(__SIZEOF_FLOAT128__)
  __extension__ typedef __float128 Quad;  // holds the product
#else
  using Quad = long double;
#endif
  return Real(double(Quad(a) * Quad(b) + Quad(c)));
}
inline Values map(const Values& a, const Values& b, const Values& c, const std::function<Real(Real, Real, Real)>& f) {
  return build(a.dtype, broadcast_shape(c.shape, broadcast_shape(a.shape, b.shape)),
               [&](const Index& i) { return f(broadcast_get(a, i), broadcast_get(b, i), broadcast_get(c, i)); });
}
inline Real largest_finite(DType t) {
  if (t == DType::f64) return Real(std::numeric_limits<double>::max());
  return t == DType::f16 ? 65504 : t == DType::bf16 ? 0x1.fep127 : t == DType::f32 ? 0x1.fffffep127 : inf;
}
inline Whole floored_quotient(Whole a, Whole b) {
  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
inline Real minimum(Real a, Real b) { return std::isnan(a) || std::isnan(b) ? nan : std::min(a, b); }
inline Real maximum(Real a, Real b) { return std::isnan(a) || std::isnan(b) ? nan : std::max(a, b); }
// Floats to integers go towards zero and saturate, NaN gives 0; between integers the bits stay.
inline Values cast(const Values& x, DType t) {
  const bool integer = is_integer(t);
  return build(t, x.shape, [&](const Index& i) {
    const Real v = get(x, i);
    if (t == DType::bool_) return Real(v != 0);
    if (!integer) return v;
    if (!is_float(x.dtype)) return wrap(t, Whole(v));
    if (std::isnan(v)) return Real(0);
    const Real size = std::ldexp(Real(1), int(width(t))), low = is_signed_integer(t) ? -size / 2 : 0;
    return std::trunc(std::clamp(v, low, low + size - 1));
  });
}
inline Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }

// ----------------------------------------------------------------------------------------------------------- views

inline Values reshape(Values v, Shape shape) {
  v.shape = std::move(shape);
  return v;
}
inline Values permute(const Values& v, const std::vector<int64_t>& axes) {
  Shape shape;
  for (int64_t a : axes) shape.push_back(v.shape[size_t(a)]);
  return build(v.dtype, shape, [&](const Index& i) {
    Index from(i.size());
    for (size_t k = 0; k < i.size(); ++k) from[size_t(axes[k])] = i[k];
    return get(v, from);
  });
}
inline Values broadcast_to(const Values& v, Shape shape) {
  return build(v.dtype, std::move(shape), [&](const Index& i) { return broadcast_get(v, i); });
}
inline Values flip(const Values& v, size_t axis) {
  return build(v.dtype, v.shape, [&](Index i) {
    i[axis] = v.shape[axis] - 1 - i[axis];
    return get(v, i);
  });
}
// `count` elements from `start` in steps of `step`.
inline Values slice(const Values& v, size_t axis, int64_t start, int64_t count, int64_t step) {
  Shape shape = v.shape;
  shape[axis] = count;
  return build(v.dtype, shape, [&](Index i) {
    i[axis] = start + step * i[axis];
    return get(v, i);
  });
}
inline Values concat(const std::vector<Values>& parts, size_t axis) {
  Shape shape = parts[0].shape;
  shape[axis] = 0;
  for (const Values& p : parts) shape[axis] += p.shape[axis];
  return build(parts[0].dtype, shape, [&](Index i) {
    size_t p = 0;
    while (i[axis] >= parts[p].shape[axis]) i[axis] -= parts[p++].shape[axis];
    return get(parts[p], i);
  });
}
inline Values take(const Values& v, const Values& index, size_t axis) {
  Shape shape(v.shape.begin(), v.shape.begin() + int64_t(axis));
  shape.insert(shape.end(), index.shape.begin(), index.shape.end());
  shape.insert(shape.end(), v.shape.begin() + int64_t(axis) + 1, v.shape.end());
  return build(v.dtype, shape, [&](const Index& i) {
    const int64_t begin = int64_t(axis), end = begin + int64_t(index.shape.size());
    const int64_t k = int64_t(get(index, Index(i.begin() + begin, i.begin() + end)));
    if (k < 0 || k >= v.shape[axis]) return is_float(v.dtype) ? nan : Real(0);
    Index from(i.begin(), i.begin() + begin);
    from.push_back(k);
    from.insert(from.end(), i.begin() + end, i.end());
    return get(v, from);
  });
}
// out[i.., j, k..] = v[i.., index[i.., j, k..], k..]; axes of size 1 broadcast but for `axis`.
inline Values take_along(const Values& v, const Values& index, size_t axis) {
  Shape shape = index.shape;
  for (size_t a = 0; a < shape.size(); ++a)
    if (a != axis && shape[a] == 1) shape[a] = v.shape[a];
  return build(v.dtype, shape, [&](Index i) {
    const int64_t k = int64_t(broadcast_get(index, i));
    if (k < 0 || k >= v.shape[axis]) return is_float(v.dtype) ? nan : Real(0);
    i[axis] = k;
    return broadcast_get(v, i);
  });
}
// mode: 0 constant, 1 reflect, 2 edge
inline Values pad(const Values& v, size_t axis, int64_t before, int64_t after, int mode, Real value) {
  Shape shape = v.shape;
  const int64_t n = shape[axis];
  shape[axis] += before + after;
  return build(v.dtype, shape, [&](Index i) {
    int64_t p = i[axis] - before;
    if (mode == 0 && (p < 0 || p >= n)) return value;
    if (mode == 1) p = p < 0 ? -p : p >= n ? 2 * (n - 1) - p : p;
    i[axis] = std::clamp<int64_t>(p, 0, n - 1);
    return get(v, i);
  });
}
inline Values roll(const Values& v, size_t axis, int64_t shift) {
  const int64_t n = v.shape[axis];
  return build(v.dtype, v.shape, [&](Index i) {
    i[axis] = ((i[axis] - shift) % n + n) % n;
    return get(v, i);
  });
}
inline Values repeat(const Values& v, size_t axis, int64_t times) {
  Shape shape = v.shape;
  shape[axis] *= times;
  return build(v.dtype, shape, [&](Index i) {
    i[axis] /= times;
    return get(v, i);
  });
}
// `counts` has at least as many axes as v.
inline Values tile(const Values& v, const Shape& counts) {
  Shape own(counts.size() - v.shape.size(), 1), shape;
  own.insert(own.end(), v.shape.begin(), v.shape.end());
  for (size_t a = 0; a < counts.size(); ++a) shape.push_back(counts[a] * own[a]);
  const Values full{v.dtype, own, v.data};
  return build(v.dtype, shape, [&](Index i) {
    for (size_t a = 0; a < i.size(); ++a) i[a] %= own[a];
    return get(full, i);
  });
}
// Zero where column - row is not within [low, high].
inline Values band(const Values& v, int64_t low, int64_t high) {
  return build(v.dtype, v.shape, [&](const Index& i) {
    const int64_t k = i.back() - i[i.size() - 2];
    return k >= low && k <= high ? get(v, i) : 0;
  });
}
inline Values one_hot(DType t, const Values& index, int64_t classes) {
  Shape shape = index.shape;
  shape.push_back(classes);
  return build(t, shape, [&](const Index& i) { return Real(get(index, Index(i.begin(), i.end() - 1)) == Real(i.back())); });
}
inline Values diagonal(const Values& v, int64_t offset) {
  const int64_t rows = v.shape[v.shape.size() - 2], columns = v.shape.back();
  Shape shape(v.shape.begin(), v.shape.end() - 1);
  shape.back() = std::max<int64_t>(0, std::min(rows - std::max<int64_t>(-offset, 0), columns - std::max<int64_t>(offset, 0)));
  return build(v.dtype, shape, [&](Index i) {
    const int64_t k = i.back();
    i.back() = k + std::max<int64_t>(-offset, 0);
    i.push_back(k + std::max<int64_t>(offset, 0));
    return get(v, i);
  });
}
inline Values update(const Values& dst, const Values& src, int64_t at, size_t axis) {
  at = std::min(at, dst.shape[axis] - src.shape[axis]);
  return build(dst.dtype, dst.shape, [&](Index i) {
    if (i[axis] < at || i[axis] >= at + src.shape[axis]) return get(dst, i);
    i[axis] -= at;
    return get(src, i);
  });
}

// ------------------------------------------------------------------------------------------------------ reductions

using Row = std::vector<Real>;
inline Values fold(DType t, const Values& v, std::vector<int64_t> axes, bool keep, const std::function<Real(const Row&)>& f) {
  std::vector<bool> gone(v.shape.size(), axes.empty());
  for (int64_t a : axes) gone[axis_of(v, a)] = true;
  Shape kept = v.shape, shape;
  for (size_t a = 0; a < kept.size(); ++a) {
    if (gone[a]) kept[a] = 1;
    else shape.push_back(kept[a]);
  }
  std::vector<Row> rows(size_t(element_count(kept)));
  Index at(v.shape.size(), 0);
  for (Real d : v.data) {
    Index k = at;
    for (size_t a = 0; a < k.size(); ++a)
      if (gone[a]) k[a] = 0;
    rows[size_t(flat(kept, k))].push_back(d);
    for (size_t a = at.size(); a-- > 0;) {
      if (++at[a] < v.shape[a]) break;
      at[a] = 0;
    }
  }
  Values out{t, keep ? kept : shape, {}};
  for (const Row& r : rows) out.data.push_back(rounded_to(t, f(r)));
  return out;
}
inline Values fold(const Values& v, std::vector<int64_t> axes, bool keep, const std::function<Real(const Row&)>& f) {
  return fold(v.dtype, v, std::move(axes), keep, f);
}
inline Real total(const Row& r) {
  Real s = 0;
  for (Real d : r) s += d;
  return s;
}
inline Real largest(const Row& r) {
  Real m = -inf;
  for (Real d : r) m = maximum(m, d);
  return m;
}
inline Real arg_largest(const Row& r) {
  for (size_t i = 0; i < r.size(); ++i)
    if (std::isnan(r[i])) return Real(i);
  return Real(std::max_element(r.begin(), r.end()) - r.begin());
}
inline Real smallest(const Row& r) {
  Real m = inf;
  for (Real d : r) m = minimum(m, d);
  return m;
}
inline Real arg_smallest(const Row& r) {
  for (size_t i = 0; i < r.size(); ++i)
    if (std::isnan(r[i])) return Real(i);
  return Real(std::min_element(r.begin(), r.end()) - r.begin());
}
inline Real product(const Row& r) {
  Real p = 1;
  for (Real d : r) p *= d;
  return p;
}
// What sums and products of integers are in.
inline DType accumulator(DType t) { return t == DType::u8 ? DType::u32 : t == DType::i8 ? DType::i32 : t; }
// Wrapping, along the last axis.
inline Values integer_product(const Values& v) {
  return fold(accumulator(v.dtype), v, {-1}, false, [&](const Row& r) {
    uint64_t p = 1;
    for (Real d : r) p *= uint64_t(int64_t(d));
    return wrap(accumulator(v.dtype), int64_t(p));
  });
}
inline Values integer_sum(const Values& v) {
  return fold(accumulator(v.dtype), v, {-1}, false, [&](const Row& r) {
    uint64_t s = 0;
    for (Real d : r) s += uint64_t(int64_t(d));
    return wrap(accumulator(v.dtype), int64_t(s));
  });
}
inline Real variance(const Row& r, Real correction) {
  const Real n = Real(r.size()), mean = total(r) / n;
  Real square = 0;
  for (Real d : r) square += (d - mean) * (d - mean);
  return square / std::max(n - correction, Real(0));
}
inline Real vector_norm(const Row& r, Real ord) {
  Row magnitudes;
  Real squares = 0, count = 0;
  for (Real d : r) magnitudes.push_back(std::abs(d)), squares += d * d, count += d != 0;
  if (ord == 2) return std::sqrt(squares);
  if (ord == 0) return count;
  return ord == 1 ? total(magnitudes) : ord < 0 ? smallest(magnitudes) : r.empty() ? 0 : largest(magnitudes);
}
inline Real logsumexp(const Row& r) {
  const Real m = largest(r);
  if (std::isinf(m)) return m;
  Real s = 0;
  for (Real d : r) s += std::exp(d - m);
  return std::log(s) + m;
}

// A function of whole rows along one axis.
inline Values along(const Values& v, int64_t axis, const std::function<Row(const Row&)>& f) {
  const size_t a = v.shape.empty() ? 0 : axis_of(v, axis);
  if (v.shape.empty()) return as(v.dtype, {v.dtype, {}, f(v.data)});
  Values out = v;
  int64_t inner = 1;
  for (size_t k = a + 1; k < v.shape.size(); ++k) inner *= v.shape[k];
  const int64_t n = v.shape[a], outer = n * inner == 0 ? 0 : int64_t(v.data.size()) / (n * inner);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      Row row;
      for (int64_t k = 0; k < n; ++k) row.push_back(v.data[size_t((o * n + k) * inner + i)]);
      row = f(row);
      for (int64_t k = 0; k < n; ++k) out.data[size_t((o * n + k) * inner + i)] = rounded_to(v.dtype, row[size_t(k)]);
    }
  return out;
}
inline Row softmax(const Row& r) {
  const Real m = largest(r), s = logsumexp(r);
  Row out;
  for (Real d : r) out.push_back(m == -inf ? 0 : std::exp(d - s));
  return out;
}
inline Row log_softmax(const Row& r) {
  const Real s = logsumexp(r);
  Row out;
  for (Real d : r) out.push_back(d - s);
  return out;
}
inline Row normalised(const Row& r, bool centre, Real eps) {
  const Real n = Real(r.size()), mean = centre ? total(r) / n : 0;
  Real square = 0;
  for (Real d : r) square += (d - mean) * (d - mean);
  Row out;
  for (Real d : r) out.push_back((d - mean) / std::sqrt(square / n + eps));
  return out;
}
// weight (and bias) per element of the last axis.
inline Values norm(const Values& x, bool centre, Real eps, const Values& weight, const Values* bias) {
  Values wide = x;
  wide.dtype = DType::f32;
  return as(x.dtype, along(x, -1, [&](const Row& r) {
    Row out = normalised(r, centre, eps);
    for (size_t i = 0; i < out.size(); ++i) out[i] = out[i] * weight.data[i] + (bias ? bias->data[i] : 0);
    return out;
  }));
}
// x [N, C, ..], statistics over groups of channels; weight and bias [C].
inline Values group_norm(const Values& x, int64_t groups, Real eps, const Values& weight, const Values& bias) {
  int64_t inner = 1;
  for (size_t a = 2; a < x.shape.size(); ++a) inner *= x.shape[a];
  const int64_t row = x.shape[1] / groups * inner;
  Values out = x;
  for (int64_t from = 0; from < int64_t(x.data.size()); from += row) {
    const Row n = normalised(Row(x.data.begin() + from, x.data.begin() + from + row), true, eps);
    for (int64_t i = 0; i < row; ++i) {
      const size_t c = size_t((from + i) / inner % x.shape[1]);
      out.data[size_t(from + i)] = rounded_to(x.dtype, n[size_t(i)] * weight.data[c] + bias.data[c]);
    }
  }
  return out;
}
inline Values mean_of(const Values& v) {
  return fold(v, {}, false, [](const Row& x) { return total(x) / Real(x.size()); });
}
// Element-wise in doubles, then the mean, rounded once.
inline Values mean_map(const Values& a, const Values& b, const std::function<Real(Real, Real)>& f) {
  Real s = 0;
  for (size_t i = 0; i < a.data.size(); ++i) s += f(a.data[i], b.data[i]);
  return {a.dtype, {}, {rounded_to(a.dtype, s / Real(a.data.size()))}};
}
inline Real huber(Real d, Real delta) { return d <= delta ? d * d / 2 : delta * (d - delta / 2); }
inline Real binary_cross_entropy(Real p, Real y) { return -(y * std::max(std::log(p), Real(-100)) + (1 - y) * std::max(std::log(1 - p), Real(-100))); }
inline Values cross_entropy(const Values& logits, const Values& targets) {
  const size_t n = size_t(logits.shape.back());
  Values out{logits.dtype, targets.shape, {}};
  for (size_t r = 0; r < targets.data.size(); ++r) {
    const Row row(logits.data.begin() + int64_t(r * n), logits.data.begin() + int64_t((r + 1) * n));
    const Real t = targets.data[r];
    out.data.push_back(rounded_to(out.dtype, t < 0 || t >= Real(n) ? nan : logsumexp(row) - row[size_t(t)]));
  }
  return out;
}

// -------------------------------------------------------------------------------------------------------- products

inline Values matmul(const Values& a, const Values& b) {
  Values x = a, y = b;
  if (a.shape.size() == 1) x.shape.insert(x.shape.begin(), 1);
  if (b.shape.size() == 1) y.shape.push_back(1);
  const int64_t K = x.shape.back();
  Shape shape = broadcast_shape(Shape(x.shape.begin(), x.shape.end() - 2), Shape(y.shape.begin(), y.shape.end() - 2));
  shape.push_back(x.shape[x.shape.size() - 2]);
  shape.push_back(y.shape.back());
  Values out = build(a.dtype, shape, [&](const Index& i) {
    Real s = 0;
    Index p = i, q = i;
    for (int64_t k = 0; k < K; ++k) {
      p.back() = k;
      q[q.size() - 2] = k;
      s += broadcast_get(x, p) * broadcast_get(y, q);
    }
    return s;
  });
  if (b.shape.size() == 1) out.shape.pop_back();
  if (a.shape.size() == 1) out.shape.erase(out.shape.end() - (b.shape.size() == 1 ? 1 : 2));
  return out;
}
// [M,K] x [K,N], wrapping to the dtype.
inline Values integer_matmul(const Values& a, const Values& b) {
  return build(a.dtype, {a.shape[0], b.shape[1]}, [&](const Index& i) {
    uint64_t s = 0;
    for (int64_t k = 0; k < a.shape[1]; ++k) s += uint64_t(int64_t(get(a, {i[0], k}))) * uint64_t(int64_t(get(b, {k, i[1]})));
    return wrap(a.dtype, int64_t(s));
  });
}
inline Values transpose(const Values& v) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < v.shape.size(); ++i) axes.push_back(int64_t(i));
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return permute(v, axes);
}
// "ij,jk->ik": every index of the result, every index that is summed, letter by letter.
inline Values einsum(const std::string& text, const R& operands) {
  const size_t arrow = text.find("->");
  std::vector<std::string> inputs{""};
  for (char c : text.substr(0, arrow)) c == ',' ? inputs.push_back("") : inputs.back().push_back(c);
  const std::string result = text.substr(arrow + 2);
  std::string letters = result;
  int64_t sizes[128] = {};
  for (size_t k = 0; k < inputs.size(); ++k)
    for (size_t a = 0; a < inputs[k].size(); ++a) {
      const char c = inputs[k][a];
      if (letters.find(c) == std::string::npos) letters.push_back(c);
      int64_t& size = sizes[size_t(c)];
      size = size == 1 || size == 0 ? operands[k].shape[a] : size;
    }
  Shape shape;
  int64_t inner = 1;
  for (char c : result) shape.push_back(sizes[size_t(c)]);
  for (size_t l = result.size(); l < letters.size(); ++l) inner *= sizes[size_t(letters[l])];
  return build(operands[0].dtype, shape, [&](const Index& at) {
    Real s = 0;
    for (int64_t n = 0; n < inner; ++n) {
      int64_t index[128] = {}, rest = n;
      for (size_t l = 0; l < result.size(); ++l) index[size_t(result[l])] = at[l];
      for (size_t l = letters.size(); l-- > result.size();) {
        index[size_t(letters[l])] = rest % sizes[size_t(letters[l])];
        rest /= sizes[size_t(letters[l])];
      }
      Real p = 1;
      for (size_t k = 0; k < inputs.size(); ++k) {
        Index own;
        for (char c : inputs[k]) own.push_back(index[size_t(c)]);
        p *= broadcast_get(operands[k], own);
      }
      s += p;
    }
    return is_float(operands[0].dtype) ? s : wrap(operands[0].dtype, Whole(s));
  });
}
inline Values rope(const Values& x, const Values& cos, const Values& sin, bool half) {
  const int64_t D = x.shape.back(), P = D / 2;
  return build(x.dtype, x.shape, [&](const Index& i) {
    const int64_t d = i.back(), pair = half ? d % P : d / 2;
    const bool second = half ? d >= P : d % 2 == 1;
    Index other = i;
    other.back() = half ? (second ? d - P : d + P) : (second ? d - 1 : d + 1);
    const Index angle{i[i.size() - 2], pair};
    return get(x, i) * get(cos, angle) + (second ? 1 : -1) * get(x, other) * get(sin, angle);
  });
}
struct AttentionExtras {
  int64_t window = 0;
  Real soft_cap = 0;
  Values mask = {}, bias = {};  // broadcast to [B,H,T,S]; no data: none
};
// q [B,H,T,D], k and v [B,G,S,D]; query t is at position start + t and sees keys below `valid`.
inline Values attention(const Values& q, const Values& k, const Values& v, bool causal, Real scale, int64_t valid, int64_t start,
                        const AttentionExtras& x = {}) {
  const int64_t H = q.shape[1], D = q.shape[3], per = H / k.shape[1];
  return build(q.dtype, q.shape, [&](const Index& i) {
    Row scores;
    std::vector<int64_t> keys;
    const int64_t b = i[0], g = i[1] / per, t = i[2];
    for (int64_t s = 0; s < valid; ++s) {
      if ((causal || x.window) && s > start + t) break;
      if (x.window && s <= start + t - x.window) continue;
      if (!x.mask.data.empty() && broadcast_get(x.mask, {b, i[1], t, s}) == 0) continue;
      Real dot = 0;
      for (int64_t d = 0; d < D; ++d) dot += get(q, {b, i[1], t, d}) * get(k, {b, g, s, d});
      Real score = dot * scale;
      if (x.soft_cap > 0) score = x.soft_cap * std::tanh(score / x.soft_cap);
      if (!x.bias.data.empty()) score += broadcast_get(x.bias, {b, i[1], t, s});
      scores.push_back(score);
      keys.push_back(s);
    }
    if (scores.empty()) return Real(0);
    const Row p = softmax(scores);
    Real out = 0;
    for (size_t s = 0; s < p.size(); ++s) out += p[s] * get(v, {b, g, keys[s], i[3]});
    return out;
  });
}

// Philox4x32-10 (Salmon et al., 2011), one block.
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = uint64_t(0xD2511F53u) * c[0], q = uint64_t(0xCD9E8D57u) * c[2];
    c = {uint32_t(q >> 32) ^ c[1] ^ k[0], uint32_t(q), uint32_t(p >> 32) ^ c[3] ^ k[1], uint32_t(p)};
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return c;
}

}  // namespace tenon::testing::ref
