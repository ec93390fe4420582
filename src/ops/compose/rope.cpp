// Rotary position embedding (Su et al., "RoFormer", 2021): each pair (a, b) becomes (a cos - b sin, b cos + a sin).
// The pair's partner is read through a view that flips the axis of the pair, so the whole op is one map region.
#include "base/check.h"
#include "ops/rules.h"

namespace tenon {

using namespace ops;

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, RopePairing pairing) {
  if (x.rank() < 2 || x.dim(-1) % 2 != 0) fail_shape("rope", {&x, &cos, &sin}, "x must be [.., T, D] with even D");
  const int64_t T = x.dim(-2), half = x.dim(-1) / 2;
  if (cos.shape() != Shape{T, half} || sin.shape() != cos.shape())
    fail_shape("rope", {&x, &cos, &sin}, cat("cos and sin must be [T, D/2] = ", to_string(Shape{T, half})));
  for (const Tensor* t : {&cos, &sin})
    if (t->dtype() != DType::f32 && t->dtype() != DType::f64) fail_dtype("rope", {&x, &cos, &sin}, "cos and sin must be f32 or f64");
  const bool is_half = pairing == RopePairing::half;
  return in_real("rope", x, [&](const Tensor& f) {
    Shape split = x.shape();
    split.back() = is_half ? 2 : half;
    split.push_back(is_half ? half : 2);
    const int64_t pair = is_half ? -2 : -1;
    const Tensor p = reshape(f, split), partner = flip(p, pair);
    const Shape table = is_half ? Shape{T, 1, half} : Shape{T, half, 1};
    Shape sign_shape(split.size(), 1);
    sign_shape[split.size() - (is_half ? 2 : 1)] = 2;
    const Tensor member = to_tensor(graph::iota(node_of(x)->device, DType::i32, sign_shape, int(split.size()) - (is_half ? 2 : 1)));
    const Tensor sign = where(equal(member, literal(member, 0)), literal(f, -1), literal(f, 1));
    return reshape(p * reshape(cast(cos, f.dtype()), table) + partner * (sign * reshape(cast(sin, f.dtype()), table)), x.shape());
  });
}

}  // namespace tenon
