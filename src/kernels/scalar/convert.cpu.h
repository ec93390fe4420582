// Elements of storage to lanes and back, and dequantisation.
// Only for the translation units of loop_table.cpu.h: internal linkage, nothing of std::.
#pragma once
#include "kernels/scalar/ops.cpu.h"

namespace tenon::cpu {
namespace {

// Elements at any address: rows of quantised blocks and mapped files align nothing.
typedef uint32_t Word __attribute__((aligned(1), may_alias));
typedef uint16_t Half __attribute__((aligned(1), may_alias));
typedef uint8_t Byte __attribute__((may_alias));
typedef uint64_t Long __attribute__((aligned(1), may_alias));

TENON_LOOP_INLINE uint32_t load_word(uint32_t x) { return x; }
TENON_LOOP_INLINE uint32_t load_f16(uint16_t x) { return bits_of(f32_from_f16(x)); }
TENON_LOOP_INLINE uint32_t load_bf16(uint16_t x) { return uint32_t(x) << 16; }
TENON_LOOP_INLINE uint32_t load_bool(uint8_t x) { return x != 0; }
TENON_LOOP_INLINE uint32_t load_u8(uint8_t x) { return x; }
TENON_LOOP_INLINE uint32_t load_i8(uint8_t x) { return uint32_t(int32_t(int8_t(x))); }
TENON_LOOP_INLINE uint32_t store_word(uint32_t x) { return x; }
TENON_LOOP_INLINE uint16_t store_f16(uint32_t x) { return f16_from_f32(float_of(x)); }
TENON_LOOP_INLINE uint16_t store_bf16(uint32_t x) { return bf16_from_f32(float_of(x)); }
TENON_LOOP_INLINE uint8_t store_bool(uint32_t x) { return x != 0; }
TENON_LOOP_INLINE uint8_t store_byte(uint32_t x) { return uint8_t(x); }

void fill_wide(uint64_t value, int64_t n, uint32_t* lanes) {
  for (int64_t i = 0; i < n; ++i) set_lane(lanes, i, value);
}
void fill(uint32_t value, int64_t n, uint32_t* lanes) {
  for (int64_t i = 0; i < n; ++i) lanes[i] = value;
}

template <class Element, auto convert>
void load_dense(const Element* p, int64_t n, uint32_t* lanes) {
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) lanes[i] = convert(p[i]);
}
template <class Element, auto convert>
void store_dense(Element* p, int64_t n, const uint32_t* lanes) {
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) p[i] = convert(lanes[i]);
}

#if defined(__F16C__)
// The instructions of F16C agree with core/half.h in every bit; half.h does what is left at the end.
template <>
void load_dense<Half, load_f16>(const Half* p, int64_t n, uint32_t* lanes) {
  int64_t i = 0;
#if defined(__AVX512F__)  // the masked forms, because g++ 12 warns of uninitialised values in its header's plain ones
  for (; i + 16 <= n; i += 16) {
    const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i));
    _mm512_storeu_ps(lanes + i, _mm512_maskz_cvtph_ps(0xffff, h));
  }
#endif
  for (; i + 8 <= n; i += 8) {
    const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
    _mm256_storeu_ps(reinterpret_cast<float*>(lanes + i), _mm256_cvtph_ps(h));
  }
  for (; i < n; ++i) lanes[i] = load_f16(p[i]);
}
template <>
void store_dense<Half, store_f16>(Half* p, int64_t n, const uint32_t* lanes) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    const __m512 x = _mm512_loadu_ps(lanes + i);
    const __m256i h = _mm512_maskz_cvtps_ph(0xffff, x, _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + i), h);
  }
#endif
  for (; i + 8 <= n; i += 8) {
    const __m256 x = _mm256_loadu_ps(reinterpret_cast<const float*>(lanes + i));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + i), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < n; ++i) p[i] = store_f16(lanes[i]);
}
#endif

template <class Element, auto convert>
void load_elements(const std::byte* base, int64_t first, int64_t stride, int64_t n, uint32_t* lanes) {
  if (n <= 0) return;
  const Element* p = reinterpret_cast<const Element*>(base) + first;
  if (stride == 1) return load_dense<Element, convert>(p, n, lanes);
  if (stride == 0) return fill(convert(*p), n, lanes);
  for (int64_t i = 0; i < n; ++i) lanes[i] = convert(p[i * stride]);
}
template <class Element, auto convert>
void store_elements(std::byte* base, int64_t first, int64_t stride, int64_t n, const uint32_t* lanes) {
  if (n <= 0) return;
  Element* p = reinterpret_cast<Element*>(base) + first;
  if (stride == 1) return store_dense<Element, convert>(p, n, lanes);
  for (int64_t i = 0; i < n; ++i) p[i * stride] = convert(lanes[i]);
}

