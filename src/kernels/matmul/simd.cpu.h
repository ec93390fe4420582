// One vector of f32 for the instruction set that this file is compiled for: AVX-512, AVX2 with FMA and F16C, or what
// the compiler makes of 16-byte vectors (SSE2, NEON, wasm). The loops of matmul, quant_matmul and attention are
// written once over this and compiled once per instruction set.
//
// Everything here has internal linkage, and the units that include it use no inline function or template from
// outside: a wide copy of one could be the copy that the linker keeps for the whole program.
#pragma once
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#if !defined(__clang__)
// g++ 12 takes the undefined pass-through operand inside its own intrinsics for an uninitialised variable.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#else
#include "core/half.h"
#endif

namespace tenon::cpu {
namespace {

struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};

inline float bits_to_f32(uint32_t bits) {
  float f;
  __builtin_memcpy(&f, &bits, sizeof f);
  return f;
}
inline float get(const float* p) { return *p; }
inline float get(const BF16* p) { return bits_to_f32(uint32_t(p->bits) << 16); }

#if defined(__AVX512F__)

using V = __m512;
constexpr int lanes = 16;

inline float get(const F16* p) { return _cvtsh_ss(p->bits); }
inline V zero() { return _mm512_setzero_ps(); }
inline V set1(float x) { return _mm512_set1_ps(x); }
inline V load(const float* p) { return _mm512_loadu_ps(p); }
inline V load(const F16* p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
inline V load(const BF16* p) {
  const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
inline void store(float* p, V v) { _mm512_storeu_ps(p, v); }
inline V add(V a, V b) { return _mm512_add_ps(a, b); }
inline V mul(V a, V b) { return _mm512_mul_ps(a, b); }
inline V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
inline V max_or_second(V a, V b) { return _mm512_max_ps(a, b); }  // b where either is NaN

// The sums of four vectors, in a fixed order.
inline void sum4(const V* v, float* out) {
  __m256 h[4];
  for (int i = 0; i < 4; i++)
    h[i] = _mm256_add_ps(_mm512_castps512_ps256(v[i]), _mm512_extractf32x8_ps(v[i], 1));
  const __m256 q = _mm256_hadd_ps(_mm256_hadd_ps(h[0], h[1]), _mm256_hadd_ps(h[2], h[3]));
  _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(q), _mm256_extractf128_ps(q, 1)));
}

// Swaps blocks of h within pairs of rows that are h apart; for h = 8, 4, 2, 1 this transposes.
inline void transpose(V* r) {
  const __m512i j = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
#pragma GCC unroll 4
  for (int h = 8; h > 0; h /= 2) {
    const __mmask16 upper = _mm512_test_epi32_mask(j, _mm512_set1_epi32(h));
    const __m512i low = _mm512_mask_add_epi32(j, upper, j, _mm512_set1_epi32(16 - h));
    const __m512i high = _mm512_mask_add_epi32(_mm512_add_epi32(j, _mm512_set1_epi32(h)), upper, j,
                                               _mm512_set1_epi32(16));
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
      if (i & h) continue;
      const V a = r[i], b = r[i + h];
      r[i] = _mm512_permutex2var_ps(a, low, b);
      r[i + h] = _mm512_permutex2var_ps(a, high, b);
    }
  }
}

#elif defined(__AVX2__)

using V = __m256;
constexpr int lanes = 8;

inline float get(const F16* p) { return _cvtsh_ss(p->bits); }
inline V zero() { return _mm256_setzero_ps(); }
inline V set1(float x) { return _mm256_set1_ps(x); }
inline V load(const float* p) { return _mm256_loadu_ps(p); }
inline V load(const F16* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
inline V load(const BF16* p) {
  const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}
inline void store(float* p, V v) { _mm256_storeu_ps(p, v); }
inline V add(V a, V b) { return _mm256_add_ps(a, b); }
inline V mul(V a, V b) { return _mm256_mul_ps(a, b); }
inline V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
inline V max_or_second(V a, V b) { return _mm256_max_ps(a, b); }

inline void sum4(const V* v, float* out) {
  const V q = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
  _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(q), _mm256_extractf128_ps(q, 1)));
}

inline void transpose(V* r) {
  V t[8], u[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; i++) {
    r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
  }
}

#else

typedef float V __attribute__((vector_size(16)));
constexpr int lanes = 4;

inline float get(const F16* p) { return f32_from_f16(p->bits); }
inline V zero() { return V{0, 0, 0, 0}; }
inline V set1(float x) { return V{x, x, x, x}; }
inline V load(const float* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
typedef uint32_t U __attribute__((vector_size(16)));
inline U load_u16(const void* p) {
  typedef uint16_t H __attribute__((vector_size(8)));
  H h;
  __builtin_memcpy(&h, p, sizeof h);
  return __builtin_convertvector(h, U);
}
inline V load(const F16* p) {  // as f32_from_f16, four at a time
  const U h = load_u16(p), magnitude = (h & 0x7fffu) << 13;
  const U special = U((h & 0x7c00u) == 0x7c00u), nan = special & U((h & 0x3ffu) != 0u);
  const U finite = U(V(magnitude) * set1(0x1p112f));
  const U bits = (special & (magnitude | 0x7f800000u)) | (~special & finite) | (nan & 0x00400000u);
  return V(((h & 0x8000u) << 16) | bits);
}
inline V load(const BF16* p) { return V(load_u16(p) << 16); }
inline void store(float* p, V v) { __builtin_memcpy(p, &v, sizeof v); }
inline V add(V a, V b) { return a + b; }
inline V mul(V a, V b) { return a * b; }
inline V fma(V a, V b, V c) { return a * b + c; }  // two roundings
inline V max_or_second(V a, V b) { return a > b ? a : b; }

inline void sum4(const V* v, float* out) {
  for (int i = 0; i < 4; i++) out[i] = (v[i][0] + v[i][1]) + (v[i][2] + v[i][3]);
}

inline void transpose(V* r) {
  const V a = r[0], b = r[1], c = r[2], d = r[3];
  for (int i = 0; i < 4; i++) r[i] = V{a[i], b[i], c[i], d[i]};
}

#endif

// The first n lanes, n < lanes; the others are 0.
template <class T>
inline V load_part(const T* p, int64_t n) {
  float part[lanes] = {};
  for (int64_t i = 0; i < n; i++) part[i] = get(p + i);
  return load(part);
}
inline void store_part(float* p, V v, int64_t n) {
  float part[lanes];
  store(part, v);
  for (int64_t i = 0; i < n; i++) p[i] = part[i];
}
inline float sum(V v) {
  const V four[4] = {v, zero(), zero(), zero()};
  float out[4];
  sum4(four, out);
  return out[0];
}

}  // namespace
}  // namespace tenon::cpu
