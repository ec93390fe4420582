// Variance, standard deviation and vector norms as compositions; one launch each.
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "ops/reduce_rules.h"

namespace tenon {

using namespace ops;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Of f32 or f64.
Tensor variance(const Tensor& x, const std::vector<int64_t>& axes, double correction, bool keepdims) {
  const double n = double(count_over(x, axes));
  return reduce(ReduceOp::sum_sq_dev, x, axes, keepdims) / rule_number(x, std::max(n - correction, 0.0));
}

void check_correction(const char* op, double correction) {
  if (correction != correction) throw Error(ErrorCode::invalid_argument, cat(op, ": the correction is NaN"), {.op = op});
}

Tensor norm_of(const Tensor& f, const std::vector<int64_t>& axes, bool keepdims, double ord) {
  if (ord == 2) return sqrt(reduce(ReduceOp::sum, square(f), axes, keepdims));
  if (ord == 1) return reduce(ReduceOp::sum, abs(f), axes, keepdims);
  if (ord == 0) return reduce(ReduceOp::sum, cast(cast(f, DType::bool_), f.dtype()), axes, keepdims);
  const Tensor largest = reduce(ReduceOp::max, ord > 0 ? abs(f) : -abs(f), axes, keepdims);
  return ord > 0 ? maximum(largest, literal(f, 0)) : -largest;  // the maximum of nothing is -infinity
}

}  // namespace

Tensor var(const Tensor& x, std::vector<int64_t> axes, double correction, bool keepdims) {
  axes = normalise_axes("var", x, std::move(axes));
  check_correction("var", correction);
  return in_real("var", x, [&](const Tensor& f) { return variance(f, axes, correction, keepdims); });
}

Tensor stddev(const Tensor& x, std::vector<int64_t> axes, double correction, bool keepdims) {
  axes = normalise_axes("stddev", x, std::move(axes));
  check_correction("stddev", correction);
  return in_real("stddev", x, [&](const Tensor& f) { return sqrt(variance(f, axes, correction, keepdims)); });
}

Tensor vector_norm(const Tensor& x, std::vector<int64_t> axes, bool keepdims, double ord) {
  axes = normalise_axes("vector_norm", x, std::move(axes));
  if (ord != 0 && ord != 1 && ord != 2 && ord != infinity && ord != -infinity)
    throw Error(ErrorCode::invalid_argument, cat("vector_norm: ord must be 0, 1, 2, infinity or -infinity, not ", ord), {.op = "vector_norm"});
  if (ord == -infinity && x.rank() > 0 && count_over(x, axes) == 0)
    fail_shape("vector_norm", {&x}, "the smallest magnitude of nothing; an axis that is reduced has size 0");
  return in_real("vector_norm", x, [&](const Tensor& f) { return norm_of(f, axes, keepdims, ord); });
}

}  // namespace tenon
