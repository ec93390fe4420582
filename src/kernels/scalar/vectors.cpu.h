// Explicit vectors, of the width that the translation unit was compiled for, for the few loops in which compilers do
// not find SIMD by themselves. GCC's vector extension, which clang has too.
// Only for the translation units of loop_table.cpu.h: internal linkage, nothing of std::.
#pragma once
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#include "kernels/scalar/math.cpu.h"

namespace tenon::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int vector_lanes = 16;
#elif defined(__AVX2__)
constexpr int vector_lanes = 8;
#else
constexpr int vector_lanes = 4;
#endif
typedef float VecF __attribute__((vector_size(4 * vector_lanes)));
typedef int32_t VecI __attribute__((vector_size(4 * vector_lanes)));
typedef uint32_t VecU __attribute__((vector_size(4 * vector_lanes)));
typedef uint64_t VecQ __attribute__((vector_size(4 * vector_lanes)));

// Vector j of the lanes at x, which are aligned as lanes only.
template <class V>
TENON_LOOP_INLINE V vector_at(const uint32_t* x, int j) {
  V v;
  __builtin_memcpy(&v, x + j * vector_lanes, sizeof v);
  return v;
}
template <class V>
TENON_LOOP_INLINE void set_vector(uint32_t* x, int j, V v) {
  __builtin_memcpy(x + j * vector_lanes, &v, sizeof v);
}
TENON_LOOP_INLINE VecU splat(uint32_t x) { return VecU{} + x; }

// The 64-bit products of m and the lower halves of a.
TENON_LOOP_INLINE VecQ wide_product(VecQ a, uint32_t m) {
#if defined(__AVX512F__)
  return (VecQ)_mm512_maskz_mul_epu32(0xff, (__m512i)a, (__m512i)splat(m));
#elif defined(__AVX2__)
  return (VecQ)_mm256_mul_epu32((__m256i)a, (__m256i)splat(m));
#elif defined(__SSE2__)
  return (VecQ)_mm_mul_epu32((__m128i)a, (__m128i)splat(m));
#else
  return (a & 0xffffffffu) * uint64_t(m);
#endif
}

}  // namespace
}  // namespace tenon::cpu
