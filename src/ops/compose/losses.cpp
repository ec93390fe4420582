// Losses as compositions, in f32 (f64 in itself), rounded once. The part of each row or element is one launch (two for cross-entropy
// with weights and smoothing at once); a mean or sum over them is another.
#include <limits>

#include "base/check.h"
#include "ops/losses.h"
#include "ops/reduce_rules.h"

namespace tenon {

using namespace ops;

namespace {

// In f32 or f64, of two floats of one shape.
template <class F>
Tensor elementwise_loss(const char* op, const Tensor& input, const Tensor& target, Reduction reduction, F&& f) {
  const DType t = promote(op, input, target);
  if (!is_float(t)) fail_dtype(op, {&input, &target}, "needs floats; cast() first");
  if (const std::string why = disagreement(input.shape(), target.shape()); !why.empty())
    fail_shape(op, {&input, &target}, cat("input and target must have the same shape; ", why));
  const Tensor loss = f(cast(input, real_dtype(t)), cast(target, real_dtype(t)));
  if (reduction == Reduction::none) return cast(loss, t);
  return cast(reduction == Reduction::sum ? sum(loss) : mean(loss), t);
}

// A size as a run-time scalar, so that one kernel serves all.
Tensor size_scalar(const Tensor& x, int64_t size) {
  const NodeRef s = graph::scalar(node_of(x)->device, DType::u32, uint32_t(size));
  s->fixed = true;
  return to_tensor(s);
}

}  // namespace

Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  return elementwise_loss("mse_loss", input, target, reduction, [](const Tensor& x, const Tensor& y) { return square(x - y); });
}

Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  return elementwise_loss("l1_loss", input, target, reduction, [](const Tensor& x, const Tensor& y) { return abs(x - y); });
}

Tensor huber_loss(const Tensor& input, const Tensor& target, Reduction reduction, double delta) {
  if (!(delta > 0)) throw Error(ErrorCode::invalid_argument, cat("huber_loss: delta must be positive, not ", delta), {.op = "huber_loss"});
  return elementwise_loss("huber_loss", input, target, reduction, [&](const Tensor& x, const Tensor& y) {
    const Tensor d = abs(x - y), limit = number(d, delta), half = literal(d, 0.5);
    return where(less_equal(d, limit), half * square(d), limit * (d - half * limit));
  });
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, Reduction reduction) {
  return elementwise_loss("binary_cross_entropy", input, target, reduction, [](const Tensor& p, const Tensor& y) {
    const Tensor one = literal(p, 1), least = literal(p, -100);
    return -(y * maximum(log(p), least) + (one - y) * maximum(log(one - p), least));
  });
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, Reduction reduction) {
  return elementwise_loss("binary_cross_entropy_with_logits", input, target, reduction, [](const Tensor& x, const Tensor& y) {
    return maximum(x, literal(x, 0)) - x * y + log1p(exp(-abs(x)));
  });
}

Tensor kl_div(const Tensor& input, const Tensor& target, Reduction reduction, bool log_target) {
  return elementwise_loss("kl_div", input, target, reduction, [&](const Tensor& x, const Tensor& y) {
    if (log_target) return exp(y) * (y - x);
    return where(equal(y, literal(y, 0)), literal(y, 0), y * (log(y) - x));
  });
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& o) {
  require_float("cross_entropy", logits);
  if (!is_integer(targets.dtype())) fail_dtype("cross_entropy", {&logits, &targets}, "targets must be integers");
  Shape rows = logits.shape();
  if (rows.empty()) fail_shape("cross_entropy", {&logits, &targets}, "logits need a last axis of classes");
  rows.pop_back();
  if (targets.shape() != rows)
    fail_shape("cross_entropy", {&logits, &targets}, cat("targets must be ", to_string(rows), ", the logits' shape without the last axis"));
  const int64_t classes = logits.dim(-1);
  if (classes > (int64_t(1) << 31)) throw Error(ErrorCode::unsupported, cat("cross_entropy: ", classes, " classes, at most 2^31"), {.op = "cross_entropy"});
  if (o.weight.defined()) require_float("cross_entropy", o.weight);
  if (o.weight.defined() && o.weight.shape() != Shape{classes}) fail_shape("cross_entropy", {&logits, &o.weight}, cat("the weight must be [", classes, "]"));
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
    throw Error(ErrorCode::invalid_argument, cat("cross_entropy: label_smoothing must be within 0 and 1, not ", o.label_smoothing), {.op = "cross_entropy"});

  const Tensor f = cast(logits, real_dtype(logits.dtype())), zero = literal(f, 0);
  const int64_t a = f.rank() - 1;
  const Tensor weight = o.weight.defined() ? cast(o.weight, f.dtype()) : Tensor();
  auto row_sum = [&](const Tensor& x) { return reduce(ReduceOp::sum, x, {a}, true); };
  const Tensor index = position_index(targets);
  const Tensor position = to_tensor(graph::iota(node_of(f)->device, DType::i32, f.shape(), int(a)));
  const Tensor here = equal(position, expand_dims(index, -1));
  const Tensor lse = kept_logsumexp(f, a);
  Tensor loss;
  if (o.label_smoothing != 0) {  // the loss of each class, by the share that the class has
    const double others = o.label_smoothing / double(classes);
    const Tensor share = where(here, number(f, 1 - o.label_smoothing + others), number(f, others));
    loss = row_sum((lse - f) * (weight.defined() ? share * weight : share));
  } else {
    loss = weight.defined() ? row_sum(where(here, (lse - f) * weight, zero)) : lse - row_sum(where(here, f, zero));
  }
  const Tensor valid = less(cast(index, DType::u32), size_scalar(f, classes));  // a negative target is a large one
  loss = where(valid, squeeze(loss, -1), literal(f, std::numeric_limits<double>::quiet_NaN()));
  const bool ignores = o.ignore_index && fits_dtype(targets.dtype(), *o.ignore_index);
  const Tensor ignored = ignores ? equal(targets, literal(targets, *o.ignore_index)) : Tensor();
  if (ignores) loss = where(ignored, zero, loss);
  if (o.reduction == Reduction::none) return cast(loss, logits.dtype());
  if (o.reduction == Reduction::sum) return cast(sum(loss), logits.dtype());
  if (!ignores && !weight.defined()) return cast(mean(loss), logits.dtype());
  Tensor share = weight.defined() ? take(weight, targets) : broadcast_to(literal(f, 1), rows);
  if (ignores) share = where(ignored, zero, share);
  return cast(sum(loss) / sum(share), logits.dtype());
}

}  // namespace tenon
