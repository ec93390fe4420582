// Shapes and strides: 64-bit, checked.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tenon/dtype.h"

namespace tenon {

using Shape = std::vector<int64_t>;
using Strides = std::vector<int64_t>;  // in elements, any sign, 0 for broadcast

// a*b, a+b; throw Error(invalid_argument, "… does not fit in 64 bits") on overflow.
int64_t checked_mul(int64_t a, int64_t b);
int64_t checked_add(int64_t a, int64_t b);

// Product of the dimensions (1 for a scalar). Throws when a dimension is negative or the product overflows.
int64_t element_count(const Shape& shape);
// Bytes of a dense tensor; quantised dtypes need a last axis of whole blocks.
int64_t dense_bytes(DType dtype, const Shape& shape);
Strides dense_strides(const Shape& shape);

std::string to_string(const Shape& shape);  // "[2,3]"

// Axis in [-rank, rank) to [0, rank); throws Error(shape) naming `op` otherwise.
int normalise_axis(const char* op, int64_t axis, int64_t rank);

}  // namespace tenon
