#include "core/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace tenon {
namespace {

// From the definition of binary16, in double.
double f16_value(uint16_t h) {
  const int exponent = (h >> 10) & 31, mantissa = h & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return h & 0x8000 ? -magnitude : magnitude;
}
bool f16_special(uint16_t h) { return (h & 0x7c00) == 0x7c00; }
float f32(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

TEST(Half, F16WidensExactly) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float x = f32_from_f16(uint16_t(h));
    if (f16_special(uint16_t(h))) {
      const uint32_t sign = (h & 0x8000u) << 16, mantissa = h & 1023u;
      ASSERT_EQ(bits(x), sign | 0x7f800000u | mantissa << 13 | (mantissa ? 0x400000u : 0u)) << h;
    } else {
      ASSERT_EQ(double(x), f16_value(uint16_t(h))) << h;
      ASSERT_EQ(std::signbit(x), (h & 0x8000) != 0) << h;
    }
  }
}

TEST(Half, F16RoundTrip) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const bool nan = f16_special(uint16_t(h)) && (h & 1023);
    ASSERT_EQ(f16_from_f32(f32_from_f16(uint16_t(h))), nan ? (h | 0x200u) : h) << h;
  }
}

// Between each f16 and the next: just below the middle, the middle (to the even one), just above.
TEST(Half, F16RoundsToNearestEven) {
  for (uint32_t h = 0; h < 0x7c00; ++h) {
    const double low = f16_value(uint16_t(h)), high = h == 0x7bff ? 65536.0 : f16_value(uint16_t(h + 1));
    const float middle = float((low + high) / 2);
    for (const uint32_t sign : {0u, 0x8000u}) {
      const float s = sign ? -1.0f : 1.0f;
      ASSERT_EQ(f16_from_f32(s * middle), sign | (h & 1 ? h + 1 : h)) << h;
      ASSERT_EQ(f16_from_f32(s * std::nextafter(middle, 0.0f)), sign | h) << h;
      ASSERT_EQ(f16_from_f32(s * std::nextafter(middle, 1e9f)), sign | (h + 1)) << h;
    }
  }
  EXPECT_EQ(f16_from_f32(f32(1)), 0);  // the smallest subnormal f32
  EXPECT_EQ(f16_from_f32(f32(0x80000001)), 0x8000);
  EXPECT_EQ(f16_from_f32(3e38f), 0x7c00);
  EXPECT_EQ(f16_from_f32(-INFINITY), 0xfc00);
}

TEST(Half, F16NaNStaysNaN) {
  for (const uint32_t x : {0x7f800001u, 0xff800001u, 0x7fffffffu, 0x7fc00000u, 0xffc12345u, 0x7f802000u}) {
    const uint32_t expected = (x >> 16 & 0x8000u) | 0x7e00u | (x >> 13 & 0x3ffu);
    EXPECT_EQ(f16_from_f32(f32(x)), expected) << std::hex << x;
  }
}

// Hazard F1.
TEST(Half, Bf16KnownRoundings) {
  const std::pair<uint32_t, uint16_t> rows[] = {{0x7f800001, 0x7fc0}, {0xff800001, 0xffc0}, {0x7fffffff, 0x7fff},
                                                {0x7f7fffff, 0x7f80}, {0x3f808000, 0x3f80}, {0x3f808001, 0x3f81},
                                                {0x3f818000, 0x3f82}, {0x7f800000, 0x7f80}, {0xff800000, 0xff80},
                                                {0x80000000, 0x8000}, {0x00000001, 0x0000}, {0x00008001, 0x0001}};
  for (const auto& [from, to] : rows) EXPECT_EQ(bf16_from_f32(f32(from)), to) << std::hex << from;
}

TEST(Half, Bf16Exhaustive) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    ASSERT_EQ(bits(f32_from_bf16(uint16_t(h))), h << 16);
    const bool nan = (h & 0x7fff) > 0x7f80;
    ASSERT_EQ(bf16_from_f32(f32(h << 16)), nan ? (h | 0x40u) : h) << h;
    if ((h & 0x7f80) == 0x7f80) continue;  // finite below: the three points between h and its successor
    ASSERT_EQ(bf16_from_f32(f32(h << 16 | 0x7fff)), h) << h;
    ASSERT_EQ(bf16_from_f32(f32(h << 16 | 0x8000)), h & 1 ? h + 1 : h) << h;
    ASSERT_EQ(bf16_from_f32(f32(h << 16 | 0x8001)), h + 1) << h;
  }
}

// Hazard F2: the largest finite values, and usable in constant expressions.
static_assert(f32_from_f16(0x7bff) == 65504.0f && f16_from_f32(65504.0f) == 0x7bff);
static_assert(f32_from_bf16(0x7f7f) == 0x1.fep127f && bf16_from_f32(0x1.fep127f) == 0x7f7f);

}  // namespace
}  // namespace tenon
