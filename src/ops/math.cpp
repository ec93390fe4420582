// Element-wise ops that are one scalar instruction with rules of its own.
#include "base/cat.h"
#include "ops/rules.h"

namespace tenon {

using namespace ops;

namespace {

// Integers are rounded already.
Tensor rounding(const char* op, ScalarOp scalar, const Tensor& x) { return is_integer(x.dtype()) ? x : unary(op, scalar, x); }

Tensor float_binary(const char* op, ScalarOp scalar, const Tensor& a, const Tensor& b) {
  if (!is_float(promote(op, a, b))) fail_dtype(op, {&a, &b}, "needs floats; cast() first");
  return binary(op, scalar, a, b);
}

}  // namespace

Tensor floor(const Tensor& x) { return rounding("floor", ScalarOp::floor, x); }
Tensor ceil(const Tensor& x) { return rounding("ceil", ScalarOp::ceil, x); }
Tensor trunc(const Tensor& x) { return rounding("trunc", ScalarOp::trunc, x); }
Tensor round(const Tensor& x) { return rounding("round", ScalarOp::round, x); }

Tensor floor_divide(const Tensor& a, const Tensor& b) { return binary("floor_divide", ScalarOp::floor_div, a, b); }
Tensor floor_divide(const Tensor& a, Number b) { return floor_divide(a, number(a, b)); }
Tensor remainder(const Tensor& a, const Tensor& b) { return binary("remainder", ScalarOp::rem, a, b); }
Tensor remainder(const Tensor& a, Number b) { return remainder(a, number(a, b)); }

Tensor pow(const Tensor& x, const Tensor& y) { return float_binary("pow", ScalarOp::pow, x, y); }
Tensor pow(const Tensor& x, Number y) { return pow(x, number(x, y)); }
Tensor atan2(const Tensor& y, const Tensor& x) { return float_binary("atan2", ScalarOp::atan2, y, x); }

Tensor exp2(const Tensor& x) { return unary("exp2", ScalarOp::exp2, x); }
Tensor expm1(const Tensor& x) { return unary("expm1", ScalarOp::expm1, x); }
Tensor log1p(const Tensor& x) { return unary("log1p", ScalarOp::log1p, x); }
Tensor log2(const Tensor& x) { return unary("log2", ScalarOp::log2, x); }
Tensor log10(const Tensor& x) { return unary("log10", ScalarOp::log10, x); }
Tensor sin(const Tensor& x) { return unary("sin", ScalarOp::sin, x); }
Tensor cos(const Tensor& x) { return unary("cos", ScalarOp::cos, x); }
Tensor tan(const Tensor& x) { return unary("tan", ScalarOp::tan, x); }
Tensor erfinv(const Tensor& x) { return unary("erfinv", ScalarOp::erfinv, x); }
Tensor lgamma(const Tensor& x) { return unary("lgamma", ScalarOp::lgamma, x); }

Tensor fma(const Tensor& a, const Tensor& b, const Tensor& c) {
  for (const Tensor* x : {&a, &b, &c})
    if (!is_float(x->dtype())) fail_dtype("fma", {&a, &b, &c}, cat("needs a float, not ", to_string(x->dtype()), "; cast() it first"));
  const Tensor both = to_tensor(graph::constant(node_of(a)->device, promote("fma", a, b), 0, broadcast_shapes("fma", a, b)));
  const DType t = promote("fma", both, c);
  const Shape shape = broadcast_shapes("fma", both, c);
  const auto operand = [&](const Tensor& x) { return broadcast(graph::cast(node_of(x), t), shape); };
  return to_tensor(graph::map(ScalarOp::fma, t, {operand(a), operand(b), operand(c)}));
}

}  // namespace tenon
