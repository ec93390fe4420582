// layer_norm and rms_norm as compositions; one launch each.
#include "base/check.h"
#include "ops/reduce_rules.h"

namespace tenon {

using namespace ops;

namespace {

void check_channels(const char* op, const Tensor& x, const Tensor& weight) {
  require_float(op, x);
  require_float(op, weight);
  if (x.rank() < 1 || weight.rank() != 1 || weight.dim(0) != x.dim(-1))
    fail_shape(op, {&x, &weight}, "weight and bias must be [C] for x: [.., C]");
}

Tensor row_mean(const Tensor& x) {
  const int64_t last = x.rank() - 1;
  return reduce(ReduceOp::sum, x, {last}, true) / rule_number(x, double(x.dim(last)));
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  check_channels("layer_norm", x, weight);
  if (bias.defined()) check_channels("layer_norm", x, bias);
  return in_f32("layer_norm", x, [&](const Tensor& f) {
    const Tensor centred = f - row_mean(f);
    const Tensor scaled = centred * rsqrt(row_mean(square(centred)) + rule_number(f, eps)) * cast(weight, DType::f32);
    return bias.defined() ? scaled + cast(bias, DType::f32) : scaled;
  });
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  check_channels("rms_norm", x, weight);
  return in_f32("rms_norm", x, [&](const Tensor& f) {
    return f * rsqrt(row_mean(square(f)) + rule_number(f, eps)) * cast(weight, DType::f32);
  });
}

}  // namespace tenon
