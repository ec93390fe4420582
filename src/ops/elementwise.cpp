#include <cmath>

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
  if (!is_float(promote("divide", a, b))) fail_dtype("divide", {&a, &b}, "division needs floats; cast() first");
  return binary("divide", ScalarOp::div, a, b);
}

namespace {

Tensor signed_unary(const char* op, ScalarOp scalar, const Tensor& x) {
  if (!is_float(x.dtype()) && !is_signed_integer(x.dtype()))
    fail_dtype(op, {&x}, cat("needs a signed number, not ", to_string(x.dtype()), "; cast() it first"));
  return to_tensor(graph::map(scalar, x.dtype(), {node_of(x)}));
}

Tensor bits(const char* op, ScalarOp scalar, const Tensor& a, const Tensor& b) {
  if (!is_integer(promote(op, a, b))) fail_dtype(op, {&a, &b}, "needs integers; cast() first");
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
  if (!is_integer(x.dtype())) fail_dtype("bitwise_invert", {&x}, "needs integers or bool; cast() first");
  return bits("bitwise_invert", ScalarOp::bit_xor, x, all_ones(x));
}
Tensor bitwise_left_shift(const Tensor& a, const Tensor& b) {
  return bits("bitwise_left_shift", ScalarOp::shift_left, a, b);
}
Tensor bitwise_right_shift(const Tensor& a, const Tensor& b) {
  return bits("bitwise_right_shift", ScalarOp::shift_right, a, b);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  require_one_device("where", {&condition, &a, &b});
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
    fail_dtype("cast", {&x}, cat("a quantised tensor casts to a float, not ", to_string(dtype)));
  require_lanes("cast", x.device(), dtype);
  if (is_quantised(x.dtype()) && x.rank() == 0) fail_shape("cast", {&x}, "a quantised tensor has a last axis");
  return to_tensor(graph::cast(node_of(x), dtype));
}

Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }
Tensor operator-(const Tensor& x) { return negative(x); }
Tensor operator+(const Tensor& a, Number b) { return add(a, number(a, b)); }
Tensor operator-(const Tensor& a, Number b) { return subtract(a, number(a, b)); }
Tensor operator*(const Tensor& a, Number b) { return multiply(a, number(a, b)); }
Tensor operator/(const Tensor& a, Number b) { return divide(a, number(a, b)); }
Tensor operator+(Number a, const Tensor& b) { return add(number(b, a), b); }
Tensor operator-(Number a, const Tensor& b) { return subtract(number(b, a), b); }
Tensor operator*(Number a, const Tensor& b) { return multiply(number(b, a), b); }
Tensor operator/(Number a, const Tensor& b) { return divide(number(b, a), b); }

Tensor full(Shape shape, Number value, DType dtype, const Device& device) {
  if (is_quantised(dtype)) throw Error(ErrorCode::dtype, cat("full: ", to_string(dtype), " tensors come from files"), {.op = "full"});
  if (!fits_dtype(dtype, value)) throw Error(ErrorCode::invalid_argument, cat("full: ", text_of(value), " is no ", to_string(dtype)), {.op = "full"});
  require_lanes("full", device, dtype);
  element_count(shape);
  return to_tensor(graph::constant(device.shared(), dtype, value, std::move(shape)));
}
Tensor zeros(Shape shape, DType dtype, const Device& device) { return full(std::move(shape), 0, dtype, device); }
Tensor ones(Shape shape, DType dtype, const Device& device) { return full(std::move(shape), 1, dtype, device); }

namespace {

// Steps from start until stop is reached or passed; 0 where the step leads away.
int64_t steps_between(Number start, Number stop, Number step) {
  if (start.is_integer() && stop.is_integer() && step.is_integer()) {
    const int64_t s = step.whole();
    if ((stop.whole() > start.whole()) != (s > 0) || stop.whole() == start.whole()) return 0;
    const uint64_t span = s > 0 ? uint64_t(stop.whole()) - uint64_t(start.whole()) : uint64_t(start.whole()) - uint64_t(stop.whole());
    const uint64_t size = s > 0 ? uint64_t(s) : uint64_t(0) - uint64_t(s), n = (span - 1) / size + 1;
    return int64_t(std::min(n, uint64_t(INT64_MAX)));
  }
  const double count = std::ceil((stop.real() - start.real()) / step.real());
  return count > 0 ? int64_t(std::min(count, 9e18)) : 0;
}

}  // namespace

Tensor arange(Number start, Number stop, Number step, DType dtype, const Device& device) {
  const auto described = [&] { return cat("arange(", text_of(start), ", ", text_of(stop), ", ", text_of(step), ")"); };
  if (step.real() == 0 || std::isnan(step.real()) || std::isnan(start.real()) || std::isnan(stop.real()))
    throw Error(ErrorCode::invalid_argument, cat(described(), ": step must be a number other than 0"), {.op = "arange"});
  if (!is_integer(dtype) && dtype != DType::f32 && dtype != DType::f64)
    throw Error(ErrorCode::dtype, cat("arange gives integers, f32 or f64, not ", to_string(dtype), "; cast() the result"), {.op = "arange"});
  require_lanes("arange", device, dtype);
  const int64_t n = steps_between(start, stop, step);
  if (n > int64_t(9e15)) throw Error(ErrorCode::invalid_argument, cat(described(), ": ", n, " elements"), {.op = "arange"});
  const DType index = is_wide(dtype) ? DType::i64 : dtype == DType::u32 || dtype == DType::u8 ? DType::u32 : DType::i32;
  Tensor i = cast(to_tensor(graph::iota(device.shared(), index, {n}, 0)), dtype);
  if (step.real() != 1) i = i * step;
  return start.real() != 0 ? i + start : i;
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
