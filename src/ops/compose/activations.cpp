// Activations as compositions, computed in f32 and rounded once.
#include <numbers>

#include "ops/rules.h"

namespace tenon {

using namespace ops;

namespace {
Tensor sigmoid_f32(const Tensor& f) { return literal(f, 1) / (exp(-f) + literal(f, 1)); }
}  // namespace

Tensor square(const Tensor& x) { return x * x; }

Tensor sigmoid(const Tensor& x) { return in_f32("sigmoid", x, sigmoid_f32); }

Tensor relu(const Tensor& x) { return maximum(x, literal(x, 0)); }

Tensor silu(const Tensor& x) {
  return in_f32("silu", x, [](const Tensor& f) { return f * sigmoid_f32(f); });
}

Tensor gelu(const Tensor& x) {
  return in_f32("gelu", x, [](const Tensor& f) {
    const Tensor inner = erf(f * literal(f, std::numbers::sqrt2 / 2));
    return f * literal(f, 0.5) * (inner + literal(f, 1));
  });
}

Tensor gelu_tanh(const Tensor& x) {
  return in_f32("gelu_tanh", x, [](const Tensor& f) {
    const Tensor cubic = f + f * f * f * literal(f, 0.044715);
    const Tensor inner = tanh(cubic * literal(f, std::numbers::sqrt2 * std::numbers::inv_sqrtpi));
    return f * literal(f, 0.5) * (inner + literal(f, 1));
  });
}

}  // namespace tenon
