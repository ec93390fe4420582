#include "core/shape.h"

#include "base/check.h"

namespace tenon {

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r))
    throw Error(ErrorCode::invalid_argument, cat("size ", a, " * ", b, " does not fit in 64 bits"));
  return r;
}

int64_t checked_add(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r))
    throw Error(ErrorCode::invalid_argument, cat("size ", a, " + ", b, " does not fit in 64 bits"));
  return r;
}

int64_t element_count(const Shape& shape) {
  int64_t n = 1;
  bool empty = false;
  for (int64_t d : shape) {
    if (d < 0) throw Error(ErrorCode::shape, cat("negative dimension in shape ", to_string(shape)));
    if (d == 0) empty = true;
  }
  if (empty) return 0;
  for (int64_t d : shape) n = checked_mul(n, d);
  return n;
}

int64_t dense_bytes(DType dtype, const Shape& shape) {
  const int64_t n = element_count(shape), block = block_elements(dtype);
  if (block > 1 && (shape.empty() || shape.back() % block != 0))
    throw Error(ErrorCode::shape, cat(to_string(dtype), " needs a last axis that is a multiple of ", block, ", not ",
                                      to_string(shape)));
  return checked_mul(n / block, block_bytes(dtype));
}

Strides dense_strides(const Shape& shape) {
  Strides s(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    s[i] = step;
    step = checked_mul(step, shape[i] > 0 ? shape[i] : 1);
  }
  return s;
}

std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += cat(i ? "," : "", shape[i]);
  return out + "]";
}

int normalise_axis(const char* op, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    throw Error(ErrorCode::shape, cat(op, ": axis ", axis, " is out of range for a tensor of rank ", rank), {.op = op});
  return int(axis < 0 ? axis + rank : axis);
}

}  // namespace tenon
