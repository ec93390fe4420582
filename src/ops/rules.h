// Shape and dtype rules that the ops share, and the numbers that go into graphs.
#pragma once
#include "graph/handles.h"
#include "tenon/ops.h"

namespace tenon::ops {

using graph::NodeRef;
using graph::node_of;
using graph::to_tensor;

// "add(f32[2,3], i32[3])", for messages.
std::string describe(const char* op, std::initializer_list<const Tensor*> inputs);
[[noreturn]] void fail_shape(const char* op, std::initializer_list<const Tensor*> inputs, const std::string& why);
[[noreturn]] void fail_dtype(const char* op, std::initializer_list<const Tensor*> inputs, const std::string& why);

// The common dtype; throws Error(dtype) naming both when they do not mix.
DType promote(const char* op, const Tensor& a, const Tensor& b);
Shape broadcast_shapes(const char* op, const Tensor& a, const Tensor& b);
NodeRef broadcast(const NodeRef& x, const Shape& shape);  // x's shape must fit

// A number of C++ code as a tensor like `x` (its dtype, 0-d): 0, 1, -1, 2 and 0.5 are structure, others run-time.
Tensor number(const Tensor& x, double value);
// Whether a number is a value of the dtype (floats take all, rounded).
bool fits_dtype(DType dtype, double value);
// A number that an op's rule needs and that is no structure (a size, an epsilon): run-time, one place for equal ones.
Tensor rule_number(const Tensor& x, double value);
// A literal of an op's own rule: always structure.
Tensor literal(const Tensor& x, double value);

Tensor binary(const char* op, ScalarOp scalar, const Tensor& a, const Tensor& b);
Tensor unary(const char* op, ScalarOp scalar, const Tensor& x);
Tensor compare(const char* op, ScalarOp scalar, const Tensor& a, const Tensor& b);

void require_float(const char* op, const Tensor& x);
// Computes in f32 and rounds once to x's dtype.
template <class F>
Tensor in_f32(const char* op, const Tensor& x, F&& f) {
  require_float(op, x);
  return cast(f(cast(x, DType::f32)), x.dtype());
}

}  // namespace tenon::ops
