// index_set, index_add, index_max (whole slices) and scatter_set, scatter_add, scatter_max (element by element): the
// destinations are sorted, stable, and the anchor `scatter` then lets each output slice collect what belongs to it.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "ops/sort_order.h"

namespace tenon {

using namespace ops;
using graph::Anchor;
using graph::Node;
using graph::OperandView;

namespace {

bool takes(int operand, const OperandView& v) {
  const bool sorted = operand == 1 || operand == 2;
  return !sorted || v.strides == dense_strides(v.shape);
}
std::vector<int64_t> attributes(const Node& n) { return {n.ints[0]}; }

// Sizes or strides of [outer, size, inner]; at most one axis lies before and behind `axis`.
std::array<int64_t, 3> around(const std::vector<int64_t>& list, size_t axis, int64_t missing) {
  return {axis > 0 ? list[axis - 1] : missing, list[axis], axis + 1 < list.size() ? list[axis + 1] : missing};
}

// Inputs: x [outer, size, inner], of which outer and inner may be missing, keys [n], order [n], source as x with n for
// size. ints: {ScatterOp, axis of size}.
void parameters(const Node& n, std::span<const OperandView> views, std::span<const uint32_t>, Params& out) {
  const size_t axis = size_t(n.ints[1]);
  const auto shape = around(n.shape, axis, 1), x = around(views[0].strides, axis, 0), source = around(views[3].strides, axis, 0);
  ScatterParams p{shape[0], shape[1], shape[2], views[1].shape[0], {}, {}};
  std::copy(x.begin(), x.end(), p.x);
  std::copy(source.begin(), source.end(), p.source);
  out.scatter = p;
}

// Each element looks at all n contributions and selects its own.
NodeRef compose(const Node& n) {
  const auto shape = around(n.shape, size_t(n.ints[1]), 1);
  const Tensor keys = to_tensor(n.inputs[1]), order = to_tensor(n.inputs[2]);
  const int64_t size = shape[1], count = keys.dim(0);
  const Tensor x = reshape(to_tensor(n.inputs[0]), {shape[0], size, shape[2]});
  const Tensor source = take(reshape(to_tensor(n.inputs[3]), {shape[0], count, shape[2]}), order, 1);  // in the keys' order
  const auto position = [&](Shape own, int axis) { return to_tensor(graph::iota(n.device, DType::u32, std::move(own), axis)); };
  if (ScatterOp(n.ints[0]) == ScatterOp::set) {
    const Tensor own = equal(keys, position({size, 1}, 0)), at = position({1, count}, 1);
    const Tensor number = where(own, at + literal(at, 1), literal(at, 0));  // from 1
    const Tensor last = to_tensor(graph::reduce(ReduceOp::max, node_of(number), {1}));
    const Tensor chosen = take(source, last - literal(last, 1), 1);
    return node_of(reshape(where(expand_dims(greater(last, literal(last, 0)), -1), chosen, x), n.shape));
  }
  const bool add = ScatterOp(n.ints[0]) == ScatterOp::add;
  const Tensor own = equal(keys, position({size, 1, 1}, 0));                  // [size, 1, n]
  const Tensor all = expand_dims(transpose(source), 1);                       // [outer, 1, inner, n]
  const Tensor mine = where(own, all, add ? literal(x, 0) : lowest(x));     // [outer, size, inner, n]
  const Tensor r = to_tensor(graph::reduce(add ? ReduceOp::sum : ReduceOp::max, node_of(mine), {3}));
  return node_of(reshape(add ? x + r : maximum(x, r), n.shape));
}

const Anchor scatter_anchor{"scatter", 4, false, takes, attributes, parameters, compose};

// x and source as the anchor takes them; destination: u32 [n], those of x's size and above are ignored.
Tensor scatter_slices(const char* op, ScatterOp how, const Tensor& x, int64_t axis, const Tensor& destination, const Tensor& source) {
  const Tensor order = sort_order(op, destination, 0, false), keys = take(destination, order);
  return to_tensor(graph::anchor(scatter_anchor, x.dtype(), x.shape(), {node_of(x), node_of(keys), node_of(order), node_of(source)},
                                 {int64_t(how), axis}));
}

void check_dtypes(const char* op, ScatterOp how, const Tensor& x, const Tensor& index, const Tensor& source) {
  require_one_device(op, {&x, &index, &source});
  if (!is_integer(index.dtype())) fail_dtype(op, {&x, &index, &source}, "indices must be integers");
  if (is_quantised(x.dtype())) fail_dtype(op, {&x, &index, &source}, "cast() a quantised tensor first");
  if (x.dtype() != source.dtype()) fail_dtype(op, {&x, &index, &source}, cat("the source must be ", to_string(x.dtype()), "; cast() it"));
  if (how != ScatterOp::set && x.dtype() == DType::bool_) fail_dtype(op, {&x, &index, &source}, "needs a number; cast() it first");
}

// Half floats are combined in f32; what is only moved keeps its dtype.
DType working_dtype(ScatterOp how, DType t) { return how != ScatterOp::set && is_float(t) ? real_dtype(t) : t; }

Tensor spread(const char* op, const Tensor& x, const Tensor& index, const Tensor& source, const Shape& shape) {
  bool fits = source.rank() <= int64_t(shape.size());
  for (int64_t i = 1; fits && i <= source.rank(); ++i) fits = source.dim(-i) == 1 || source.dim(-i) == shape[shape.size() - size_t(i)];
  if (!fits) fail_shape(op, {&x, &index, &source}, cat("the source does not broadcast to ", to_string(shape)));
  return broadcast_to(source, shape);
}

// Destinations are u32, the value behind the last one is that of none.
void check_size(const char* op, const Tensor& x, const Tensor& index, int64_t size, int64_t limit) {
  if (size < limit && index.size() < limit) return;
  throw Error(ErrorCode::unsupported, cat(describe(op, {&x, &index}), ": more than ", limit - 1, " destinations or indices"), {.op = op});
}

constexpr int64_t limit = int64_t(1) << 31;

Tensor index_op(const char* op, ScatterOp how, const Tensor& x, const Tensor& index, const Tensor& source, int64_t axis) {
  check_dtypes(op, how, x, index, source);
  if (index.rank() != 1) fail_shape(op, {&x, &index, &source}, "the index must have one axis");
  const int64_t a = axis_in(op, x, axis);
  const int64_t size = x.dim(a), n = index.dim(0);
  check_size(op, x, index, size, limit);
  Shape shape = x.shape();
  shape[size_t(a)] = n;
  const Tensor all = spread(op, x, index, source, shape);
  if (x.size() == 0 || n == 0) return x;
  const DType t = working_dtype(how, x.dtype());
  const Tensor rows = cast(position_index(index), DType::u32);  // a negative index becomes one above every size
  if (a <= 1 && a + 2 >= x.rank()) return cast(scatter_slices(op, how, cast(x, t), a, rows, cast(all, t)), x.dtype());
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < x.rank(); ++i) (i < a ? outer : inner) *= i == a ? 1 : x.dim(i);
  const Tensor out = scatter_slices(op, how, reshape(cast(x, t), {outer, size, inner}), 1, rows, reshape(cast(all, t), {outer, n, inner}));
  return cast(reshape(out, x.shape()), x.dtype());
}

// The row-major position in x that each element of the index means; x.size() for none.
Tensor flat_destination(const Tensor& x, const Tensor& index, int64_t axis) {
  const Tensor own = cast(position_index(index), DType::u32);
  const Strides strides = dense_strides(x.shape());
  const auto number = [&](int64_t v) { return literal(own, double(v)); };
  Tensor at = own * number(strides[size_t(axis)]);
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i == axis || x.dim(i) == 1) continue;
    Shape shape(size_t(x.rank()), 1);
    shape[size_t(i)] = x.dim(i);
    at = at + to_tensor(graph::iota(node_of(x)->device, DType::u32, shape, int(i))) * number(strides[size_t(i)]);
  }
  return where(less(own, number(x.dim(axis))), at, number(x.size()));
}