void load_wide(const std::byte* base, int64_t first, int64_t stride, int64_t n, uint32_t* lanes) {
  const Long* p = reinterpret_cast<const Long*>(base) + first;
  if (stride == 1) return void(__builtin_memcpy(lanes, p, size_t(n) * 8));
  for (int64_t i = 0; i < n; ++i) set_lane(lanes, i, uint64_t(p[i * stride]));
}
void store_wide(std::byte* base, int64_t first, int64_t stride, int64_t n, const uint32_t* lanes) {
  Long* p = reinterpret_cast<Long*>(base) + first;
  if (stride == 1) return void(__builtin_memcpy(p, lanes, size_t(n) * 8));
  for (int64_t i = 0; i < n; ++i) p[i * stride] = lane_at<uint64_t>(lanes, i);
}

// ---------------------------------------------------------------------------------------------- dequantisation

TENON_LOOP_INLINE float scale_at(const Byte* p) {
#if defined(__F16C__)
  return _cvtsh_ss(*reinterpret_cast<const Half*>(p));
#else
  return f32_from_f16(*reinterpret_cast<const Half*>(p));
#endif
}

// Sixteen signed bytes, and d * q (+ m) of them. By intrinsics: g++ 12 makes no SIMD of a loop this short.
#if defined(__AVX2__)
using Quants = __m128i;
TENON_LOOP_INLINE Quants quants_at(const Byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
TENON_LOOP_INLINE Quants low_nibbles(Quants q) { return _mm_and_si128(q, _mm_set1_epi8(15)); }
TENON_LOOP_INLINE Quants high_nibbles(Quants q) { return low_nibbles(_mm_srli_epi16(q, 4)); }
TENON_LOOP_INLINE Quants minus_8(Quants q) { return _mm_sub_epi8(q, _mm_set1_epi8(8)); }
#else
// Bytes plus `bias`, 0 to 255, four in a word.
struct Quants {
  uint32_t word[4];
  float bias;
};
TENON_LOOP_INLINE Quants quants_at(const Byte* p) {
  Quants q = {{}, 128.0f};
  __builtin_memcpy(q.word, p, 16);
  for (uint32_t& w : q.word) w ^= 0x80808080u;
  return q;
}
TENON_LOOP_INLINE Quants low_nibbles(Quants q) {
  for (uint32_t& w : q.word) w &= 0x0f0f0f0fu;
  return {{q.word[0], q.word[1], q.word[2], q.word[3]}, 0.0f};
}
TENON_LOOP_INLINE Quants high_nibbles(Quants q) {
  for (uint32_t& w : q.word) w = (w ^ 0x80808080u) >> 4;
  return low_nibbles(q);
}
TENON_LOOP_INLINE Quants minus_8(Quants q) {
  q.bias = 8.0f;
  return q;
}
#endif

#if defined(__AVX512F__)
template <bool offset>
TENON_LOOP_INLINE void scaled(Quants q, float d, float m, uint32_t* out) {
  __m512 x = _mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepi8_epi32(0xffff, q)) * _mm512_set1_ps(d);
  if (offset) x = x + _mm512_set1_ps(m);
  _mm512_storeu_ps(out, x);
}
#elif defined(__AVX2__)
template <bool offset>
TENON_LOOP_INLINE void scaled(Quants q, float d, float m, uint32_t* out) {
  __m256 low = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)) * _mm256_set1_ps(d);
  __m256 high = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(q, 8))) * _mm256_set1_ps(d);
  if (offset) low = low + _mm256_set1_ps(m), high = high + _mm256_set1_ps(m);
  _mm256_storeu_ps(reinterpret_cast<float*>(out), low);
  _mm256_storeu_ps(reinterpret_cast<float*>(out + 8), high);
}
#else
// Lane k keeps byte k where it is; a power of two then brings its value down, exactly, without the shifts by lane that
// SSE2 lacks. The last byte moves down by one bit to stay clear of the sign.
template <bool offset>
TENON_LOOP_INLINE void scaled(Quants q, float d, float m, uint32_t* out) {
  const VecU mask = {0xffu, 0xff00u, 0xff0000u, 0x7f800000u};
  const VecF unit = {1.0f, 0x1p-8f, 0x1p-16f, 0x1p-23f};
  for (int j = 0; j < 4; ++j) {
    const uint32_t w = q.word[j];
    const VecI bytes = (VecI)(VecU{w, w, w, w >> 1} & mask);
    const VecF value = __builtin_convertvector(bytes, VecF) * unit - q.bias;
    set_vector(out, j, VecF(offset ? value * d + m : value * d));
  }
}
#endif

