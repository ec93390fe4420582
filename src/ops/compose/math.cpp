// Element-wise ops made of others. Floats are computed in f32 (f64 in itself) and rounded once.
#include <limits>
#include <numbers>

#include "base/cat.h"
#include "ops/rules.h"

namespace tenon {

using namespace ops;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void require_number(const char* op, const Tensor& x) {
  if (!is_float(x.dtype()) && !is_integer(x.dtype()))
    fail_dtype(op, {&x}, cat("needs a number, not ", to_string(x.dtype()), "; cast() it first"));
}
Tensor arc_sine_leg(const Tensor& f) { return sqrt((literal(f, 1) - f) * (literal(f, 1) + f)); }
Tensor with_sign_of(const Tensor& x, const Tensor& magnitude) { return where(less(x, literal(x, 0)), -magnitude, magnitude); }
// exp(|x|) / 2 by two factors, which do not overflow before the result does.
struct Halves {
  Tensor growing, falling;
};
Halves exp_halves(const Tensor& f) {
  const Tensor h = exp(abs(f) * literal(f, 0.5));
  return {(h * literal(f, 0.5)) * h, (literal(f, 0.5) / h) / h};
}
double largest(DType t) {
  switch (t) {
    case DType::f64: return std::numeric_limits<double>::max();
    case DType::f16: return 65504;
    case DType::bf16: return 0x1.fep127;
    default: return double(std::numeric_limits<float>::max());
  }
}
// Below this |x| is what the inverse hyperbolic functions give, and above the other log(2|x|), to the last place.
Tensor least_bent(const Tensor& f) { return literal(f, f.dtype() == DType::f64 ? 1e-8 : 1e-4); }
Tensor most_bent(const Tensor& f) { return literal(f, f.dtype() == DType::f64 ? 0x1p28 : 8192); }

}  // namespace

Tensor reciprocal(const Tensor& x) {
  require_float("reciprocal", x);
  return literal(x, 1) / x;
}

Tensor sign(const Tensor& x) {
  require_number("sign", x);
  if (is_integer(x.dtype()) && !is_signed_integer(x.dtype())) return minimum(x, literal(x, 1));
  const Tensor zero = literal(x, 0);
  return where(greater(x, zero), literal(x, 1), where(less(x, zero), literal(x, -1), x));
}

Tensor clip(const Tensor& x, const Tensor& min, const Tensor& max) { return minimum(maximum(x, min), max); }
Tensor clip(const Tensor& x, std::optional<Number> min, std::optional<Number> max) {
  require_number("clip", x);
  const Tensor low = min ? maximum(x, number(x, *min)) : x;
  return max ? minimum(low, number(x, *max)) : low;
}

Tensor logaddexp(const Tensor& a, const Tensor& b) {
  const DType t = promote("logaddexp", a, b);
  if (!is_float(t)) fail_dtype("logaddexp", {&a, &b}, "needs floats; cast() first");
  const Tensor x = cast(a, real_dtype(t)), y = cast(b, real_dtype(t));
  // Equal infinities have no difference.
  const Tensor gap = where(equal(x, y), literal(x, 0), -abs(x - y));
  return cast(maximum(x, y) + log1p(exp(gap)), t);
}

Tensor asin(const Tensor& x) {
  return in_real("asin", x, [](const Tensor& f) { return atan2(f, arc_sine_leg(f)); });
}
Tensor acos(const Tensor& x) {
  return in_real("acos", x, [](const Tensor& f) { return atan2(arc_sine_leg(f), f); });
}
Tensor atan(const Tensor& x) {
  return in_real("atan", x, [](const Tensor& f) { return atan2(f, literal(f, 1)); });
}

Tensor sinh(const Tensor& x) {
  return in_real("sinh", x, [](const Tensor& f) {
    const Tensor e = expm1(f);
    const Halves h = exp_halves(f);
    return where(less(abs(f), literal(f, 1)), (e + e / (e + literal(f, 1))) * literal(f, 0.5), with_sign_of(f, h.growing - h.falling));
  });
}
Tensor cosh(const Tensor& x) {
  return in_real("cosh", x, [](const Tensor& f) {
    const Halves h = exp_halves(f);
    return h.growing + h.falling;
  });
}

// Near 0 the inverses are x itself (to its last place), far from it log(2x).
Tensor asinh(const Tensor& x) {
  return in_real("asinh", x, [](const Tensor& f) {
    const Tensor a = abs(f), one = literal(f, 1), s = a * a;
    const Tensor middle = log1p(a + s / (one + sqrt(s + one)));
    const Tensor far = log(a) + literal(f, std::numbers::ln2);
    const Tensor r = with_sign_of(f, where(greater(a, most_bent(f)), far, middle));
    return where(less(a, least_bent(f)), f, r);
  });
}
Tensor acosh(const Tensor& x) {
  return in_real("acosh", x, [](const Tensor& f) {
    const Tensor t = f - literal(f, 1);
    const Tensor middle = log1p(t + sqrt(t) * sqrt(t + literal(f, 2)));
    return where(greater(f, most_bent(f)), log(f) + literal(f, std::numbers::ln2), middle);
  });
}
Tensor atanh(const Tensor& x) {
  return in_real("atanh", x, [](const Tensor& f) {
    const Tensor a = abs(f);
    const Tensor r = with_sign_of(f, log1p((a + a) / (literal(f, 1) - a)) * literal(f, 0.5));
    return where(less(a, least_bent(f)), f, r);
  });
}

Tensor isnan(const Tensor& x) {
  require_number("isnan", x);
  return not_equal(x, x);
}
Tensor isinf(const Tensor& x) {
  require_number("isinf", x);
  return is_float(x.dtype()) ? equal(abs(x), literal(x, infinity)) : not_equal(x, x);
}
Tensor isfinite(const Tensor& x) {
  require_number("isfinite", x);
  return is_float(x.dtype()) ? less(abs(x), literal(x, infinity)) : equal(x, x);
}

Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
  require_number("nan_to_num", x);
  if (!is_float(x.dtype())) return x;
  const Tensor low = neginf ? number(x, *neginf) : literal(x, -largest(x.dtype()));
  const Tensor high = posinf ? number(x, *posinf) : literal(x, largest(x.dtype()));
  const Tensor bounded = where(equal(x, literal(x, -infinity)), low, where(equal(x, literal(x, infinity)), high, x));
  return where(not_equal(x, x), number(x, nan), bounded);
}

}  // namespace tenon