Tensor scatter_op(const char* op, ScatterOp how, const Tensor& x, const Tensor& index, const Tensor& source, int64_t axis) {
  check_dtypes(op, how, x, index, source);
  if (x.rank() != index.rank()) fail_shape(op, {&x, &index, &source}, "x and the index must have the same number of axes");
  const int64_t a = axis_in(op, x, axis);
  Shape shape = x.shape();
  shape[size_t(a)] = index.dim(a);
  for (int64_t i = 0; i < x.rank(); ++i)
    if (i != a && index.dim(i) != 1 && index.dim(i) != x.dim(i))
      fail_shape(op, {&x, &index, &source}, cat("sizes ", x.dim(i), " and ", index.dim(i), " of axis ", i, " do not broadcast"));
  const Tensor all = spread(op, x, index, source, shape), everywhere = broadcast_to(index, shape);
  check_size(op, x, everywhere, x.size(), limit);
  if (x.size() == 0 || index.size() == 0) return x;
  const DType t = working_dtype(how, x.dtype());
  const int64_t n = everywhere.size();
  const Tensor destination = reshape(flat_destination(x, everywhere, a), {n});
  const Tensor out = scatter_slices(op, how, reshape(cast(x, t), {x.size()}), 0, destination, reshape(cast(all, t), {n}));
  return cast(reshape(out, x.shape()), x.dtype());
}

}  // namespace

#define SCATTER(suffix)                                                                                        \
  Tensor index_##suffix(const Tensor& x, const Tensor& index, const Tensor& source, int64_t axis) {            \
    return index_op("index_" #suffix, ScatterOp::suffix, x, index, source, axis);                              \
  }                                                                                                            \
  Tensor scatter_##suffix(const Tensor& x, const Tensor& index, const Tensor& source, int64_t axis) {          \
    return scatter_op("scatter_" #suffix, ScatterOp::suffix, x, index, source, axis);                          \
  }
SCATTER(set)
SCATTER(add)
SCATTER(max)
#undef SCATTER

}  // namespace tenon
