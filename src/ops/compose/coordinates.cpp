// Ops made of coordinates: comparisons of an axis's positions with numbers or with each other. One launch each.
#include <algorithm>

#include "base/check.h"
#include "ops/rules.h"

namespace tenon {

using namespace ops;

namespace {

// The coordinate along an axis of the shape, i32. The limit leaves room to add an offset of the same kind.
Tensor coordinate(const char* op, const Device& device, Shape shape, int64_t axis) {
  constexpr int64_t limit = int64_t(1) << 30;
  if (shape[size_t(axis)] > limit)
    throw Error(ErrorCode::unsupported, cat(op, ": axis ", axis, " of ", to_string(shape), " is longer than ", limit), {.op = op});
  return to_tensor(graph::iota(device.shared(), DType::i32, std::move(shape), int(axis)));
}

// Where column <= row + k holds, [rows, columns].
Tensor below_diagonal(const char* op, const Device& device, int64_t rows, int64_t columns, int64_t k) {
  const Tensor row = coordinate(op, device, {rows, 1}, 0), column = coordinate(op, device, {1, columns}, 1);
  return less_equal(column, row + literal(row, double(std::clamp(k, -rows - 1, columns))));
}

Tensor triangle(const char* op, const Tensor& x, bool lower, int64_t k) {
  if (x.rank() < 2) fail_shape(op, {&x}, "needs at least two axes");
  if (is_quantised(x.dtype())) fail_dtype(op, {&x}, "cast() a quantised tensor first");
  const Tensor inside = below_diagonal(op, x.device(), x.dim(-2), x.dim(-1), lower ? k : std::max(k, -x.dim(-2)) - 1);
  return lower ? where(inside, x, literal(x, 0)) : where(inside, literal(x, 0), x);
}

}  // namespace

Tensor tril(const Tensor& x, int64_t k) { return triangle("tril", x, true, k); }
Tensor triu(const Tensor& x, int64_t k) { return triangle("triu", x, false, k); }

Tensor eye(int64_t rows, std::optional<int64_t> columns, int64_t k, DType dtype, const Device& device) {
  const int64_t m = columns.value_or(rows);
  full({rows, m}, 0, dtype, device);  // its errors are ours
  const Tensor row = coordinate("eye", device, {rows, 1}, 0), column = coordinate("eye", device, {1, m}, 1);
  return cast(equal(column, row + literal(row, double(std::clamp(k, -rows - 1, m)))), dtype);
}

Tensor one_hot(const Tensor& indices, int64_t classes, DType dtype) {
  if (!is_integer(indices.dtype())) fail_dtype("one_hot", {&indices}, "indices must be integers");
  require_lanes("one_hot", indices.device(), dtype);
  if (classes < 0) throw Error(ErrorCode::invalid_argument, cat("one_hot: ", classes, " classes"), {.op = "one_hot"});
  Shape shape(indices.shape().size(), 1);
  shape.push_back(classes);
  const Tensor column = coordinate("one_hot", indices.device(), shape, int64_t(shape.size()) - 1);
  return cast(equal(position_index(expand_dims(indices, -1)), column), dtype);
}

Tensor linspace(double start, double stop, int64_t count, DType dtype, const Device& device, bool endpoint) {
  const double ends[] = {start, stop};
  if (count < 0 || !(ends[0] - ends[0] == 0) || !(ends[1] - ends[1] == 0))
    throw Error(ErrorCode::invalid_argument, cat("linspace(", start, ", ", stop, ", ", count, "): needs finite ends and a count of 0 or more"), {.op = "linspace"});
  if (!is_float(dtype)) throw Error(ErrorCode::dtype, cat("linspace gives floats, not ", to_string(dtype), "; cast() the result"), {.op = "linspace"});
  require_lanes("linspace", device, dtype);
  const int64_t steps = std::max<int64_t>(endpoint ? count - 1 : count, 1);
  const Tensor i = coordinate("linspace", device, {count}, 0), f = cast(i, real_dtype(dtype));
  const Tensor step = number(f, (stop - start) / double(steps)), up = number(f, start) + f * step;
  if (!endpoint || count < 2) return cast(up, dtype);
  // From the nearer end: both ends are exact.
  const Tensor down = number(f, stop) - cast(literal(i, double(count - 1)) - i, f.dtype()) * step;
  return cast(where(less(i, literal(i, double(count / 2))), up, down), dtype);
}

// Reads x at index along one axis and at the result's own position along the others.
Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis) {
  if (!is_integer(indices.dtype())) fail_dtype("take_along_axis", {&x, &indices}, "indices must be integers");
  if (is_quantised(x.dtype())) fail_dtype("take_along_axis", {&x, &indices}, "cast() a quantised tensor first");
  if (x.rank() != indices.rank()) fail_shape("take_along_axis", {&x, &indices}, "both must have the same number of axes");
  const int a = axis_in("take_along_axis", x, axis);
  Shape shape = indices.shape();
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i == a || x.dim(i) == shape[size_t(i)] || x.dim(i) == 1) continue;
    if (shape[size_t(i)] != 1) fail_shape("take_along_axis", {&x, &indices}, cat("sizes ", x.dim(i), " and ", shape[size_t(i)], " of axis ", i, " do not broadcast"));
    shape[size_t(i)] = x.dim(i);
  }
  return to_tensor(graph::gather_along(node_of(x), broadcast(node_of(indices), shape), a));
}

}  // namespace tenon
