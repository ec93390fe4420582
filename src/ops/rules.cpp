#include "ops/rules.h"

#include <bit>

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

}  // namespace

std::string describe(const char* op, std::initializer_list<const Tensor*> inputs) {
  return cat(op, "(", texts(inputs, true, true), ")");
}

void fail_shape(const char* op, std::initializer_list<const Tensor*> inputs, const std::string& why) {
  throw Error(ErrorCode::shape, cat(describe(op, inputs), ": ", why), context(op, inputs));
}

void fail_dtype(const char* op, std::initializer_list<const Tensor*> inputs, const std::string& why) {
  throw Error(ErrorCode::dtype, cat(describe(op, inputs), ": ", why), context(op, inputs));
}

DType promote(const char* op, const Tensor& a, const Tensor& b) {
  const DType x = a.dtype(), y = b.dtype();
  if (is_quantised(x) || is_quantised(y))
    fail_dtype(op, {&a, &b}, "quantised tensors take part in linear(), embedding() and cast() only; cast() it first");
  if (x == y) return x;
  if (is_float(x) && is_float(y)) return DType::f32;
  fail_dtype(op, {&a, &b}, cat("cannot mix ", to_string(x), " and ", to_string(y), "; cast() one of them"));
}

Shape broadcast_shapes(const char* op, const Tensor& a, const Tensor& b) {
  const Shape &x = a.shape(), &y = b.shape();
  Shape out(std::max(x.size(), y.size()));
  for (size_t i = 0; i < out.size(); ++i) {  // from the last axis
    const int64_t p = i < x.size() ? x[x.size() - 1 - i] : 1, q = i < y.size() ? y[y.size() - 1 - i] : 1;
    if (p != q && p != 1 && q != 1)
      fail_shape(op, {&a, &b}, cat("sizes ", p, " and ", q, " of axis ", -int64_t(i) - 1, " do not broadcast"));
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

bool fits_dtype(DType t, double value) {
  if (is_float(t)) return true;
  const double low = t == DType::i32 ? -2147483648.0 : 0.0;
  const double high = t == DType::i32 ? 2147483647.0 : t == DType::u32 ? 4294967295.0 : 1.0;
  return value >= low && value <= high && value == double(int64_t(value));
}

Tensor literal(const Tensor& x, double value) {
  const DType t = x.dtype();
  if (!fits_dtype(t, value)) fail_dtype("number", {&x}, cat(value, " is no ", to_string(t), "; cast() the tensor to f32 first"));
  return to_tensor(graph::constant(node_of(x)->device, t, value, {}));
}

Tensor number(const Tensor& x, double value) {
  const bool structure = value == 0 || value == 1 || value == -1 || value == 2 || value == 0.5;
  if (structure || !is_float(x.dtype())) return literal(x, value);
  const NodeRef s = graph::scalar(node_of(x)->device, DType::f32, std::bit_cast<uint32_t>(float(value)));
  return to_tensor(graph::cast(s, x.dtype()));
}

Tensor rule_number(const Tensor& x, double value) {
  const NodeRef s = graph::scalar(node_of(x)->device, DType::f32, std::bit_cast<uint32_t>(float(value)));
  s->fixed = true;
  return to_tensor(graph::cast(s, x.dtype()));
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
  if (!is_float(x.dtype())) fail_dtype(op, {&x}, cat("needs f32, f16 or bf16, not ", to_string(x.dtype()), "; cast() it first"));
}

}  // namespace tenon::ops
