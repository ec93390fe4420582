#include <algorithm>

#include "base/check.h"
#include "ops/rules.h"

namespace tenon {

using namespace ops;

namespace {

void refuse_quantised(const char* op, const Tensor& x) {
  if (is_quantised(x.dtype()))
    fail_dtype(op, {&x}, cat("a ", to_string(x.dtype()), " tensor takes part in linear(), embedding() and cast() only; cast() it first"));
}

}  // namespace

Tensor reshape(const Tensor& x, Shape shape) {
  refuse_quantised("reshape", x);
  const int64_t n = x.size();
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1 && open >= 0) fail_shape("reshape", {&x}, cat("more than one -1 in ", to_string(shape)));
    if (shape[i] == -1) open = int64_t(i);
    else if (shape[i] < 0) fail_shape("reshape", {&x}, cat("negative size in ", to_string(shape)));
    else known = checked_mul(known, shape[i]);
  }
  if (open >= 0) {
    if (known == 0 || n % known != 0) fail_shape("reshape", {&x}, cat(n, " elements do not divide into ", to_string(shape)));
    shape[size_t(open)] = n / known;
    known = n;
  }
  if (known != n) fail_shape("reshape", {&x}, cat("has ", n, " elements, ", to_string(shape), " has ", known));
  return to_tensor(graph::reshape(node_of(x), std::move(shape)));
}

Tensor permute(const Tensor& x, std::vector<int64_t> axes) {
  refuse_quantised("permute", x);
  std::vector<bool> seen(size_t(x.rank()), false);
  bool ok = int64_t(axes.size()) == x.rank();
  for (size_t i = 0; ok && i < axes.size(); ++i) {
    axes[i] = axis_in("permute", x, axes[i]);
    ok = !seen[size_t(axes[i])];
    seen[size_t(axes[i])] = true;
  }
  if (!ok) fail_shape("permute", {&x}, "axes must name each axis once");
  return to_tensor(graph::permute(node_of(x), std::move(axes)));
}

Tensor transpose(const Tensor& x, int64_t a, int64_t b) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i);
  std::swap(axes[size_t(axis_in("transpose", x, a))], axes[size_t(axis_in("transpose", x, b))]);
  return permute(x, std::move(axes));
}

Tensor expand_dims(const Tensor& x, int64_t axis) {
  Shape shape = x.shape();
  shape.insert(shape.begin() + axis_in("expand_dims", x, axis, 1), 1);
  return reshape(x, std::move(shape));
}

Tensor squeeze(const Tensor& x, int64_t axis) {
  const int a = axis_in("squeeze", x, axis);
  Shape shape = x.shape();
  if (shape[size_t(a)] != 1) fail_shape("squeeze", {&x}, cat("axis ", a, " has size ", shape[size_t(a)], ", not 1"));
  shape.erase(shape.begin() + a);
  return reshape(x, std::move(shape));
}

Tensor broadcast_to(const Tensor& x, Shape shape) {
  refuse_quantised("broadcast_to", x);
  element_count(shape);
  if (shape.size() < x.shape().size()) fail_shape("broadcast_to", {&x}, cat("has more axes than ", to_string(shape)));
  for (size_t i = 0; i < x.shape().size(); ++i) {
    const int64_t from = x.shape()[x.shape().size() - 1 - i], to = shape[shape.size() - 1 - i];
    if (from != to && from != 1)
      fail_shape("broadcast_to", {&x},
                 cat("does not broadcast to ", to_string(shape), ": sizes ", from, " and ", to, " of axis ", -int64_t(i) - 1));
  }
  return to_tensor(broadcast(node_of(x), shape));
}

Tensor flip(const Tensor& x, int64_t axis) { return slice(x, axis_in("flip", x, axis), {}, {}, -1); }

