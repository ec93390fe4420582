// The definitions behind MatmulLoops, compiled once per instruction set: see simd.cpu.h for the rules that hold here.
#pragma once
#include "kernels/matmul/matmul_loops.cpu.h"
#include "kernels/matmul/simd.cpu.h"

namespace tenon::cpu {
namespace {

// The register tile: tile_rows x tile_vectors accumulators, leaving room for a row of b and a broadcast of a.
#if defined(__AVX512F__)
constexpr int tile_rows = 14, tile_vectors = 2;  // 28 of 32 registers
#elif defined(__AVX2__)
constexpr int tile_rows = 6, tile_vectors = 2;  // 12 of 16
#else
constexpr int tile_rows = 4, tile_vectors = 2;
#endif
constexpr int tile_columns = tile_vectors * lanes;

// ------------------------------------------------------------------------------------------------------- packing

// Neighbours across the panel lie side by side: copy. A whole vector is moved where the source has one left; what
// it writes beyond the panel's width is overwritten by the next step.
template <class T>
void pack_copy(const T* from, int64_t along, int64_t n, int64_t k, int64_t width, float* to) {
  for (int64_t p = 0; p < k; p++, from += along, to += width) {
    for (int64_t i = 0; i < width; i += lanes) {
      if (n - i >= lanes)
        store(to + i, load(from + i));
      else
        for (int64_t j = i; j < width && j < i + lanes; j++) to[j] = j < n ? get(from + j) : 0.0f;
    }
  }
}

// Steps along k lie side by side: transpose blocks of lanes x lanes. The same overwriting applies.
template <class T>
void pack_transpose(const T* from, int64_t across, int64_t n, int64_t k, int64_t width, float* to) {
  int64_t p = 0;
  for (; p + lanes <= k; p += lanes) {
    for (int64_t i = 0; i < width; i += lanes) {
      V r[lanes];
#pragma GCC unroll 16
      for (int64_t j = 0; j < lanes; j++)
        r[j] = i + j < n && i + j < width ? load(from + (i + j) * across + p) : zero();
      transpose(r);
#pragma GCC unroll 16
      for (int64_t j = 0; j < lanes; j++) store(to + (p + j) * width + i, r[j]);
    }
  }
  for (; p < k; p++)
    for (int64_t i = 0; i < width; i++) to[p * width + i] = i < n ? get(from + i * across + p) : 0.0f;
}

template <class T>
void pack_panels(const T* from, int64_t across, int64_t along, int64_t n, int64_t k, int64_t width, float* to) {
  if (k == 0) return;  // an empty source may have no address to count from
  for (int64_t i = 0; i < n; i += width, from += width * across, to += width * k) {
    const int64_t rows = n - i < width ? n - i : width;
    if (across == 1)
      // Beyond the panel the source still has the following rows, so whole vectors may be read.
      pack_copy(from, along, n - i, k, width, to);
    else if (along == 1)
      pack_transpose(from, across, rows, k, width, to);
    else
      for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < width; j++) to[p * width + j] = j < rows ? get(from + j * across + p * along) : 0.0f;
  }
}

// Calls f with `from` as a pointer to the element type that `dtype` names.
template <class F>
inline void with_type(DType dtype, const std::byte* from, F f) {
  if (dtype == DType::f16)
    f(reinterpret_cast<const F16*>(from));
  else if (dtype == DType::bf16)
    f(reinterpret_cast<const BF16*>(from));
  else
    f(reinterpret_cast<const float*>(from));
}

void pack(DType dtype, const std::byte* from, int64_t across, int64_t along, int64_t n, int64_t k, int64_t width,
          float* to) {
  with_type(dtype, from, [&](auto* p) { pack_panels(p, across, along, n, k, width, to); });
}

// ---------------------------------------------------------------------------------------------------- multiplying

template <int rows>
void multiply_tile(int64_t k, const float* a, const float* b, float* c, int64_t c_row, bool add) {
  V acc[rows][tile_vectors];
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
    for (int j = 0; j < tile_vectors; j++) acc[i][j] = add ? load(c + i * c_row + j * lanes) : zero();
  for (int64_t p = 0; p < k; p++, a += tile_rows, b += tile_columns) {
    V bv[tile_vectors];
#pragma GCC unroll 2
    for (int j = 0; j < tile_vectors; j++) bv[j] = load(b + j * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
      const V x = set1(a[i]);
#pragma GCC unroll 2
      for (int j = 0; j < tile_vectors; j++) acc[i][j] = fma(x, bv[j], acc[i][j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
    for (int j = 0; j < tile_vectors; j++) store(c + i * c_row + j * lanes, acc[i][j]);
}

// The tile with `rows` rows, found among rows = most, most - 1, ….
template <int most>
inline void multiply_rows(int64_t rows, int64_t k, const float* a, const float* b, float* c, int64_t c_row, bool add) {
  if constexpr (most > 0) {
    if (rows == most)
      multiply_tile<most>(k, a, b, c, c_row, add);
    else
      multiply_rows<most - 1>(rows, k, a, b, c, c_row, add);
  }
}

void multiply(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c, int64_t c_row, bool add) {
  for (int64_t j = 0; j < n; j += tile_columns)  // one panel of b stays in the first-level cache
    for (int64_t i = 0; i < m; i += tile_rows) {
      const int64_t rows = m - i < tile_rows ? m - i : tile_rows;
      multiply_rows<tile_rows>(rows, k, a + i * k, b + j * k, c + i * c_row + j, c_row, add);
    }
}

// ------------------------------------------------------------------------------------------------- matrix x vector

void convert(DType dtype, const std::byte* from, int64_t stride, int64_t n, float* to) {
  with_type(dtype, from, [&](auto* p) {
    int64_t i = 0;
    if (stride == 1)
      for (; i + lanes <= n; i += lanes) store(to + i, load(p + i));
    for (; i < n; i++) to[i] = get(p + i * stride);
  });
}

// `rows` sums at once, two chains each.
template <int rows, class T>
inline void dot_rows(const T* b, int64_t row, const float* x, int64_t k, float* c) {
  V even[4] = {zero(), zero(), zero(), zero()};
  V odd[4] = {zero(), zero(), zero(), zero()};
  int64_t p = 0;
  for (; p + 2 * lanes <= k; p += 2 * lanes) {
    const V x0 = load(x + p), x1 = load(x + p + lanes);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
      even[r] = fma(x0, load(b + r * row + p), even[r]);
      odd[r] = fma(x1, load(b + r * row + p + lanes), odd[r]);
    }
  }
  if (p + lanes <= k) {
    for (int r = 0; r < rows; r++) even[r] = fma(load(x + p), load(b + r * row + p), even[r]);
    p += lanes;
  }
  if (p < k)
    for (int r = 0; r < rows; r++) odd[r] = fma(load_part(x + p, k - p), load_part(b + r * row + p, k - p), odd[r]);
  for (int r = 0; r < 4; r++) even[r] = add(even[r], odd[r]);
  float sums[4];
  sum4(even, sums);
  for (int r = 0; r < rows; r++) c[r] += sums[r];
}

void dots(DType dtype, const std::byte* b, int64_t row, int64_t n, const float* x, int64_t k, float* c) {
  with_type(dtype, b, [&](auto* p) {
    int64_t j = 0;
    for (; j + 4 <= n; j += 4) dot_rows<4>(p + j * row, row, x, k, c + j);
    for (; j < n; j++) dot_rows<1>(p + j * row, row, x, k, c + j);
  });
}

template <int steps, class T>
inline void axpy_rows(const T* b, int64_t row, int64_t n, const float* x, float* c) {
  V xv[steps];
  for (int s = 0; s < steps; s++) xv[s] = set1(x[s]);
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    V acc = load(c + j);
#pragma GCC unroll 8
    for (int s = 0; s < steps; s++) acc = fma(xv[s], load(b + s * row + j), acc);
    store(c + j, acc);
  }
  if (j == n) return;
  V acc = load_part(c + j, n - j);
  for (int s = 0; s < steps; s++) acc = fma(xv[s], load_part(b + s * row + j, n - j), acc);
  store_part(c + j, acc, n - j);
}

void axpys(DType dtype, const std::byte* b, int64_t row, int64_t n, const float* x, int64_t k, float* c) {
  with_type(dtype, b, [&](auto* q) {
    int64_t p = 0;
    for (; p + 8 <= k; p += 8) axpy_rows<8>(q + p * row, row, n, x + p, c);
    for (; p < k; p++) axpy_rows<1>(q + p * row, row, n, x + p, c);
  });
}

constexpr MatmulLoops matmul_loops{tile_rows, tile_columns, pack, multiply, convert, dots, axpys};

}  // namespace
}  // namespace tenon::cpu
