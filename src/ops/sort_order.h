// Positions that sort, for ops that are made of sorting.
#pragma once
#include "ops/rules.h"

namespace tenon::ops {
// argsort() as u32. `axis` is one of x's; x is a plain tensor with at least one.
Tensor sort_order(const char* op, const Tensor& x, int64_t axis, bool descending);
}  // namespace tenon::ops
