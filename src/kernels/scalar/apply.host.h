// The reference's scalar ops: one value at a time, floats in double precision and integers as they are.
#pragma once
#include <bit>

#include "runtime/kernel.h"

namespace tenon::host {

// What a lane holds: a double in f32 and f64 lanes, an integer in the others.
class Value {
 public:
  Value() = default;
  Value(double v) : bits_(std::bit_cast<uint64_t>(v)) {}
  Value(int64_t v) : bits_(uint64_t(v)) {}
  double real() const { return std::bit_cast<double>(bits_); }
  int64_t whole() const { return int64_t(bits_); }

 private:
  uint64_t bits_ = 0;
};

Value from_bits(Lane lane, uint64_t bits);
// The integer modulo the lane's width.
Value wrap(Lane lane, uint64_t integer);
// `x`: the arguments, five places.
Value apply(const Instr& instr, const Value* x);

}  // namespace tenon::host
