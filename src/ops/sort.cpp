// argsort: the anchor `sort`, which gives the positions that sort each row; sort and topk read through them.
#include <limits>

#include "base/check.h"
#include "ops/rows.h"
#include "ops/sort_order.h"

namespace tenon {

using namespace ops;
using graph::Anchor;
using graph::Node;
using graph::OperandView;

namespace {

bool takes(int, const OperandView&) { return true; }
std::vector<int64_t> attributes(const Node& n) { return {n.ints[0]}; }  // ints: {descending}

void parameters(const Node&, std::span<const OperandView> views, std::span<const uint32_t>, Params& out) {
  const RowLayout l = row_layout(views[0]);
  out.sort = {l.outer, l.rows, l.n, l.outer_stride, l.row_stride, l.step};
}

Tensor position(const Tensor& x, Shape shape, int axis) {
  return to_tensor(graph::iota(node_of(x)->device, DType::u32, std::move(shape), axis));
}

// NaN comes after everything else.
Tensor comes_before(const Tensor& a, const Tensor& b) {
  return is_float(a.dtype()) ? logical_or(less(a, b), logical_and(isnan(b), logical_not(isnan(a)))) : less(a, b);
}

// The rank of an element is the number of elements before it; the positions are the inverse of the ranks. Work and, if
// it is not fused, memory grow with the square of n.
NodeRef compose(const Node& n) {
  const Tensor x = to_tensor(n.inputs[0]), keys = x.dtype() == DType::bool_ ? cast(x, DType::u32) : x;
  const int64_t count = n.shape.back();
  const Tensor own = expand_dims(keys, -1), other = expand_dims(keys, -2);
  const Tensor at = position(x, {count, 1}, 0), other_at = position(x, {1, count}, 1);
  const Tensor other_first = n.ints[0] ? comes_before(own, other) : comes_before(other, own);
  const Tensor own_first = n.ints[0] ? comes_before(other, own) : comes_before(own, other);
  const Tensor before = logical_or(other_first, logical_and(logical_not(own_first), less(other_at, at)));
  const Tensor rank = sum(cast(before, DType::u32), {-1});
  // out[p] = the i whose rank is p
  const Tensor here = equal(expand_dims(rank, -2), at);
  return node_of(sum(where(here, other_at, literal(other_at, 0)), {-1}));
}

const Anchor sort_anchor{"sort", 1, false, takes, attributes, parameters, compose};

}  // namespace

Tensor ops::sort_order(const char* op, const Tensor& x, int64_t axis, bool descending) {
  if (x.dim(axis) > std::numeric_limits<int32_t>::max())
    throw Error(ErrorCode::unsupported, cat(describe(op, {&x}), ": axis ", axis, " is longer than 2^31 - 1"), {.op = op});
  if (x.size() == 0) return full(x.shape(), 0, DType::u32, x.device());
  const Tensor rows = to_rows(x, axis);
  return from_rows(to_tensor(graph::anchor(sort_anchor, DType::u32, rows.shape(), {node_of(rows)}, {descending})), x, axis);
}

namespace {

void refuse_quantised(const char* op, const Tensor& x) {
  if (is_quantised(x.dtype())) fail_dtype(op, {&x}, "cast() a quantised tensor first");
}

}  // namespace

Tensor argsort(const Tensor& x, int64_t axis, bool descending) {
  refuse_quantised("argsort", x);
  const int64_t a = axis_in("argsort", x, axis, x.rank() == 0);
  if (x.rank() == 0) return full({}, 0, DType::i32, x.device());
  return cast(sort_order("argsort", x, a, descending), DType::i32);
}

Tensor sort(const Tensor& x, int64_t axis, bool descending) {
  refuse_quantised("sort", x);
  const int64_t a = axis_in("sort", x, axis, x.rank() == 0);
  if (x.rank() == 0) return x;
  return take_along_axis(x, sort_order("sort", x, a, descending), a);
}

TopK topk(const Tensor& x, int64_t k, int64_t axis) {
  refuse_quantised("topk", x);
  if (x.rank() == 0) fail_shape("topk", {&x}, "a 0-d tensor has no axis");
  const int64_t a = axis_in("topk", x, axis);
  if (k < 0 || k > x.dim(a)) fail_shape("topk", {&x}, cat("k = ", k, " is not within axis ", a, " of size ", x.dim(a)));
  const Tensor best = slice(sort_order("topk", x, a, true), a, 0, k);
  return {take_along_axis(x, best, a), cast(best, DType::i32)};
}

}  // namespace tenon
