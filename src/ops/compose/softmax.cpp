// softmax, log_softmax and logsumexp as compositions; the scheduler makes one launch of each.
#include <limits>

#include "ops/losses.h"
#include "ops/reduce_rules.h"

namespace tenon {

using namespace ops;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

int64_t axis_of(const char* op, const Tensor& x, int64_t axis) {
  require_float(op, x);
  return x.rank() == 0 ? 0 : normalise_axis(op, axis, x.rank());
}

// The row's maximum, kept; 0 where it is -inf, so that x - m stays -inf and no NaN arises.
Tensor stable_max(const Tensor& x, int64_t axis) {
  if (x.rank() == 0) return x;
  const Tensor m = reduce(ReduceOp::max, x, {axis}, true);
  return where(equal(m, literal(m, -infinity)), literal(m, 0), m);
}

Tensor row_sum(const Tensor& x, int64_t axis) { return x.rank() == 0 ? x : reduce(ReduceOp::sum, x, {axis}, true); }

}  // namespace

Tensor ops::kept_logsumexp(const Tensor& x, int64_t axis) {
  const Tensor m = stable_max(x, axis);
  return log(row_sum(exp(x - m), axis)) + m;
}

Tensor softmax(const Tensor& x, int64_t axis) {
  const int64_t a = axis_of("softmax", x, axis);
  return in_real("softmax", x, [&](const Tensor& f) {
    const Tensor e = exp(f - stable_max(f, a));
    const Tensor s = row_sum(e, a);
    return e / where(equal(s, literal(s, 0)), literal(s, 1), s);
  });
}

Tensor log_softmax(const Tensor& x, int64_t axis) {
  const int64_t a = axis_of("log_softmax", x, axis);
  return in_real("log_softmax", x, [&](const Tensor& f) {
    const Tensor shifted = f - stable_max(f, a);
    return shifted - log(row_sum(exp(shifted), a));
  });
}

Tensor logsumexp(const Tensor& x, int64_t axis, bool keepdims) {
  const int64_t a = axis_of("logsumexp", x, axis);
  const Tensor kept = in_real("logsumexp", x, [&](const Tensor& f) { return kept_logsumexp(f, a); });
  return keepdims || x.rank() == 0 ? kept : squeeze(kept, a);
}

}  // namespace tenon
