// What reductions and the compositions built on them share.
#pragma once
#include "ops/rules.h"

namespace tenon::ops {
// Ascending, within [0, rank); all axes when empty.
std::vector<int64_t> normalise_axes(const char* op, const Tensor& x, std::vector<int64_t> axes);
int64_t count_over(const Tensor& x, const std::vector<int64_t>& axes);
Tensor keep_dims(const Tensor& reduced, const Tensor& x, const std::vector<int64_t>& axes);
Tensor reduce(ReduceOp op, const Tensor& x, const std::vector<int64_t>& axes, bool keepdims);
}  // namespace tenon::ops
