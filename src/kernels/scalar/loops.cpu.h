// The CPU's loops for scalar operations, conversions and reductions over a block of lanes. Lanes lie in an array of
// words, f32, i32 and u32 one in each, f64 and i64 in two (as in memory); every instruction set gives the same bits (no contraction, fixed order), so a result depends on the shape alone. One thing
// is left open: which NaN comes of adding or multiplying two.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/kernel.h"

namespace tenon::cpu {

// out[i] = op(args[0][i], …); `out` may be one of the arguments whose lanes have the result's width. Pointers are
// 4-byte aligned.
using ScalarLoop = void (*)(uint32_t* out, const uint32_t* const* args, int64_t n);
// The loop for an op on argument lanes of the given type; null where scalar.def does not list that lane type. For
// select, `lane` is that of the two values.
ScalarLoop scalar_loop(ScalarOp op, Lane lane);

// lanes[i] = element (first + i*stride) of `base`, in the dtype's lane. Quantised
// dtypes need stride 1; `first` counts elements from the start of a row of whole blocks, rows being contiguous.
void load_lanes(DType dtype, const std::byte* base, int64_t first, int64_t stride, int64_t n, uint32_t* lanes);
// The reverse; f32 lanes are rounded to f16 / bf16, u32 lanes go to bool as != 0, u8 and i8 take the low 8 bits.
void store_lanes(DType dtype, std::byte* base, int64_t first, int64_t stride, int64_t n, const uint32_t* lanes);
void fill_lanes(uint32_t value, int64_t n, uint32_t* lanes);
void fill_wide_lanes(uint64_t value, int64_t n, uint32_t* lanes);

// A reduction in progress. The order is fixed: element i of a row goes to lane i mod 16 of its block of up to 1,024
// elements (blocks start at multiples of 1,024), lanes of blocks are added in block order, starting from +0, and at the
// end lane l is combined with lane l + 8, then l + 4, l + 2, l + 1. A product is made
// likewise, from 1. A max over NaN is a NaN of all ones but the sign; +0 is more than -0. argmax takes the first of equals, to which zeros of both signs belong.
//
// sum_exp is a sum in that order of exp(x - m), m being the maximum up to and with the element's block; where a block
// raises m from m' the sums before it are multiplied by exp(m' - m). sum_sq_dev adds x - c and its square, c being near
// the block's mean, in that order within each block; blocks' means and sums of squares are merged in f64.
struct Reduction {
  alignas(64) uint32_t value[16];  // sums or products, or keys that sort as the lanes do
  alignas(64) uint64_t wide[16];   // of f64 and i64, in place of `value`
  alignas(64) uint32_t index[16];  // argmax
  double centre;                   // sum_exp: the maximum so far; sum_sq_dev: the mean of `count` elements, less `base`
  double base, deviations;         // sum_sq_dev
  int64_t count;
  bool empty;
};
void reduce_begin(ReduceOp op, Lane lane, Reduction& r);
// Takes x[0..n), elements `first`.. of the row; `first` is a multiple of 1,024 and n <= 1,024.
void reduce_block(ReduceOp op, Lane lane, Reduction& r, const uint32_t* x, int64_t n, int64_t first);
// The lane's bits; a 4-byte lane's are the lower half.
uint64_t reduce_end(ReduceOp op, Lane lane, const Reduction& r);

}  // namespace tenon::cpu
