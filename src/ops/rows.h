// Anchors that work along one axis see a tensor as rows.
#pragma once
#include "ops/rules.h"

namespace tenon::ops {

// x (at least one axis) as [outer, rows, n] with `axis` last: a view where strides can express it.
Tensor to_rows(const Tensor& x, int64_t axis);
// A result of that shape in x's shape.
Tensor from_rows(const Tensor& rows, const Tensor& x, int64_t axis);

}  // namespace tenon::ops
