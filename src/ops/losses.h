// What losses take from softmax.cpp.
#pragma once
#include "ops/rules.h"

namespace tenon::ops {
// log(sum(exp(x))) along the axis, kept with size 1; x is f32 or f64. -inf where x is -inf everywhere, NaN where it holds +inf.
Tensor kept_logsumexp(const Tensor& x, int64_t axis);
}  // namespace tenon::ops
