// f16 and bf16 as bits. Round to nearest even; infinities and subnormals are exact. NaN stays NaN with as much of its
// payload as fits; every conversion but the widening of bf16 sets its quiet bit, as the instructions of F16C do.
//
// Always inlined and free of std::, so that translation units compiled for wider instruction sets may use it: nothing
// of it is emitted there under a name that the rest of the program could link to.
#pragma once
#include <cstdint>

namespace tenon {

[[gnu::always_inline]] constexpr float f32_from_bf16(uint16_t h) {
  return __builtin_bit_cast(float, uint32_t(h) << 16);
}

[[gnu::always_inline]] constexpr uint16_t bf16_from_f32(float f) {
  const uint32_t x = __builtin_bit_cast(uint32_t, f);
  const uint32_t rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
  const uint32_t quiet = (x >> 16) | 0x40u;  // the rounding carry would turn a NaN into infinity or -0
  return uint16_t((x & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

[[gnu::always_inline]] constexpr float f32_from_f16(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000u) << 16;
  const uint32_t magnitude = uint32_t(h & 0x7fffu) << 13;
  // Normal: re-bias the exponent. Subnormal: put the mantissa below a leading 2^-14 and take that away again, which
  // normalises without ever making a subnormal f32 (slow on many processors, zero where they are flushed).
  const uint32_t normal = magnitude + 0x38000000u;
  const float above = __builtin_bit_cast(float, magnitude + 0x38800000u);
  const uint32_t subnormal = __builtin_bit_cast(uint32_t, above - 0x1p-14f);
  const bool special = (h & 0x7c00u) == 0x7c00u;
  const uint32_t finite = (h & 0x7c00u) == 0 ? subnormal : normal;
  const uint32_t bits = special ? (magnitude | 0x7f800000u) : finite;
  const bool nan = special && (h & 0x3ffu) != 0;
  return __builtin_bit_cast(float, sign | bits | (nan ? 0x00400000u : 0u));
}

[[gnu::always_inline]] constexpr uint16_t f16_from_f32(float f) {
  const uint32_t x = __builtin_bit_cast(uint32_t, f);
  const uint32_t sign = (x >> 16) & 0x8000u;
  const uint32_t a = x & 0x7fffffffu;
  // Normal result: re-bias the exponent and round on 13 dropped bits.
  const uint32_t normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;
  // Subnormal result: adding 0.5 aligns the mantissa so that the hardware rounds at 2^-24.
  const uint32_t subnormal = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, a) + 0.5f) - 0x3f000000u;
  const uint32_t nan = 0x7e00u | ((a >> 13) & 0x3ffu);
  const uint32_t finite = a < 0x38800000u ? subnormal : normal;
  const uint32_t bounded = a >= 0x477ff000u ? 0x7c00u : finite;  // 65520 and above round to infinity
  return uint16_t(sign | (a > 0x7f800000u ? nan : bounded));
}

}  // namespace tenon
