// Activations as compositions, computed in f32 (f64 in itself) and rounded once.
#include <numbers>

#include "ops/rules.h"

namespace tenon {

using namespace ops;

namespace {
Tensor sigmoid_of(const Tensor& f) { return literal(f, 1) / (exp(-f) + literal(f, 1)); }
}  // namespace

Tensor square(const Tensor& x) { return x * x; }

Tensor sigmoid(const Tensor& x) { return in_real("sigmoid", x, sigmoid_of); }

Tensor relu(const Tensor& x) { return maximum(x, literal(x, 0)); }

Tensor silu(const Tensor& x) {
  return in_real("silu", x, [](const Tensor& f) { return f * sigmoid_of(f); });
}

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  require_float("swiglu", gate);
  const DType t = promote("swiglu", gate, up);
  broadcast_shapes("swiglu", gate, up);  // or the error of this op
  const Tensor f = cast(gate, real_dtype(t));
  return cast(f * sigmoid_of(f) * cast(up, real_dtype(t)), t);
}

Tensor softplus(const Tensor& x) {
  return in_real("softplus", x, [](const Tensor& f) { return maximum(f, literal(f, 0)) + log1p(exp(-abs(f))); });
}

Tensor leaky_relu(const Tensor& x, double slope) {
  return in_real("leaky_relu", x, [&](const Tensor& f) { return where(greater(f, literal(f, 0)), f, f * number(f, slope)); });
}

Tensor elu(const Tensor& x, double alpha) {
  return in_real("elu", x, [&](const Tensor& f) { return where(greater(f, literal(f, 0)), f, expm1(f) * number(f, alpha)); });
}

// tanh(log(1 + e)) = n / (n + 2) with n = e (e + 2), e = exp(x); 1 from x = 20 on.
Tensor mish(const Tensor& x) {
  return in_real("mish", x, [](const Tensor& f) {
    const Tensor e = exp(minimum(f, literal(f, 20))), n = e * (e + literal(f, 2));
    return f * (n / (n + literal(f, 2)));
  });
}

Tensor gelu(const Tensor& x) {
  return in_real("gelu", x, [](const Tensor& f) {
    const Tensor inner = erf(f * literal(f, std::numbers::sqrt2 / 2));
    return f * literal(f, 0.5) * (inner + literal(f, 1));
  });
}

Tensor gelu_tanh(const Tensor& x) {
  return in_real("gelu_tanh", x, [](const Tensor& f) {
    const Tensor cubic = f + f * f * f * literal(f, 0.044715);
    const Tensor inner = tanh(cubic * literal(f, std::numbers::sqrt2 * std::numbers::inv_sqrtpi));
    return f * literal(f, 0.5) * (inner + literal(f, 1));
  });
}

}  // namespace tenon
