// The loops of quant_matmul over blocks of 32 quantised weights; one table per instruction set.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tenon/dtype.h"

namespace tenon::cpu {

inline constexpr int64_t quant_block = 32;
inline constexpr int64_t quant_dot_blocks = 64;  // most blocks per call of dots

struct QuantMatmulLoops {
  // c[j] += sum over blocks of x times row j of w, for n rows that are `row` bytes apart. x_sums[b] is the sum of
  // block b of x, filled with zeros up to quant_dot_blocks; only q4_1 uses it.
  void (*dots)(DType dtype, const std::byte* w, int64_t row, int64_t n, const float* x, const float* x_sums,
               int64_t blocks, float* c);
  // Dequantises n rows into panels of `width` rows as MatmulLoops::pack does.
  void (*pack)(DType dtype, const std::byte* w, int64_t row, int64_t n, int64_t blocks, int64_t width, float* to);
};

extern const QuantMatmulLoops quant_matmul_loops_baseline;
extern const QuantMatmulLoops quant_matmul_loops_avx2;
extern const QuantMatmulLoops quant_matmul_loops_avx512;

}  // namespace tenon::cpu
