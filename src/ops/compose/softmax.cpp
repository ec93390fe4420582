// softmax, log_softmax, logsumexp and cross-entropy as compositions; the scheduler makes one launch of each.
#include <limits>

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

// log(sum(exp(x))) along the axis, kept; x is f32.
Tensor kept_logsumexp(const Tensor& x, int64_t axis) {
  const Tensor m = stable_max(x, axis);
  return log(row_sum(exp(x - m), axis)) + m;
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t axis) {
  const int64_t a = axis_of("softmax", x, axis);
  return in_f32("softmax", x, [&](const Tensor& f) {
    const Tensor e = exp(f - stable_max(f, a));
    const Tensor s = row_sum(e, a);
    return e / where(equal(s, literal(s, 0)), literal(s, 1), s);
  });
}

Tensor log_softmax(const Tensor& x, int64_t axis) {
  const int64_t a = axis_of("log_softmax", x, axis);
  return in_f32("log_softmax", x, [&](const Tensor& f) {
    const Tensor shifted = f - stable_max(f, a);
    return shifted - log(row_sum(exp(shifted), a));
  });
}

Tensor logsumexp(const Tensor& x, int64_t axis, bool keepdims) {
  const int64_t a = axis_of("logsumexp", x, axis);
  const Tensor kept = in_f32("logsumexp", x, [&](const Tensor& f) { return kept_logsumexp(f, a); });
  return keepdims || x.rank() == 0 ? kept : squeeze(kept, a);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets) {
  require_float("cross_entropy", logits);
  if (!is_integer(targets.dtype())) fail_dtype("cross_entropy", {&logits, &targets}, "targets must be i32 or u32");
  Shape rows = logits.shape();
  if (rows.empty()) fail_shape("cross_entropy", {&logits, &targets}, "logits need a last axis of classes");
  rows.pop_back();
  if (targets.shape() != rows) fail_shape("cross_entropy", {&logits, &targets}, "targets must have the logits' shape without the last axis");
  const Tensor f = cast(logits, DType::f32);
  const int64_t a = f.rank() - 1;
  const Tensor t = expand_dims(cast(targets, DType::i32), -1);
  const Tensor classes = to_tensor(graph::iota(node_of(f)->device, DType::i32, f.shape(), int(a)));
  const Tensor here = equal(classes, t);
  const Tensor picked = row_sum(where(here, f, literal(f, 0)), a);
  const Tensor hits = row_sum(cast(here, DType::f32), a);  // 0 when the target is no class
  const Tensor loss = kept_logsumexp(f, a) - picked;
  const Tensor checked = where(equal(hits, literal(hits, 1)), loss, literal(loss, std::numeric_limits<double>::quiet_NaN()));
  return cast(squeeze(checked, -1), logits.dtype());
}

}  // namespace tenon
