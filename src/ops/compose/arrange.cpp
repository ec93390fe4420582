// Ops that put elements together, apart or elsewhere without looking at them: views where strides can express it, and
// concatenations, whose parts are read through views. No index is computed, so no size is too large.
#include <algorithm>

#include "base/check.h"
#include "ops/reduce_rules.h"

namespace tenon {

using namespace ops;

namespace {

[[noreturn]] void fail_argument(const char* op, const Tensor& x, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, cat(describe(op, {&x}), ": ", why), {.op = op});
}

Shape with_size(const Tensor& x, int64_t axis, int64_t size) {
  Shape shape = x.shape();
  shape[size_t(axis)] = size;
  return shape;
}

Tensor pad_axis(const Tensor& x, int64_t a, int64_t before, int64_t after, PadMode mode, Number value) {
  const int64_t n = x.dim(a);
  std::vector<Tensor> parts{x};
  auto add = [&](int64_t count, const Tensor& from, bool front) {
    if (count > 0) parts.insert(front ? parts.begin() : parts.end(), broadcast_to(from, with_size(x, a, count)));
  };
  if (mode == PadMode::constant) {
    const Tensor filler = number(x, value);
    add(before, filler, true);
    add(after, filler, false);
    return concat(parts, a);
  }
  if (n == 0) fail_shape("pad", {&x}, cat("axis ", a, " has size 0: nothing to repeat"));
  if (mode == PadMode::edge) {
    add(before, slice(x, a, 0, 1), true);
    add(after, slice(x, a, n - 1, n), false);
    return concat(parts, a);
  }
  if (std::max(before, after) >= n)
    fail_shape("pad", {&x}, cat("axis ", a, " of size ", n, " reflects at most ", n - 1, " elements, not ", std::max(before, after)));
  if (before > 0) add(before, flip(slice(x, a, 1, before + 1), a), true);
  if (after > 0) add(after, flip(slice(x, a, n - 1 - after, n - 1), a), false);
  return concat(parts, a);
}

}  // namespace

