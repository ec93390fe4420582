// layer_norm, rms_norm and group_norm as compositions; one launch each.
#include "base/check.h"
#include "ops/reduce_rules.h"

namespace tenon {

using namespace ops;

namespace {

void check_channels(const char* op, const Tensor& x, const Tensor& weight) {
  require_float(op, x);
  require_float(op, weight);
  if (x.rank() < 1 || weight.rank() != 1 || weight.dim(0) != x.dim(-1))
    fail_shape(op, {&x, &weight}, cat("weight and bias must be [C] for x: [.., C]",
                                      x.rank() < 1 ? std::string() : cat(", here [", x.dim(-1), "]")));
}

Tensor row_mean(const Tensor& x) {
  const int64_t last = x.rank() - 1;
  return reduce(ReduceOp::sum, x, {last}, true) / rule_number(x, double(x.dim(last)));
}

// (x - mean) / sqrt(variance + eps): the sum and the squared deviations come of one pass.
Tensor standardised(const Tensor& x, const std::vector<int64_t>& axes, double eps) {
  const Tensor n = rule_number(x, double(count_over(x, axes)));
  const Tensor variance = reduce(ReduceOp::sum_sq_dev, x, axes, true) / n;
  return (x - reduce(ReduceOp::sum, x, axes, true) / n) * rsqrt(variance + rule_number(x, eps));
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  check_channels("layer_norm", x, weight);
  if (bias.defined()) check_channels("layer_norm", x, bias);
  return in_real("layer_norm", x, [&](const Tensor& f) {
    const Tensor scaled = standardised(f, {f.rank() - 1}, eps) * cast(weight, f.dtype());
    return bias.defined() ? scaled + cast(bias, f.dtype()) : scaled;
  });
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  check_channels("rms_norm", x, weight);
  return in_real("rms_norm", x, [&](const Tensor& f) {
    return f * rsqrt(row_mean(square(f)) + rule_number(f, eps)) * cast(weight, f.dtype());
  });
}

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  require_float("group_norm", x);
  if (x.rank() < 2 || groups <= 0 || x.dim(1) % groups != 0)
    fail_shape("group_norm", {&x}, cat("x must be [N, C, ..] and ", groups, " groups must divide C"));
  for (const Tensor* t : {&weight, &bias}) {
    if (!t->defined()) continue;
    require_float("group_norm", *t);
    if (t->shape() != Shape{x.dim(1)})
      fail_shape("group_norm", {&x, t}, cat("weight and bias must be [C] for x: [N, C, ..], here [", x.dim(1), "]"));
  }
  // The axes of a group stay apart, so that the statistics and the result have the same ones.
  Shape split = x.shape(), channel(size_t(x.rank()) - 1, 1);
  split[1] = x.dim(1) / groups;
  split.insert(split.begin() + 1, groups);
  channel[0] = x.dim(1);
  std::vector<int64_t> axes;
  for (int64_t a = 2; a < int64_t(split.size()); ++a) axes.push_back(a);
  return in_real("group_norm", x, [&](const Tensor& f) {
    Tensor out = reshape(standardised(reshape(f, split), axes, eps), x.shape());
    if (weight.defined()) out = out * reshape(cast(weight, f.dtype()), channel);
    return bias.defined() ? out + reshape(cast(bias, f.dtype()), channel) : out;
  });
}

}  // namespace tenon
