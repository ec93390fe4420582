// Anchors that work along one axis see a tensor as rows.
#pragma once
#include "ops/rules.h"

namespace tenon::ops {

// x (at least one axis) with `axis` last and at most three axes: a view where strides can express it, x itself where
// that is so already.
Tensor to_rows(const Tensor& x, int64_t axis);
// A result of that shape in x's shape.
Tensor from_rows(const Tensor& rows, const Tensor& x, int64_t axis);

// What a kernel sees of at most three axes, the last one being n: missing ones in front have size 1 and stride 0.
struct RowLayout {
  int64_t outer, rows, n;
  int64_t outer_stride, row_stride, step;
};
RowLayout row_layout(const graph::OperandView& view);

}  // namespace tenon::ops
