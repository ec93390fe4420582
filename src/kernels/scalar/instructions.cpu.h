// The scalar instructions on lanes of 4 bytes that need neither std:: nor f64. Generated kernels see this text too
// (src/codegen/texts.h), so one function serves both.
// Only for the translation units of loop_table.cpu.h: internal linkage, nothing of std::.
#pragma once
#include "core/half.h"
#include "kernels/scalar/math.cpu.h"

namespace tenon::cpu {
namespace {

TENON_LOOP_INLINE uint32_t neg_f(uint32_t a) { return a ^ sign_bit; }
TENON_LOOP_INLINE uint32_t neg_i(uint32_t a) { return 0u - a; }
TENON_LOOP_INLINE uint32_t abs_f(uint32_t a) { return a & ~sign_bit; }
TENON_LOOP_INLINE uint32_t abs_i(int32_t a) { return a < 0 ? 0u - uint32_t(a) : uint32_t(a); }

TENON_LOOP_INLINE float add_f(float a, float b) { return a + b; }
TENON_LOOP_INLINE float sub_f(float a, float b) { return a - b; }
TENON_LOOP_INLINE float mul_f(float a, float b) { return a * b; }
TENON_LOOP_INLINE float div_f(float a, float b) { return a / b; }
TENON_LOOP_INLINE uint32_t add_u(uint32_t a, uint32_t b) { return a + b; }
TENON_LOOP_INLINE uint32_t sub_u(uint32_t a, uint32_t b) { return a - b; }
TENON_LOOP_INLINE uint32_t mul_u(uint32_t a, uint32_t b) { return a * b; }

// The first NaN wins. Equal values differ in bits only when they are zeros of both signs: max takes +0, min -0.
TENON_LOOP_INLINE float min_f(float a, float b) {
  uint32_t r = a < b ? bits_of(a) : bits_of(b);
  r = a == b ? bits_of(a) | bits_of(b) : r;
  return float_of(a != a ? bits_of(a) : r);
}
TENON_LOOP_INLINE float max_f(float a, float b) {
  uint32_t r = a > b ? bits_of(a) : bits_of(b);
  r = a == b ? bits_of(a) & bits_of(b) : r;
  return float_of(a != a ? bits_of(a) : r);
}
// A negative i32 amount is 32 or more.
TENON_LOOP_INLINE uint32_t shift_left_u(uint32_t a, uint32_t b) { return b < 32u ? a << (b & 31u) : 0u; }
TENON_LOOP_INLINE uint32_t shift_right_u(uint32_t a, uint32_t b) { return b < 32u ? a >> (b & 31u) : 0u; }
TENON_LOOP_INLINE int32_t shift_right_i(int32_t a, uint32_t b) { return a >> (b < 31u ? b : 31u); }

TENON_LOOP_INLINE float sqrt_f(float a) { return __builtin_sqrtf(a); }
TENON_LOOP_INLINE float rsqrt_f(float a) { return 1.0f / __builtin_sqrtf(a); }

TENON_LOOP_INLINE float i32_to_f(int32_t a) { return float(a); }
// By halves, because few instruction sets convert from u32: both are exact, and their sum rounds once.
TENON_LOOP_INLINE float u32_to_f(uint32_t a) {
  return float(int32_t(a >> 16)) * 65536.0f + float(int32_t(a & 0xffffu));
}
TENON_LOOP_INLINE int32_t f_to_i32(float a) {
  const float low = a > -0x1p31f ? a : -0x1p31f;  // NaN too
  const int32_t r = int32_t(low < 0x1p31f ? low : 0.0f);
  return a != a ? 0 : low < 0x1p31f ? r : 0x7fffffff;
}
TENON_LOOP_INLINE uint32_t f_to_u32(float a) {
  const float positive = a > 0.0f ? a : 0.0f;  // NaN too
  const bool upper = positive >= 0x1p31f;
  const float reduced = upper ? positive - 0x1p31f : positive;
  const uint32_t r = uint32_t(int32_t(reduced < 0x1p31f ? reduced : 0.0f)) | (upper ? sign_bit : 0u);
  return positive < 0x1p32f ? r : 0xffffffffu;
}
TENON_LOOP_INLINE float f16_rounded(float x) { return f32_from_f16(f16_from_f32(x)); }
TENON_LOOP_INLINE float bf16_rounded(float x) { return f32_from_bf16(bf16_from_f32(x)); }
TENON_LOOP_INLINE uint32_t wrapped_u8(uint32_t a) { return a & 0xffu; }
TENON_LOOP_INLINE int32_t wrapped_i8(uint32_t a) { return int32_t(a << 24) >> 24; }
TENON_LOOP_INLINE uint32_t f_to_bool(float a) { return a != 0.0f; }
TENON_LOOP_INLINE uint32_t u_to_bool(uint32_t a) { return a != 0u; }

}  // namespace
}  // namespace tenon::cpu
