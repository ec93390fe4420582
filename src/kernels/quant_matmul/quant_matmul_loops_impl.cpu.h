// The definitions behind QuantMatmulLoops, compiled once per instruction set: see simd.cpu.h for the rules here.
// Block layouts are those of GGUF: element j of a 4-bit block is the low nibble of byte j, element j + 16 the high one.
#pragma once
#include "kernels/matmul/simd.cpu.h"
#include "kernels/quant_matmul/quant_matmul_loops.cpu.h"

namespace tenon::cpu {
namespace {

constexpr int block_vectors = int(quant_block) / lanes;

struct Q8_0 {
  static constexpr int bytes = 34, header = 2;
  static constexpr bool has_min = false;
};
struct Q4_0 {
  static constexpr int bytes = 18, header = 2;
  static constexpr bool has_min = false;
};
struct Q4_1 {
  static constexpr int bytes = 20, header = 4;
  static constexpr bool has_min = true;
};

inline float half_at(const uint8_t* p) {
  F16 h;
  __builtin_memcpy(&h, p, sizeof h);
  return get(&h);
}

// The 32 integers of a block as f32, before the scale: -128..127, -8..7 or 0..15.
#if defined(__AVX512F__)

inline void integers(Q8_0, const uint8_t* q, V* out) {
  const auto* p = reinterpret_cast<const __m128i*>(q);
  out[0] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(p)));
  out[1] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(p + 1)));
}
// A permutation reads only the low four bits of its index, so it is the mask, the conversion and the shift in one.
inline void nibbles(const uint8_t* q, V table, V* out) {
  const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(q)));
  out[0] = _mm512_permutexvar_ps(bytes, table);
  out[1] = _mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), table);
}
inline void integers(Q4_0, const uint8_t* q, V* out) {
  nibbles(q, _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7), out);
}
inline void integers(Q4_1, const uint8_t* q, V* out) {
  nibbles(q, _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), out);
}

#elif defined(__AVX2__)

inline void integers(Q8_0, const uint8_t* q, V* out) {
  for (int i = 0; i < 4; i++)
    out[i] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(q + 8 * i))));
}
inline void nibbles(const uint8_t* q, int offset, V* out) {
  for (int i = 0; i < 2; i++) {
    const __m256i bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(q + 8 * i)));
    const __m256i low = _mm256_and_si256(bytes, _mm256_set1_epi32(15)), high = _mm256_srli_epi32(bytes, 4);
    out[i] = _mm256_cvtepi32_ps(_mm256_sub_epi32(low, _mm256_set1_epi32(offset)));
    out[i + 2] = _mm256_cvtepi32_ps(_mm256_sub_epi32(high, _mm256_set1_epi32(offset)));
  }
}
inline void integers(Q4_0, const uint8_t* q, V* out) { nibbles(q, 8, out); }
inline void integers(Q4_1, const uint8_t* q, V* out) { nibbles(q, 0, out); }

#else

inline void integers(Q8_0, const uint8_t* q, V* out) {
  float f[32];
  for (int i = 0; i < 32; i++) f[i] = float(int8_t(q[i]));
  for (int i = 0; i < block_vectors; i++) out[i] = load(f + i * lanes);
}
inline void nibbles(const uint8_t* q, int offset, V* out) {
  float f[32];
  for (int i = 0; i < 16; i++) {
    f[i] = float(int(q[i] & 15) - offset);
    f[i + 16] = float(int(q[i] >> 4) - offset);
  }
  for (int i = 0; i < block_vectors; i++) out[i] = load(f + i * lanes);
}
inline void integers(Q4_0, const uint8_t* q, V* out) { nibbles(q, 8, out); }
inline void integers(Q4_1, const uint8_t* q, V* out) { nibbles(q, 0, out); }

#endif

// The scales (and minima) of the blocks of a row.
template <class Q>
inline void scales(const uint8_t* w, int64_t blocks, float* d, float* m) {
  int64_t b = 0;
#if defined(__AVX512F__)
  // Each block starts with two halfs or with one and two bytes of integers: 4 bytes that may be read.
  const __m512i at = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                        _mm512_set1_epi32(Q::bytes));
  for (; b < blocks; b += 16) {
    const __mmask16 present = blocks - b >= 16 ? __mmask16(0xffff) : __mmask16((1u << (blocks - b)) - 1);
    const __m512i pair = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), present, at, w + b * Q::bytes, 1);
    _mm512_storeu_ps(d + b, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(pair)));
    if (Q::has_min) _mm512_storeu_ps(m + b, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(pair, 16))));
  }
