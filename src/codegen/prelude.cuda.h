// What every generated CUDA kernel begins with. This text is compiled as a part of kernels (NVRTC, or the host's compiler
// in tests), never as a part of the library; so it includes nothing. src/codegen/prelude.cpp puts the parts together.
//
// Loads and stores of each dtype, chunks of 16 bytes, groups and their index, wide divisions.

namespace tenon {
namespace gpu {

// ------------------------------------------------------------------------------------------------------- indices

inline int64_t group_index() { return int64_t(blockIdx.x) + int64_t(blockIdx.y) * int64_t(gridDim.x); }

// Division of what is not negative; most sizes fit 32 bits, where it is many times faster.
struct Quotient {
  int64_t quotient, rest;
};
inline Quotient divide(int64_t a, int64_t b) {
  if ((uint64_t(a | b) >> 32) == 0) {
    const uint32_t q = uint32_t(a) / uint32_t(b);
    return {int64_t(q), int64_t(uint32_t(a) - q * uint32_t(b))};
  }
  const int64_t q = a / b;
  return {q, a - q * b};
}
inline int64_t round_up_quotient(int64_t a, int64_t b) { return divide(a + b - 1, b).quotient; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// Elements that a run-time scalar moves an operand by.
inline int64_t moved(uint32_t value, int64_t most, int64_t stride) {
  return smaller(int64_t(value), most < 0 ? 0 : most) * stride;
}

// ------------------------------------------------------------------------------------------------ loads and stores

#if defined(TENON_STANDIN) || !defined(__CUDA_ARCH__)
inline float half_to_float(uint16_t h) { return f32_from_f16(h); }
inline uint16_t float_to_half(float f) { return f16_from_f32(f); }
#else
inline float half_to_float(uint16_t h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}
inline uint16_t float_to_half(float f) {
  uint16_t h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && !defined(TENON_STANDIN)
inline uint16_t float_to_bfloat(float f) {
  uint16_t h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}
#else
inline uint16_t float_to_bfloat(float f) { return bf16_from_f32(f); }
#endif

// From what lies in memory to a lane, and back.
inline float from_f32(float x) { return x; }
inline float from_f16(uint16_t x) { return half_to_float(x); }
inline float from_bf16(uint16_t x) { return f32_from_bf16(x); }
inline int32_t from_i32(int32_t x) { return x; }
inline uint32_t from_u32(uint32_t x) { return x; }
inline uint32_t from_bool(uint8_t x) { return x != 0 ? 1u : 0u; }
inline uint32_t from_u8(uint8_t x) { return x; }
inline int32_t from_i8(int8_t x) { return x; }
inline double from_f64(double x) { return x; }
inline int64_t from_i64(int64_t x) { return x; }

inline float to_f32(float x) { return x; }
inline uint16_t to_f16(float x) { return float_to_half(x); }
inline uint16_t to_bf16(float x) { return float_to_bfloat(x); }
inline int32_t to_i32(int32_t x) { return x; }
inline uint32_t to_u32(uint32_t x) { return x; }
inline uint8_t to_bool(uint32_t x) { return x != 0u; }
inline uint8_t to_u8(uint32_t x) { return uint8_t(x); }
inline int8_t to_i8(int32_t x) { return int8_t(x); }
inline double to_f64(double x) { return x; }
inline int64_t to_i64(int64_t x) { return x; }

// Element i of quantised blocks of 32: scale (and minimum) in f16, then the quants; each product and sum rounded.
inline float block_half(const uint8_t* p) { return half_to_float(uint16_t(p[0] | p[1] << 8)); }
inline float load_q8_0(const uint8_t* base, int64_t i) {
  const uint8_t* b = base + (i >> 5) * 34;
  return block_half(b) * float(int8_t(b[2 + (i & 31)]));
}
inline int nibble(const uint8_t* quants, int j) { return j < 16 ? quants[j] & 15 : quants[j - 16] >> 4; }
inline float load_q4_0(const uint8_t* base, int64_t i) {
  const uint8_t* b = base + (i >> 5) * 18;
  return block_half(b) * float(nibble(b + 2, int(i & 31)) - 8);
}
inline float load_q4_1(const uint8_t* base, int64_t i) {
  const uint8_t* b = base + (i >> 5) * 20;
  return block_half(b) * float(nibble(b + 4, int(i & 31))) + block_half(b + 2);
}

// Up to 16 bytes at once.
template <int bytes>
struct Bits;
template <>
struct Bits<1> { uint8_t x; };
template <>
struct Bits<2> { uint16_t x; };
template <>
struct Bits<4> { uint32_t x; };
template <>
struct alignas(8) Bits<8> { uint32_t x, y; };
template <>
struct alignas(16) Bits<16> { uint32_t x, y, z, w; };

// `count` elements of W; the rest of `out` is zero. One access where all are wanted and the address allows it.
template <int W, class T>
inline void load_chunk(const T* p, int count, T (&out)[W]) {
  constexpr int bytes = W * int(sizeof(T));
  if (count == W && (uint64_t(p) & (bytes - 1)) == 0) {
    const Bits<bytes> raw = *reinterpret_cast<const Bits<bytes>*>(p);
    __builtin_memcpy(&out, &raw, bytes);
    return;
  }
#pragma unroll
  for (int e = 0; e < W; ++e) out[e] = e < count ? p[e] : T(0);
}
template <int W, class T>
inline void store_chunk(T* p, int count, const T (&in)[W]) {
  constexpr int bytes = W * int(sizeof(T));
  if (count == W && (uint64_t(p) & (bytes - 1)) == 0) {
    Bits<bytes> raw;
    __builtin_memcpy(&raw, &in, bytes);
    *reinterpret_cast<Bits<bytes>*>(p) = raw;
    return;
  }
#pragma unroll
  for (int e = 0; e < W; ++e)
    if (e < count) p[e] = in[e];
}

}  // namespace gpu
}  // namespace tenon
