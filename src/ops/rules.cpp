#include "ops/rules.h"

#include <limits>

#include "base/check.h"

namespace tenon::ops {
namespace {

std::string texts(std::initializer_list<const Tensor*> inputs, bool dtypes, bool shapes) {
  std::string out;
  for (const Tensor* t : inputs)
    out += cat(out.empty() ? "" : ", ", dtypes ? to_string(t->dtype()) : "", shapes ? to_string(t->shape()) : std::string());
  return out;
}

ErrorContext context(const char* op, std::initializer_list<const Tensor*> inputs) {
  return {.op = op, .dtypes = texts(inputs, true, false), .shapes = texts(inputs, false, true),
          .device = (*inputs.begin())->device().name()};
}

// The narrowest that holds both; there is no i16 for u8 with i8.
DType common_integer(DType x, DType y) {
  if (is_wide(x) || is_wide(y)) return DType::i64;
  if (x == DType::u32 || y == DType::u32) return is_signed_integer(x) || is_signed_integer(y) ? DType::i64 : DType::u32;
  return DType::i32;
}

DType common(const char* op, const Tensor& a, const Tensor& b, DType t) {
  if (is_wide(t) && !a.device().context()->backend().limits().wide_lanes)
    throw Error(ErrorCode::unsupported,
                cat(describe(op, {&a, &b}), ": their common dtype is ", to_string(t), ", which device ", a.device().name(),
                    " does not have; cast() one to the other's dtype, or use another device with to(device)"),
                context(op, {&a, &b}));
  return t;
}

}  // namespace

void require_lanes(const char* op, const Device& device, DType t) {
  if (!is_wide(t) || device.context()->backend().limits().wide_lanes) return;
  throw Error(ErrorCode::unsupported,
              cat(op, ": device ", device.name(), " does not have ", to_string(t), "; use ", t == DType::f64 ? "f32" : "i32",
                  ", or another device"),
              {.op = op, .dtypes = to_string(t), .device = device.name()});
}

std::string describe(const char* op, std::initializer_list<const Tensor*> inputs) {
  return cat(op, "(", texts(inputs, true, true), ")");
}

void fail_shape(const char* op, std::initializer_list<const Tensor*> inputs, const std::string& why) {
  throw Error(ErrorCode::shape, cat(describe(op, inputs), ": ", why), context(op, inputs));
}

void fail_dtype(const char* op, std::initializer_list<const Tensor*> inputs, const std::string& why) {
  throw Error(ErrorCode::dtype, cat(describe(op, inputs), ": ", why), context(op, inputs));
}

int axis_in(const char* op, const Tensor& x, int64_t axis, int64_t more) {
  const int64_t rank = x.rank() + more;
  if (rank == 0) fail_shape(op, {&x}, cat("axis ", axis, ": a 0-d tensor has no axis"));
  if (axis < -rank || axis >= rank) fail_shape(op, {&x}, cat("axis ", axis, " is out of range, ", -rank, " to ", rank - 1));
  return int(axis < 0 ? axis + rank : axis);
}

std::string disagreement(const Shape& a, const Shape& b, int64_t but_for) {
  if (a.size() != b.size()) return cat("ranks ", int64_t(a.size()), " and ", int64_t(b.size()), " differ");
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && int64_t(i) != but_for) return cat("sizes ", a[i], " and ", b[i], " of axis ", int64_t(i), " differ");
  return {};
}

void require_one_device(const char* op, std::initializer_list<const Tensor*> inputs) {
  const Tensor& first = **inputs.begin();
  for (const Tensor* t : inputs)
    if (node_of(*t)->device != node_of(first)->device)
      throw Error(ErrorCode::device,
                  cat(describe(op, inputs), ": tensors on different devices, ", first.device().name(), " and ", t->device().name(),
                      "; move one with to(device)"),
                  context(op, inputs));
}

DType promote(const char* op, const Tensor& a, const Tensor& b) {
  require_one_device(op, {&a, &b});
  const DType x = a.dtype(), y = b.dtype();
  if (is_quantised(x) || is_quantised(y))
    fail_dtype(op, {&a, &b}, "quantised tensors take part in linear(), embedding() and cast() only; cast() it first");
  if (x == y) return x;
  if (is_float(x) && is_float(y)) return common(op, a, b, is_wide(x) || is_wide(y) ? DType::f64 : DType::f32);
  if (is_integer(x) && is_integer(y)) return common(op, a, b, common_integer(x, y));
  fail_dtype(op, {&a, &b}, cat("cannot mix ", to_string(x), " and ", to_string(y), "; cast() one of them"));
}

Shape broadcast_shapes(const char* op, const Tensor& a, const Tensor& b) {
  return broadcast_leading(op, a, b, a.shape(), b.shape(), 0);
}

