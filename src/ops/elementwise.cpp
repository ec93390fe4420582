#include "base/check.h"
#include "ops/rules.h"

namespace tenon {

using namespace ops;

Tensor add(const Tensor& a, const Tensor& b) { return binary("add", ScalarOp::add, a, b); }
Tensor subtract(const Tensor& a, const Tensor& b) { return binary("subtract", ScalarOp::sub, a, b); }
Tensor multiply(const Tensor& a, const Tensor& b) { return binary("multiply", ScalarOp::mul, a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return binary("minimum", ScalarOp::min, a, b); }
Tensor maximum(const Tensor& a, const Tensor& b) { return binary("maximum", ScalarOp::max, a, b); }

Tensor divide(const Tensor& a, const Tensor& b) {
  if (!is_float(promote("divide", a, b))) fail_dtype("divide", {&a, &b}, "division needs floats; cast() to f32 first");
  return binary("divide", ScalarOp::div, a, b);
}

namespace {

Tensor signed_unary(const char* op, ScalarOp scalar, const Tensor& x) {
  if (!is_float(x.dtype()) && x.dtype() != DType::i32)
    fail_dtype(op, {&x}, cat("needs a signed number, not ", to_string(x.dtype()), "; cast() it first"));
  return to_tensor(graph::map(scalar, x.dtype(), {node_of(x)}));
}

Tensor bits(const char* op, ScalarOp scalar, const Tensor& a, const Tensor& b) {
  if (!is_integer(promote(op, a, b))) fail_dtype(op, {&a, &b}, "needs i32 or u32; cast() first");
  return binary(op, scalar, a, b);
}

Tensor logic(const char* op, ScalarOp scalar, const Tensor& a, const Tensor& b) {
  if (a.dtype() != DType::bool_ || b.dtype() != DType::bool_) fail_dtype(op, {&a, &b}, "needs bool; compare or cast() first");
  const Shape shape = broadcast_shapes(op, a, b);
  return to_tensor(graph::map(scalar, DType::bool_, {broadcast(node_of(a), shape), broadcast(node_of(b), shape)}));
}

}  // namespace

Tensor negative(const Tensor& x) { return signed_unary("negative", ScalarOp::neg, x); }
Tensor abs(const Tensor& x) { return signed_unary("abs", ScalarOp::abs, x); }
Tensor exp(const Tensor& x) { return unary("exp", ScalarOp::exp, x); }
Tensor log(const Tensor& x) { return unary("log", ScalarOp::log, x); }
Tensor sqrt(const Tensor& x) { return unary("sqrt", ScalarOp::sqrt, x); }
Tensor rsqrt(const Tensor& x) { return unary("rsqrt", ScalarOp::rsqrt, x); }
Tensor tanh(const Tensor& x) { return unary("tanh", ScalarOp::tanh, x); }
Tensor erf(const Tensor& x) { return unary("erf", ScalarOp::erf, x); }

Tensor equal(const Tensor& a, const Tensor& b) { return compare("equal", ScalarOp::eq, a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return compare("not_equal", ScalarOp::ne, a, b); }
Tensor less(const Tensor& a, const Tensor& b) { return compare("less", ScalarOp::lt, a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) { return compare("less_equal", ScalarOp::le, a, b); }
Tensor greater(const Tensor& a, const Tensor& b) { return compare("greater", ScalarOp::lt, b, a); }
Tensor greater_equal(const Tensor& a, const Tensor& b) { return compare("greater_equal", ScalarOp::le, b, a); }

Tensor logical_and(const Tensor& a, const Tensor& b) { return logic("logical_and", ScalarOp::bit_and, a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return logic("logical_or", ScalarOp::bit_or, a, b); }
Tensor logical_xor(const Tensor& a, const Tensor& b) { return logic("logical_xor", ScalarOp::bit_xor, a, b); }
Tensor logical_not(const Tensor& x) { return logic("logical_not", ScalarOp::bit_xor, x, literal(x, 1)); }

Tensor bitwise_and(const Tensor& a, const Tensor& b) { return bits("bitwise_and", ScalarOp::bit_and, a, b); }
Tensor bitwise_or(const Tensor& a, const Tensor& b) { return bits("bitwise_or", ScalarOp::bit_or, a, b); }
Tensor bitwise_xor(const Tensor& a, const Tensor& b) { return bits("bitwise_xor", ScalarOp::bit_xor, a, b); }
Tensor bitwise_invert(const Tensor& x) {
  if (x.dtype() == DType::bool_) return logical_not(x);
  if (!is_integer(x.dtype())) fail_dtype("bitwise_invert", {&x}, "needs i32, u32 or bool; cast() first");
  return bits("bitwise_invert", ScalarOp::bit_xor, x, literal(x, x.dtype() == DType::u32 ? 4294967295.0 : -1.0));
}
Tensor bitwise_left_shift(const Tensor& a, const Tensor& b) {
  return bits("bitwise_left_shift", ScalarOp::shift_left, a, b);
}
Tensor bitwise_right_shift(const Tensor& a, const Tensor& b) {
  return bits("bitwise_right_shift", ScalarOp::shift_right, a, b);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  if (condition.dtype() != DType::bool_) fail_dtype("where", {&condition, &a, &b}, "the condition must be bool; compare first");
  const DType t = promote("where", a, b);
  const Tensor both = to_tensor(graph::constant(node_of(a)->device, t, 0, broadcast_shapes("where", a, b)));
  const Shape shape = broadcast_shapes("where", condition, both);
  return to_tensor(graph::map(ScalarOp::select, t, {broadcast(node_of(condition), shape), broadcast(graph::cast(node_of(a), t), shape),
                                                    broadcast(graph::cast(node_of(b), t), shape)}));
}

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (is_quantised(dtype)) fail_dtype("cast", {&x}, cat("cannot quantise to ", to_string(dtype), "; quantised tensors come from files"));
  if (is_quantised(x.dtype()) && !is_float(dtype))
    fail_dtype("cast", {&x}, cat("a quantised tensor casts to f32, f16 or bf16, not ", to_string(dtype)));
  if (is_quantised(x.dtype()) && x.rank() == 0) fail_shape("cast", {&x}, "a quantised tensor has a last axis");
  return to_tensor(graph::cast(node_of(x), dtype));
}

Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }
Tensor operator-(const Tensor& x) { return negative(x); }
Tensor operator+(const Tensor& a, double b) { return add(a, number(a, b)); }
Tensor operator-(const Tensor& a, double b) { return subtract(a, number(a, b)); }
Tensor operator*(const Tensor& a, double b) { return multiply(a, number(a, b)); }
Tensor operator/(const Tensor& a, double b) { return divide(a, number(a, b)); }
Tensor operator+(double a, const Tensor& b) { return add(number(b, a), b); }
Tensor operator-(double a, const Tensor& b) { return subtract(number(b, a), b); }
Tensor operator*(double a, const Tensor& b) { return multiply(number(b, a), b); }
Tensor operator/(double a, const Tensor& b) { return divide(number(b, a), b); }

Tensor full(Shape shape, double value, DType dtype, const Device& device) {
  if (is_quantised(dtype)) throw Error(ErrorCode::dtype, cat("full: ", to_string(dtype), " tensors come from files"), {.op = "full"});
  if (!fits_dtype(dtype, value)) throw Error(ErrorCode::invalid_argument, cat("full: ", value, " is no ", to_string(dtype)), {.op = "full"});
  element_count(shape);
  return to_tensor(graph::constant(device.shared(), dtype, value, std::move(shape)));
}
Tensor zeros(Shape shape, DType dtype, const Device& device) { return full(std::move(shape), 0, dtype, device); }
Tensor ones(Shape shape, DType dtype, const Device& device) { return full(std::move(shape), 1, dtype, device); }

Tensor arange(double start, double stop, double step, DType dtype, const Device& device) {
  if (step == 0 || !(step == step) || !(start == start) || !(stop == stop))
    throw Error(ErrorCode::invalid_argument, cat("arange(", start, ", ", stop, ", ", step, "): step must be a number other than 0"), {.op = "arange"});
  const double count = (stop - start) / step;
  if (count > 9e15) throw Error(ErrorCode::invalid_argument, cat("arange: ", count, " elements"), {.op = "arange"});
  int64_t n = count > 0 ? int64_t(count) : 0;
  if (double(n) < count) ++n;
  if (dtype != DType::i32 && dtype != DType::u32 && dtype != DType::f32)
    throw Error(ErrorCode::dtype, cat("arange gives i32, u32 or f32, not ", to_string(dtype), "; cast() the result"), {.op = "arange"});
  const DType index = dtype == DType::u32 ? DType::u32 : DType::i32;
  Tensor i = to_tensor(graph::iota(device.shared(), index, {n}, 0));
  if (dtype == DType::f32) i = cast(i, DType::f32);
  if (step != 1) i = i * step;
  return start != 0 ? i + start : i;
}

const std::vector<OpInfo>& list_ops() {
  static const std::vector<OpInfo> all = {
#define OP(name, kind) {#name, #kind},
#include "ops/ops.def"
#undef OP
  };
  return all;
}

}  // namespace tenon