Tensor stack(const std::vector<Tensor>& parts, int64_t axis) {
  if (parts.empty()) throw Error(ErrorCode::invalid_argument, "stack: needs at least one tensor", {.op = "stack"});
  const int a = axis_in("stack", parts[0], axis, 1);
  std::vector<Tensor> expanded;
  for (const Tensor& p : parts) {
    promote("stack", parts[0], p);
    if (const std::string why = disagreement(parts[0].shape(), p.shape()); !why.empty())
      fail_shape("stack", {&parts[0], &p}, cat("all shapes must be equal; ", why));
    expanded.push_back(expand_dims(p, a));
  }
  return concat(expanded, a);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis) {
  const int a = axis_in("split", x, axis);
  int64_t at = 0;
  for (int64_t s : sizes) {
    if (s < 0) fail_argument("split", x, cat("negative size ", s));
    at = checked_add(at, s);
  }
  if (at != x.dim(a)) fail_shape("split", {&x}, cat("the sizes add up to ", at, ", axis ", a, " has ", x.dim(a)));
  std::vector<Tensor> parts;
  at = 0;
  for (int64_t s : sizes) {
    parts.push_back(slice(x, a, at, at + s));
    at += s;
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t axis) {
  const int a = axis_in("split", x, axis);
  if (size <= 0) fail_argument("split", x, cat("the size of a part must be positive, not ", size));
  std::vector<int64_t> sizes(size_t(x.dim(a) / size), size);
  if (x.dim(a) % size != 0 || sizes.empty()) sizes.push_back(x.dim(a) % size);
  return split(x, sizes, a);
}

Tensor pad(const Tensor& x, const std::vector<std::pair<int64_t, int64_t>>& widths, PadMode mode, Number value) {
  if (int64_t(widths.size()) != x.rank())
    fail_shape("pad", {&x}, cat("needs a pair of widths for each of ", x.rank(), " axes, not ", int64_t(widths.size())));
  Tensor out = x;
  for (int64_t a = 0; a < x.rank(); ++a) {
    const auto [before, after] = widths[size_t(a)];
    if (before < 0 || after < 0) fail_argument("pad", x, cat("negative width (", before, ", ", after, ") of axis ", a));
    if (before > 0 || after > 0) out = pad_axis(out, a, before, after, mode, value);
  }
  return out;
}

Tensor repeat(const Tensor& x, int64_t repeats, std::optional<int64_t> axis) {
  if (repeats < 0) fail_argument("repeat", x, cat("negative count ", repeats));
  if (!axis) return repeat(reshape(x, {-1}), repeats, 0);
  const int64_t a = axis_in("repeat", x, *axis);
  Shape wide = x.shape();
  wide.insert(wide.begin() + a + 1, repeats);
  return reshape(broadcast_to(expand_dims(x, a + 1), wide), with_size(x, a, checked_mul(x.dim(a), repeats)));
}

Tensor tile(const Tensor& x, const std::vector<int64_t>& repetitions) {
  const size_t rank = std::max(repetitions.size(), x.shape().size());
  Shape own(rank - x.shape().size(), 1), counts(rank - repetitions.size(), 1);
  own.insert(own.end(), x.shape().begin(), x.shape().end());
  counts.insert(counts.end(), repetitions.begin(), repetitions.end());
  Shape apart, wide, out;
  for (size_t i = 0; i < rank; ++i) {
    if (counts[i] < 0) fail_argument("tile", x, cat("negative count ", counts[i]));
    apart.insert(apart.end(), {1, own[i]});
    wide.insert(wide.end(), {counts[i], own[i]});
    out.push_back(checked_mul(counts[i], own[i]));
  }
  return reshape(broadcast_to(reshape(x, apart), wide), out);
}

Tensor roll(const Tensor& x, int64_t shift, std::optional<int64_t> axis) {
  if (!axis) return reshape(roll(reshape(x, {-1}), shift, 0), x.shape());
  const int a = axis_in("roll", x, *axis);
  const int64_t n = x.dim(a), s = n == 0 ? 0 : (shift % n + n) % n;
  if (s == 0) return x;
  return concat({slice(x, a, n - s, n), slice(x, a, 0, n - s)}, a);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& axes, MeshIndexing indexing) {
  Shape shape;
  for (const Tensor& x : axes) {
    if (x.rank() != 1) fail_shape("meshgrid", {&x}, "needs tensors of one axis");
    shape.push_back(x.dim(0));
  }
  const bool swapped = indexing == MeshIndexing::xy && axes.size() >= 2;
  if (swapped) std::swap(shape[0], shape[1]);
  std::vector<Tensor> out;
  for (size_t i = 0; i < axes.size(); ++i) {
    Shape own(axes.size(), 1);
    own[swapped && i < 2 ? 1 - i : i] = axes[i].dim(0);
    out.push_back(broadcast_to(reshape(axes[i], own), shape));
  }
  return out;
}

// A step of one row and one column through the joined axes.
Tensor diagonal(const Tensor& x, int64_t offset) {
  if (x.rank() < 2) fail_shape("diagonal", {&x}, "needs at least two axes");
  const int64_t rows = x.dim(-2), columns = x.dim(-1), k = std::clamp(offset, -rows, columns);
  const int64_t n = std::max<int64_t>(k >= 0 ? std::min(rows, columns - k) : std::min(rows + k, columns), 0);
  Shape joined(x.shape().begin(), x.shape().end() - 2);
  joined.push_back(checked_mul(rows, columns));
  const Tensor flat = reshape(x, joined);
  if (n == 0) return slice(flat, -1, 0, 0);
  const int64_t start = k >= 0 ? k : -k * columns;
  return slice(flat, -1, start, start + (n - 1) * (columns + 1) + 1, columns + 1);
}

Tensor trace(const Tensor& x, int64_t offset) {
  if (x.rank() < 2) fail_shape("trace", {&x}, "needs at least two axes");
  return sum(diagonal(x, offset), {-1});
}

}  // namespace tenon
