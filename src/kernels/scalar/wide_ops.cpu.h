// Loops over the scalar instructions on f64 and i64 lanes. Arithmetic is in loops that compilers make SIMD of where the
// instruction set has it; functions are those of wide_functions.cpu.h.
// Only for the translation units of loop_table.cpu.h: internal linkage, nothing of std::.
#pragma once
#include "kernels/scalar/lanes.cpu.h"
#include "kernels/scalar/wide_functions.cpu.h"
#include "kernels/scalar/wide_instructions.cpu.h"

namespace tenon::cpu {
namespace {

ScalarLoop find_f64_loop(ScalarOp op) {
  using D = double;
  switch (op) {
    case ScalarOp::neg: return loop<neg_d>;
    case ScalarOp::abs: return loop<abs_d>;
    case ScalarOp::add: return loop<add_d>;
    case ScalarOp::sub: return loop<sub_d>;
    case ScalarOp::mul: return loop<mul_d>;
    case ScalarOp::div: return loop<div_d>;
    case ScalarOp::min: return loop<min_d>;
    case ScalarOp::max: return loop<max_d>;
    case ScalarOp::eq: return loop<eq_of<D>>;
    case ScalarOp::ne: return loop<ne_of<D>>;
    case ScalarOp::lt: return loop<lt_of<D>>;
    case ScalarOp::le: return loop<le_of<D>>;
    case ScalarOp::sqrt: return loop<sqrt_d>;
    case ScalarOp::rsqrt: return loop<rsqrt_d>;
    case ScalarOp::floor: return loop<floor_d>;
    case ScalarOp::ceil: return loop<ceil_d>;
    case ScalarOp::trunc: return loop<trunc_d>;
    case ScalarOp::round: return loop<round_d>;
    case ScalarOp::select: return loop<select_of<uint64_t>>;
    case ScalarOp::to_f32: return loop<d_to_f>;
    case ScalarOp::to_i32: return loop<d_to_i32>;
    case ScalarOp::to_u32: return loop<d_to_u32>;
    case ScalarOp::to_i64: return loop<float_to_l<D>>;
    case ScalarOp::to_bool: return loop<d_to_bool>;
    default: return wide_function_loop(op);
  }
}

ScalarLoop find_i64_loop(ScalarOp op) {
  using L = int64_t;
  using W = uint64_t;
  switch (op) {
    case ScalarOp::neg: return loop<neg_l>;
    case ScalarOp::abs: return loop<abs_l>;
    case ScalarOp::add: return loop<add_l>;
    case ScalarOp::sub: return loop<sub_l>;
    case ScalarOp::mul: return loop<mul_l>;
    case ScalarOp::min: return loop<min_of<L>>;
    case ScalarOp::max: return loop<max_of<L>>;
    case ScalarOp::eq: return loop<eq_of<W>>;
    case ScalarOp::ne: return loop<ne_of<W>>;
    case ScalarOp::lt: return loop<lt_of<L>>;
    case ScalarOp::le: return loop<le_of<L>>;
    case ScalarOp::bit_and: return loop<and_of<W>>;
    case ScalarOp::bit_or: return loop<or_of<W>>;
    case ScalarOp::bit_xor: return loop<xor_of<W>>;
    case ScalarOp::shift_left: return loop<shift_left_l>;
    case ScalarOp::shift_right: return loop<shift_right_l>;
    case ScalarOp::floor_div: return loop<floor_div_l>;
    case ScalarOp::rem: return loop<rem_l>;
    case ScalarOp::select: return loop<select_of<W>>;
    case ScalarOp::to_f32: return loop<l_to_f>;
    case ScalarOp::to_i32: case ScalarOp::to_u32: return loop<l_to_u32>;
    case ScalarOp::to_f64: return loop<l_to_d>;
    case ScalarOp::to_bool: return loop<l_to_bool>;
    default: return nullptr;
  }
}

}  // namespace
}  // namespace tenon::cpu