Shape broadcast_leading(const char* op, const Tensor& a, const Tensor& b, const Shape& x, const Shape& y, int64_t left_out) {
  Shape out(std::max(x.size(), y.size()));
  for (size_t i = 0; i < out.size(); ++i) {  // from the last axis
    const int64_t p = i < x.size() ? x[x.size() - 1 - i] : 1, q = i < y.size() ? y[y.size() - 1 - i] : 1;
    if (p != q && p != 1 && q != 1)
      fail_shape(op, {&a, &b}, cat("sizes ", p, " and ", q, " of axis ", -int64_t(i) - 1 - left_out, " do not broadcast"));
    out[out.size() - 1 - i] = p == 1 ? q : p;
  }
  return out;
}

NodeRef broadcast(const NodeRef& x, const Shape& shape) {
  Shape padded(shape.size() - x->shape.size(), 1);
  padded.insert(padded.end(), x->shape.begin(), x->shape.end());
  // A value that is the same everywhere keeps being one.
  if (x->kind == graph::Kind::constant) {
    NodeRef n = graph::constant(x->device, x->dtype, 0, shape);
    n->ints = x->ints;
    return n;
  }
  return graph::expand(graph::reshape(x, padded), shape);
}

namespace {

struct Range {
  int64_t low, high;
};
Range range_of(DType t) {
  switch (t) {
    case DType::i8: return {INT8_MIN, INT8_MAX};
    case DType::u8: return {0, UINT8_MAX};
    case DType::i32: return {INT32_MIN, INT32_MAX};
    case DType::u32: return {0, UINT32_MAX};
    case DType::i64: return {INT64_MIN, INT64_MAX};
    default: return {0, 1};
  }
}

}  // namespace

bool fits_dtype(DType t, Number n) {
  if (is_float(t)) return true;
  const Range r = range_of(t);
  const double v = n.real();
  if (n.is_integer()) return n.whole() >= r.low && n.whole() <= r.high;
  return v >= double(r.low) && v <= double(r.high) && v < 0x1p63 && v == double(int64_t(v));
}

std::string text_of(Number n) { return n.is_integer() ? cat(n.whole()) : cat(n.real()); }

Tensor literal(const Tensor& x, Number value) {
  const DType t = x.dtype();
  if (!fits_dtype(t, value)) fail_dtype("number", {&x}, cat(text_of(value), " is no ", to_string(t), "; cast() the tensor first"));
  return to_tensor(graph::constant(node_of(x)->device, t, value, {}));
}

Tensor lowest(const Tensor& x) {
  return literal(x, is_float(x.dtype()) ? Number(-std::numeric_limits<double>::infinity()) : Number(range_of(x.dtype()).low));
}

Tensor all_ones(const Tensor& x) {
  const DType t = x.dtype();
  return literal(x, is_signed_integer(t) ? Number(-1) : Number(range_of(t).high));
}

namespace {

// f16 and bf16 take it as an f32, rounded.
NodeRef run_time(const Tensor& x, Number value) {
  const DType t = real_dtype(x.dtype());
  return graph::scalar(node_of(x)->device, t, graph::lane_bits(t, value));
}

}  // namespace

Tensor number(const Tensor& x, Number n) {
  const double value = n.real();
  const bool structure = value == 0 || value == 1 || value == -1 || value == 2 || value == 0.5;
  if (structure || !is_float(x.dtype())) return literal(x, n);
  return to_tensor(graph::cast(run_time(x, n), x.dtype()));
}

Tensor rule_number(const Tensor& x, Number value) {
  const NodeRef s = run_time(x, value);
  s->fixed = true;
  return to_tensor(graph::cast(s, x.dtype()));
}

Tensor position_index(const Tensor& indices) {
  if (indices.dtype() != DType::i64) return cast(indices, DType::i32);
  return cast(minimum(maximum(indices, literal(indices, -1)), literal(indices, INT32_MAX)), DType::i32);
}

Tensor binary(const char* op, ScalarOp scalar, const Tensor& a, const Tensor& b) {
  const DType t = promote(op, a, b);
  if (t == DType::bool_) fail_dtype(op, {&a, &b}, "no arithmetic on bool; cast() to a number, or use logical_and/or");
  const Shape shape = broadcast_shapes(op, a, b);
  return to_tensor(graph::map(scalar, t, {broadcast(graph::cast(node_of(a), t), shape), broadcast(graph::cast(node_of(b), t), shape)}));
}

Tensor unary(const char* op, ScalarOp scalar, const Tensor& x) {
  require_float(op, x);
  return to_tensor(graph::map(scalar, x.dtype(), {node_of(x)}));
}

Tensor compare(const char* op, ScalarOp scalar, const Tensor& a, const Tensor& b) {
  const DType t = promote(op, a, b);
  const Shape shape = broadcast_shapes(op, a, b);
  return to_tensor(graph::map(scalar, DType::bool_,
                              {broadcast(graph::cast(node_of(a), t), shape), broadcast(graph::cast(node_of(b), t), shape)}));
}

void require_float(const char* op, const Tensor& x) {
  if (!is_float(x.dtype())) fail_dtype(op, {&x}, cat("needs a float, not ", to_string(x.dtype()), "; cast() it first"));
}

}  // namespace tenon::ops
