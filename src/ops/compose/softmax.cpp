// softmax, log_softmax and logsumexp as compositions; the scheduler makes one launch of each.
#include <limits>

#include "ops/losses.h"
#include "ops/reduce_rules.h"

namespace tenon {

using namespace ops;

namespace {

int64_t axis_of(const char* op, const Tensor& x, int64_t axis) {
  require_float(op, x);
  return x.rank() == 0 ? 0 : axis_in(op, x, axis);
}

// The row's maximum, kept; finite where it is -inf, so that x - m stays -inf and no NaN arises.
Tensor stable_max(const Tensor& x, int64_t axis) {
  if (x.rank() == 0) return x;
  const Tensor m = reduce(ReduceOp::max, x, {axis}, true);
  const bool wide = m.dtype() == DType::f64;
  return maximum(m, literal(m, wide ? std::numeric_limits<double>::lowest() : double(std::numeric_limits<float>::lowest())));
}

// Of exp(x - stable_max(x)): the same pass as the maximum.
Tensor sum_exp(const Tensor& x, int64_t axis) {
  return x.rank() == 0 ? reduce(ReduceOp::sum_exp, x, {}, false) : reduce(ReduceOp::sum_exp, x, {axis}, true);
}

}  // namespace

Tensor ops::kept_logsumexp(const Tensor& x, int64_t axis) { return log(sum_exp(x, axis)) + stable_max(x, axis); }

Tensor softmax(const Tensor& x, int64_t axis) {
  const int64_t a = axis_of("softmax", x, axis);
  return in_real("softmax", x, [&](const Tensor& f) {
    const Tensor s = sum_exp(f, a);
    return exp(f - stable_max(f, a)) / where(equal(s, literal(s, 0)), literal(s, 1), s);
  });
}

Tensor log_softmax(const Tensor& x, int64_t axis) {
  const int64_t a = axis_of("log_softmax", x, axis);
  return in_real("log_softmax", x, [&](const Tensor& f) { return (f - stable_max(f, a)) - log(sum_exp(f, a)); });
}

Tensor logsumexp(const Tensor& x, int64_t axis, bool keepdims) {
  const int64_t a = axis_of("logsumexp", x, axis);
  const Tensor kept = in_real("logsumexp", x, [&](const Tensor& f) {
    if (f.rank() == 0) return f;
    // A maximum of +inf is the result: the sum, of exp(inf - inf), is NaN.
    const Tensor m = reduce(ReduceOp::max, f, {a}, true);
    return where(equal(m, literal(m, std::numeric_limits<double>::infinity())), m, kept_logsumexp(f, a));
  });
  return keepdims || x.rank() == 0 ? kept : squeeze(kept, a);
}

}  // namespace tenon