// One block of 32 elements. Byte j of the nibbles holds element j (low) and element j + 16 (high).
struct Q8_0 {
  static constexpr DType dtype = DType::q8_0;
  TENON_LOOP_INLINE static void block(const Byte* p, uint32_t* out) {
    const float d = scale_at(p);
    scaled<false>(quants_at(p + 2), d, 0, out);
    scaled<false>(quants_at(p + 18), d, 0, out + 16);
  }
};
struct Q4_0 {
  static constexpr DType dtype = DType::q4_0;
  TENON_LOOP_INLINE static void block(const Byte* p, uint32_t* out) {
    const float d = scale_at(p);
    const Quants q = quants_at(p + 2);
    scaled<false>(minus_8(low_nibbles(q)), d, 0, out);
    scaled<false>(minus_8(high_nibbles(q)), d, 0, out + 16);
  }
};
struct Q4_1 {
  static constexpr DType dtype = DType::q4_1;
  TENON_LOOP_INLINE static void block(const Byte* p, uint32_t* out) {
    const float d = scale_at(p), m = scale_at(p + 2);
    const Quants q = quants_at(p + 4);
    scaled<true>(low_nibbles(q), d, m, out);
    scaled<true>(high_nibbles(q), d, m, out + 16);
  }
};

// Elements first .. first + n of a run of blocks; whole blocks go straight to the lanes.
template <class Q>
void dequantise(const std::byte* base, int64_t first, int64_t n, uint32_t* lanes) {
  constexpr int64_t bytes = block_bytes(Q::dtype);
  const Byte* p = reinterpret_cast<const Byte*>(base) + first / 32 * bytes;
  int64_t skip = first % 32;
  uint32_t part[32];
  while (n > 0) {
    const int64_t count = 32 - skip < n ? 32 - skip : n;
    if (count == 32) {
      Q::block(p, lanes);
    } else {
      Q::block(p, part);
      for (int64_t i = 0; i < count; ++i) lanes[i] = part[skip + i];
    }
    skip = 0;
    p += bytes;
    lanes += count;
    n -= count;
  }
}

// ------------------------------------------------------------------------------------------------- by dtype

void load(DType dtype, const std::byte* base, int64_t first, int64_t stride, int64_t n, uint32_t* lanes) {
  switch (dtype) {
    case DType::f32: case DType::i32: case DType::u32:
      return load_elements<Word, load_word>(base, first, stride, n, lanes);
    case DType::f16: return load_elements<Half, load_f16>(base, first, stride, n, lanes);
    case DType::bf16: return load_elements<Half, load_bf16>(base, first, stride, n, lanes);
    case DType::bool_: return load_elements<Byte, load_bool>(base, first, stride, n, lanes);
    case DType::u8: return load_elements<Byte, load_u8>(base, first, stride, n, lanes);
    case DType::i8: return load_elements<Byte, load_i8>(base, first, stride, n, lanes);
    case DType::f64: case DType::i64: return load_wide(base, first, stride, n, lanes);
    case DType::q8_0: return dequantise<Q8_0>(base, first, n, lanes);
    case DType::q4_0: return dequantise<Q4_0>(base, first, n, lanes);
    case DType::q4_1: return dequantise<Q4_1>(base, first, n, lanes);
  }
}
void store(DType dtype, std::byte* base, int64_t first, int64_t stride, int64_t n, const uint32_t* lanes) {
  switch (dtype) {
    case DType::f32: case DType::i32: case DType::u32:
      return store_elements<Word, store_word>(base, first, stride, n, lanes);
    case DType::f16: return store_elements<Half, store_f16>(base, first, stride, n, lanes);
    case DType::bf16: return store_elements<Half, store_bf16>(base, first, stride, n, lanes);
    case DType::bool_: return store_elements<Byte, store_bool>(base, first, stride, n, lanes);
    case DType::u8: case DType::i8: return store_elements<Byte, store_byte>(base, first, stride, n, lanes);
    case DType::f64: case DType::i64: return store_wide(base, first, stride, n, lanes);
    case DType::q8_0: case DType::q4_0: case DType::q4_1: return;
  }
}

}  // namespace
}  // namespace tenon::cpu