#else
  for (; b < blocks; b++) {
    d[b] = half_at(w + b * Q::bytes);
    if (Q::has_min) m[b] = half_at(w + b * Q::bytes + 2);
  }
  if (Q::has_min)
    for (; b % lanes != 0; b++) m[b] = 0;
#endif
}

// Each row: sum over blocks of d * (sum of q * x), and of m * (sum of x); the same order whatever `rows` is.
template <int rows, class Q>
inline void dot_rows(const uint8_t* w, int64_t row, const float* x, const float* x_sums, int64_t blocks, float* c) {
  alignas(64) float d[rows][quant_dot_blocks], m[rows][quant_dot_blocks];
  for (int r = 0; r < rows; r++) scales<Q>(w + r * row, blocks, d[r], m[r]);
  V acc[4] = {zero(), zero(), zero(), zero()};
  for (int64_t b = 0; b < blocks; b++) {
    const uint8_t* block = w + b * Q::bytes + Q::header;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
      V q[block_vectors];
      integers(Q{}, block + r * row, q);
      V t = mul(q[0], load(x + b * quant_block));
#pragma GCC unroll 8
      for (int i = 1; i < block_vectors; i++) t = fma(q[i], load(x + b * quant_block + i * lanes), t);
      acc[r] = fma(set1(d[r][b]), t, acc[r]);
    }
  }
  if (Q::has_min)
    for (int r = 0; r < rows; r++)
      for (int64_t b = 0; b < blocks; b += lanes) acc[r] = fma(load(m[r] + b), load(x_sums + b), acc[r]);
  float sums[4];
  sum4(acc, sums);
  for (int r = 0; r < rows; r++) c[r] += sums[r];
}

// Four interleaved streams that jump at the end of each row hide from the processor's own prefetching.
inline void prefetch(const uint8_t* w, int64_t row, int64_t bytes) {
  for (int r = 0; r < 4; r++)
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(w + r * row + i);
}

// Calls f with the block format that `dtype` names.
template <class F>
inline void with_format(DType dtype, F f) {
  if (dtype == DType::q8_0)
    f(Q8_0{});
  else if (dtype == DType::q4_0)
    f(Q4_0{});
  else
    f(Q4_1{});
}

void dots(DType dtype, const std::byte* w, int64_t row, int64_t n, const float* x, const float* x_sums, int64_t blocks,
          float* c) {
  const auto* p = reinterpret_cast<const uint8_t*>(w);
  with_format(dtype, [&]<class Q>(Q) {
    int64_t j = 0;
    for (; j + 4 <= n; j += 4) {
      if (j + 12 <= n) prefetch(p + (j + 8) * row, row, blocks * Q::bytes);
      dot_rows<4, Q>(p + j * row, row, x, x_sums, blocks, c + j);
    }
    for (; j < n; j++) dot_rows<1, Q>(p + j * row, row, x, x_sums, blocks, c + j);
  });
}

// One block of up to `lanes` rows, as columns of a panel.
template <class Q>
inline void pack_block(const uint8_t* w, int64_t row, int64_t n, int64_t width, float* to) {
  V value[block_vectors][lanes];
  for (int64_t j = 0; j < lanes; j++) {
    if (j >= n) {
      for (int i = 0; i < block_vectors; i++) value[i][j] = zero();
      continue;
    }
    const uint8_t* block = w + j * row;
    const V d = set1(half_at(block)), m = set1(Q::has_min ? half_at(block + 2) : 0.0f);
    V q[block_vectors];
    integers(Q{}, block + Q::header, q);
    for (int i = 0; i < block_vectors; i++) value[i][j] = Q::has_min ? fma(d, q[i], m) : mul(d, q[i]);
  }
  for (int i = 0; i < block_vectors; i++) {
    transpose(value[i]);
    for (int j = 0; j < lanes; j++) store(to + (i * lanes + j) * width, value[i][j]);
  }
}

void pack(DType dtype, const std::byte* w, int64_t row, int64_t n, int64_t blocks, int64_t width, float* to) {
  with_format(dtype, [&]<class Q>(Q) {
    for (int64_t i = 0; i < n; i += width)
      for (int64_t b = 0; b < blocks; b++)
        for (int64_t j = 0; j < width; j += lanes)
          pack_block<Q>(reinterpret_cast<const uint8_t*>(w) + (i + j) * row + b * Q::bytes, row, n - i - j, width,
                        to + i * blocks * quant_block + b * quant_block * width + j);
  });
}

constexpr QuantMatmulLoops quant_matmul_loops{dots, pack};

}  // namespace
}  // namespace tenon::cpu
