#include <algorithm>

#include "base/check.h"
#include "ops/reduce_rules.h"

namespace tenon {

using namespace ops;

namespace {

void require_number(const char* op, const Tensor& x) {
  if (x.dtype() == DType::bool_ || is_quantised(x.dtype())) fail_dtype(op, {&x}, "needs a number; cast() it first");
}

// Floats in real_dtype(), rounded once; u8 and i8 in u32 and i32, which the result keeps.
Tensor accumulated(ReduceOp op, const Tensor& x, const std::vector<int64_t>& axes, bool keepdims) {
  const DType t = x.dtype();
  if (is_float(t)) return cast(reduce(op, cast(x, real_dtype(t)), axes, keepdims), t);
  return reduce(op, t == DType::u8 ? cast(x, DType::u32) : t == DType::i8 ? cast(x, DType::i32) : x, axes, keepdims);
}

// x in the reverse order: the largest becomes the smallest, NaN stays, equal values stay equal.
Tensor reversed(const Tensor& x) {
  if (is_float(x.dtype())) return negative(x);
  return bitwise_xor(x, all_ones(x));  // no integer overflows
}

// Whether any element is not 0: the maximum of 0 and 1, which is 0 for no elements.
Tensor any_of(const char* op, const Tensor& x, bool invert, std::vector<int64_t> axes, bool keepdims) {
  if (is_quantised(x.dtype())) fail_dtype(op, {&x}, "cast() a quantised tensor first");
  axes = normalise_axes(op, x, std::move(axes));
  const Tensor truth = cast(x, DType::bool_);
  const Tensor found = reduce(ReduceOp::max, cast(invert ? logical_not(truth) : truth, DType::u32), axes, keepdims);
  return invert ? logical_not(cast(found, DType::bool_)) : cast(found, DType::bool_);
}

}  // namespace

namespace ops {

std::vector<int64_t> normalise_axes(const char* op, const Tensor& x, std::vector<int64_t> axes) {
  if (axes.empty())
    for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i);
  else
    for (int64_t& a : axes) a = axis_in(op, x, a);
  std::sort(axes.begin(), axes.end());
  if (const auto twice = std::adjacent_find(axes.begin(), axes.end()); twice != axes.end())
    fail_shape(op, {&x}, cat("axis ", *twice, " is named twice"));
  return axes;
}

int64_t count_over(const Tensor& x, const std::vector<int64_t>& axes) {
  int64_t n = 1;
  for (int64_t a : axes) n = checked_mul(n, x.dim(a));
  return n;
}

Tensor keep_dims(const Tensor& reduced, const Tensor& x, const std::vector<int64_t>& axes) {
  Shape shape = x.shape();
  for (int64_t a : axes) shape[size_t(a)] = 1;
  return to_tensor(graph::reshape(node_of(reduced), std::move(shape)));
}

Tensor reduce(ReduceOp op, const Tensor& x, const std::vector<int64_t>& axes, bool keepdims) {
  const bool own_centre = op == ReduceOp::sum_exp || op == ReduceOp::sum_sq_dev;
  if (axes.empty() && own_centre) return to_tensor(graph::reduce(op, graph::reshape(node_of(x), {1}), {0}));
  if (axes.empty()) return x;  // 0-d: the value itself
  const Tensor r = to_tensor(graph::reduce(op, node_of(x), axes));
  return keepdims ? keep_dims(r, x, axes) : r;
}

}  // namespace ops

Tensor sum(const Tensor& x, std::vector<int64_t> axes, bool keepdims) {
  axes = normalise_axes("sum", x, std::move(axes));
  if (x.dtype() == DType::bool_ || is_quantised(x.dtype())) fail_dtype("sum", {&x}, "needs a number; cast() it first");
  return accumulated(ReduceOp::sum, x, axes, keepdims);
}

Tensor mean(const Tensor& x, std::vector<int64_t> axes, bool keepdims) {
  require_float("mean", x);
  axes = normalise_axes("mean", x, std::move(axes));
  const Tensor f = cast(x, real_dtype(x.dtype()));
  return cast(reduce(ReduceOp::sum, f, axes, keepdims) / rule_number(f, double(count_over(x, axes))), x.dtype());
}

Tensor max(const Tensor& x, std::vector<int64_t> axes, bool keepdims) {
  axes = normalise_axes("max", x, std::move(axes));
  require_number("max", x);
  if (count_over(x, axes) == 0 && x.rank() > 0) fail_shape("max", {&x}, "the maximum of nothing; an axis that is reduced has size 0");
  return reduce(ReduceOp::max, x, axes, keepdims);
}

Tensor min(const Tensor& x, std::vector<int64_t> axes, bool keepdims) {
  axes = normalise_axes("min", x, std::move(axes));
  require_number("min", x);
  if (count_over(x, axes) == 0 && x.rank() > 0) fail_shape("min", {&x}, "the minimum of nothing; an axis that is reduced has size 0");
  return reversed(reduce(ReduceOp::max, reversed(x), axes, keepdims));
}

Tensor prod(const Tensor& x, std::vector<int64_t> axes, bool keepdims) {
  axes = normalise_axes("prod", x, std::move(axes));
  require_number("prod", x);
  return accumulated(ReduceOp::prod, x, axes, keepdims);
}

Tensor any(const Tensor& x, std::vector<int64_t> axes, bool keepdims) { return any_of("any", x, false, std::move(axes), keepdims); }
Tensor all(const Tensor& x, std::vector<int64_t> axes, bool keepdims) { return any_of("all", x, true, std::move(axes), keepdims); }

namespace {

Tensor position_of_largest(const char* op, const Tensor& x, bool reverse, int64_t axis, bool keepdims) {
  require_number(op, x);
  if (x.rank() == 0) {
    axis_in(op, x, axis, 1);
    return full({}, 0, DType::i32, x.device());
  }
  const int64_t a = axis_in(op, x, axis);
  if (x.dim(a) == 0) fail_shape(op, {&x}, cat("axis ", a, " has size 0"));
  const Tensor keys = reverse ? reversed(x) : x;
  const NodeRef r = graph::cast(graph::reduce(ReduceOp::argmax, node_of(keys), {a}), DType::i32);
  return keepdims ? keep_dims(to_tensor(r), x, {a}) : to_tensor(r);
}

}  // namespace

Tensor argmax(const Tensor& x, int64_t axis, bool keepdims) { return position_of_largest("argmax", x, false, axis, keepdims); }
Tensor argmin(const Tensor& x, int64_t axis, bool keepdims) { return position_of_largest("argmin", x, true, axis, keepdims); }

}  // namespace tenon
