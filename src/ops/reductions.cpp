#include <algorithm>

#include "base/check.h"
#include "ops/reduce_rules.h"

namespace tenon {

using namespace ops;

namespace ops {

std::vector<int64_t> normalise_axes(const char* op, const Tensor& x, std::vector<int64_t> axes) {
  if (axes.empty())
    for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i);
  else
    for (int64_t& a : axes) a = normalise_axis(op, a, x.rank());
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) fail_shape(op, {&x}, "an axis is named twice");
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
  if (axes.empty()) return x;  // 0-d: the value itself
  const Tensor r = to_tensor(graph::reduce(op, node_of(x), axes));
  return keepdims ? keep_dims(r, x, axes) : r;
}

}  // namespace ops

Tensor sum(const Tensor& x, std::vector<int64_t> axes, bool keepdims) {
  axes = normalise_axes("sum", x, std::move(axes));
  if (x.dtype() == DType::bool_ || is_quantised(x.dtype())) fail_dtype("sum", {&x}, "needs a number; cast() it first");
  if (!is_float(x.dtype())) return reduce(ReduceOp::sum, x, axes, keepdims);
  return cast(reduce(ReduceOp::sum, cast(x, DType::f32), axes, keepdims), x.dtype());
}

Tensor mean(const Tensor& x, std::vector<int64_t> axes, bool keepdims) {
  require_float("mean", x);
  axes = normalise_axes("mean", x, std::move(axes));
  const Tensor f = cast(x, DType::f32);
  return cast(reduce(ReduceOp::sum, f, axes, keepdims) / rule_number(f, double(count_over(x, axes))), x.dtype());
}

Tensor max(const Tensor& x, std::vector<int64_t> axes, bool keepdims) {
  axes = normalise_axes("max", x, std::move(axes));
  if (x.dtype() == DType::bool_ || is_quantised(x.dtype())) fail_dtype("max", {&x}, "needs a number; cast() it first");
  if (count_over(x, axes) == 0 && x.rank() > 0) fail_shape("max", {&x}, "the maximum of nothing; an axis that is reduced has size 0");
  return reduce(ReduceOp::max, x, axes, keepdims);
}

Tensor argmax(const Tensor& x, int64_t axis, bool keepdims) {
  if (x.dtype() == DType::bool_ || is_quantised(x.dtype())) fail_dtype("argmax", {&x}, "needs a number; cast() it first");
  if (x.rank() == 0) {
    normalise_axis("argmax", axis, 1);
    return full({}, 0, DType::i32, x.device());
  }
  const int64_t a = normalise_axis("argmax", axis, x.rank());
  if (x.dim(a) == 0) fail_shape("argmax", {&x}, cat("axis ", a, " has size 0"));
  const NodeRef r = graph::cast(graph::reduce(ReduceOp::argmax, node_of(x), {a}), DType::i32);
  return keepdims ? keep_dims(to_tensor(r), x, {a}) : to_tensor(r);
}

}  // namespace tenon
