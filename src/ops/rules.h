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

// The axis counted from 0, of x with `more` new axes; throws Error(shape) that shows x and the axes there are.
int axis_in(const char* op, const Tensor& x, int64_t axis, int64_t more = 0);
// Where two shapes that must agree (but for an axis) do not: "sizes 3 and 4 of axis 1 differ". Empty: they agree.
std::string disagreement(const Shape& a, const Shape& b, int64_t but_for = -1);

// Throws Error(device) unless all are on one device.
void require_one_device(const char* op, std::initializer_list<const Tensor*> inputs);

// The common dtype; throws Error(device) for two devices, Error(dtype) naming both when they do not mix, Error(unsupported)
// when the device has not it.
DType promote(const char* op, const Tensor& a, const Tensor& b);
Shape broadcast_shapes(const char* op, const Tensor& a, const Tensor& b);
// The same of x and y, the shapes of a and b without their last `left_out` axes.
Shape broadcast_leading(const char* op, const Tensor& a, const Tensor& b, const Shape& x, const Shape& y, int64_t left_out);
NodeRef broadcast(const NodeRef& x, const Shape& shape);  // x's shape must fit

// A number of C++ code as a tensor like `x` (its dtype, 0-d): 0, 1, -1, 2 and 0.5 are structure, others run-time.
Tensor number(const Tensor& x, Number value);
// Whether a number is a value of the dtype (floats take all, rounded).
bool fits_dtype(DType dtype, Number value);
// A number that an op's rule needs and that is no structure (a size, an epsilon): run-time, one place for equal ones.
Tensor rule_number(const Tensor& x, Number value);
// A literal of an op's own rule: always structure.
Tensor literal(const Tensor& x, Number value);
std::string text_of(Number value);
Tensor lowest(const Tensor& x);    // -infinity, or the smallest integer
Tensor all_ones(const Tensor& x);  // every bit of an integer dtype

Tensor binary(const char* op, ScalarOp scalar, const Tensor& a, const Tensor& b);
Tensor unary(const char* op, ScalarOp scalar, const Tensor& x);
Tensor compare(const char* op, ScalarOp scalar, const Tensor& a, const Tensor& b);

void require_float(const char* op, const Tensor& x);
// Throws Error(unsupported) when the device has no lanes for the dtype.
void require_lanes(const char* op, const Device& device, DType dtype);
// What floats are computed in: f64 in itself, the others in f32.
constexpr DType real_dtype(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }
// Computes in real_dtype() and rounds once to x's dtype.
template <class F>
Tensor in_real(const char* op, const Tensor& x, F&& f) {
  require_float(op, x);
  return cast(f(cast(x, real_dtype(x.dtype()))), x.dtype());
}
// Integers as i32 for a comparison with positions below 2^31 - 1; what does not fit becomes -1 or the largest.
Tensor position_index(const Tensor& indices);

}  // namespace tenon::ops
