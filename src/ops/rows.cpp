#include "ops/rows.h"

#include "base/check.h"

namespace tenon::ops {
namespace {

Tensor move_axis(const Tensor& x, int64_t from, int64_t to) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (i != from) axes.push_back(i);
  axes.insert(axes.begin() + to, from);
  return permute(x, std::move(axes));
}

}  // namespace

Tensor to_rows(const Tensor& x, int64_t axis) {
  const Tensor last = axis == x.rank() - 1 ? x : move_axis(x, axis, x.rank() - 1);
  if (x.rank() <= 3) return last;
  int64_t outer = 1;
  for (int64_t i = 0; i + 2 < x.rank(); ++i) outer *= last.dim(i);
  return reshape(last, {outer, last.dim(-2), last.dim(-1)});
}

Tensor from_rows(const Tensor& rows, const Tensor& x, int64_t axis) {
  Shape shape = x.shape();
  shape.erase(shape.begin() + axis);
  shape.push_back(x.dim(axis));
  const Tensor last = x.rank() <= 3 ? rows : reshape(rows, std::move(shape));
  return axis == x.rank() - 1 ? last : move_axis(last, x.rank() - 1, axis);
}

RowLayout row_layout(const graph::OperandView& v) {
  const size_t rank = v.shape.size();
  const auto from_end = [&](const std::vector<int64_t>& list, size_t i, int64_t missing) {
    return i <= rank ? list[rank - i] : missing;
  };
  return {from_end(v.shape, 3, 1),   from_end(v.shape, 2, 1),   v.shape.back(),
          from_end(v.strides, 3, 0), from_end(v.strides, 2, 0), v.strides.back()};
}

}  // namespace tenon::ops
