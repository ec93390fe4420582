// The loops that matmul, quant_matmul and attention are built from; one table per instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tenon/dtype.h"

namespace tenon::cpu {

// A factor is packed into panels before it is multiplied: `width` neighbouring rows (of a) or columns (of b) side by
// side, as f32, one step along k after the other: panel[p * width + i]. Panels follow each other; the last one is
// filled up with zeros.
struct MatmulLoops {
  int64_t mr, nr;  // panel width of a and of b: the tile that is held in registers

  // Packs n x k elements; `across` and `along` are the strides (elements) from one row to the next and along k.
  // Writes round_up(n, width) * k floats, and may touch `panel_slack` more.
  void (*pack)(DType dtype, const std::byte* from, int64_t across, int64_t along, int64_t n, int64_t k, int64_t width,
               float* to);
  // c[i * c_row + j] = sum over k of a and b (plus what is there, if `add`), each element by one chain of
  // multiply-adds in the order of k. Writes whole panels of columns: c_row >= round_up(n, nr).
  void (*multiply)(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c, int64_t c_row, bool add);
  // to[i] = from[i * stride] as f32.
  void (*convert)(DType dtype, const std::byte* from, int64_t stride, int64_t n, float* to);
  // c[j] += sum over k of x[k] * b[j * row + k].
  void (*dots)(DType dtype, const std::byte* b, int64_t row, int64_t n, const float* x, int64_t k, float* c);
  // c[j] += sum over k of x[k] * b[k * row + j], in the order of k.
  void (*axpys)(DType dtype, const std::byte* b, int64_t row, int64_t n, const float* x, int64_t k, float* c);
};
inline constexpr int64_t panel_slack = 16;
// Every mr divides this, so tiles of the output can be cut alike for all instruction sets; every nr divides 32.
inline constexpr int64_t common_mr = 84;
inline constexpr int64_t common_nr = 32;

extern const MatmulLoops matmul_loops_baseline;
extern const MatmulLoops matmul_loops_avx2;
extern const MatmulLoops matmul_loops_avx512;

}  // namespace tenon::cpu
