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
  const Tensor last = move_axis(x, axis, x.rank() - 1);
  const int64_t n = last.dim(-1), rows = x.rank() > 1 ? last.dim(-2) : 1;
  int64_t outer = 1;
  for (int64_t i = 0; i + 2 < x.rank(); ++i) outer *= last.dim(i);
  return reshape(last, {outer, rows, n});
}

Tensor from_rows(const Tensor& rows, const Tensor& x, int64_t axis) {
  Shape shape = x.shape();
  shape.erase(shape.begin() + axis);
  shape.push_back(x.dim(axis));
  return move_axis(reshape(rows, std::move(shape)), x.rank() - 1, axis);
}

}  // namespace tenon::ops