Tensor slice(const Tensor& x, int64_t axis, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) {
  refuse_quantised("slice", x);
  const size_t a = size_t(axis_in("slice", x, axis));
  if (step == 0) throw Error(ErrorCode::invalid_argument, cat(describe("slice", {&x}), ": step 0"), {.op = "slice"});
  const int64_t n = x.shape()[a];
  step = std::clamp(step, -n - 1, n + 1);  // longer steps reach no second element either
  // Python's rules: bounds are clamped to what can be reached in the direction of the step.
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  auto bound = [&](std::optional<int64_t> v, int64_t otherwise) {
    if (!v) return otherwise;
    const int64_t p = *v < 0 ? *v + n : *v;
    return std::clamp(p, low, high);
  };
  const int64_t from = bound(start, step > 0 ? 0 : n - 1), to = bound(stop, step > 0 ? n : -1);
  const int64_t count = step > 0 ? (to - from + step - 1) / step : (to - from + step + 1) / step;
  std::vector<int64_t> starts(x.shape().size(), 0), steps(x.shape().size(), 1);
  Shape shape = x.shape();
  shape[a] = std::max<int64_t>(count, 0);
  starts[a] = shape[a] > 0 ? from : 0;
  steps[a] = step;
  return to_tensor(graph::slice(node_of(x), std::move(starts), std::move(steps), std::move(shape)));
}

Tensor concat(const std::vector<Tensor>& parts, int64_t axis) {
  if (parts.empty()) throw Error(ErrorCode::invalid_argument, "concat: needs at least one tensor", {.op = "concat"});
  const Tensor& first = parts[0];
  if (first.rank() == 0) fail_shape("concat", {&first}, "a 0-d tensor has no axis; expand_dims() it first");
  const int a = axis_in("concat", first, axis);
  DType t = first.dtype();
  for (const Tensor& p : parts) {
    promote("concat", first, p);  // its errors name two of the parts
    t = promote("concat", to_tensor(graph::constant(node_of(p)->device, t, 0, {})), p);
  }
  std::vector<NodeRef> nodes;
  for (const Tensor& p : parts) {
    if (const std::string why = disagreement(first.shape(), p.shape(), a); !why.empty())
      fail_shape("concat", {&first, &p}, cat("shapes must agree except on axis ", a, "; ", why));
    nodes.push_back(graph::cast(node_of(p), t));
  }
  return to_tensor(graph::concat(std::move(nodes), a));
}

Tensor take(const Tensor& x, const Tensor& indices, int64_t axis) {
  require_one_device("take", {&x, &indices});
  if (!is_integer(indices.dtype())) fail_dtype("take", {&x, &indices}, "indices must be integers");
  const int a = axis_in("take", x, axis);
  if (is_quantised(x.dtype()) && (a != 0 || x.rank() < 2)) fail_shape("take", {&x, &indices}, "of a quantised tensor only whole rows can be taken (axis 0)");
  return to_tensor(graph::gather(node_of(x), node_of(indices), a));
}

Tensor embedding(const Tensor& table, const Tensor& ids) {
  if (table.rank() != 2) fail_shape("embedding", {&table, &ids}, "the table must be [V, C]");
  if (!is_integer(ids.dtype())) fail_dtype("embedding", {&table, &ids}, "ids must be integers");
  return take(table, ids, 0);
}

Tensor dynamic_slice(const Tensor& x, const Scalar& at, int64_t axis, int64_t length) {
  refuse_quantised("dynamic_slice", x);
  const int a = axis_in("dynamic_slice", x, axis);
  if (at.tensor().dtype() != DType::u32) fail_dtype("dynamic_slice", {&x, &at.tensor()}, "the position must be a u32 Scalar");
  if (length < 0 || length > x.dim(a)) fail_shape("dynamic_slice", {&x}, cat("length ", length, " is not within axis ", a, " of size ", x.dim(a)));
  return to_tensor(graph::dynamic_slice(node_of(x), node_of(at.tensor()), a, length));
}

Tensor update(const Tensor& dst, const Tensor& src, const Scalar& at, int64_t axis) {
  refuse_quantised("update", dst);
  require_one_device("update", {&dst, &src, &at.tensor()});
  const int a = axis_in("update", dst, axis);
  if (at.tensor().dtype() != DType::u32) fail_dtype("update", {&dst, &src, &at.tensor()}, "the position must be a u32 Scalar");
  if (dst.dtype() != src.dtype()) fail_dtype("update", {&dst, &src}, cat("src must be ", to_string(dst.dtype()), "; cast() it"));
  std::string why = disagreement(dst.shape(), src.shape(), a);
  if (why.empty() && src.dim(a) > dst.dim(a)) why = cat("it has ", src.dim(a), " and dst ", dst.dim(a));
  if (!why.empty()) fail_shape("update", {&dst, &src}, cat("shapes must agree except on axis ", a, ", where src may be shorter; ", why));
  return to_tensor(graph::update(node_of(dst), node_of(src), node_of(at.tensor()), a));
}

}  // namespace tenon
