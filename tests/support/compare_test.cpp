// The comparer itself: above all that it fails (hazard S5).
#include "support/compare.h"

#include <gtest/gtest.h>

#include <limits>

namespace tenon::testing {
namespace {

constexpr double nan_ = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

std::string one(double expected, double actual, Tolerance tol = {}, DType t = DType::f32) {
  return difference({t, {1}, {expected}}, {t, {1}, {actual}}, tol);
}

TEST(Compare, HazardS5_NanOnOneSideFails) {
  EXPECT_NE(one(nan_, 0, {.relative = 1e9, .absolute = 1e9, .nan_equal = true}), "");
  EXPECT_NE(one(0, nan_, {.relative = 1e9, .absolute = 1e9, .nan_equal = true}), "");
  EXPECT_NE(one(nan_, nan_), "");
  EXPECT_EQ(one(nan_, nan_, {.nan_equal = true}), "");
}

TEST(Compare, HazardS5_InfinityIsNoBigNumber) {
  EXPECT_NE(one(inf, 65504, {.relative = 1, .absolute = 1e30, .ulp = 1}, DType::f16), "");
  EXPECT_NE(one(65504, inf, {.relative = 1, .absolute = 1e30, .ulp = 1}, DType::f16), "");
  EXPECT_NE(one(inf, -inf, {.relative = 1, .absolute = 1e30}), "");
  EXPECT_NE(one(inf, nan_, {.nan_equal = true}), "");
  EXPECT_EQ(one(-inf, -inf), "");
}

TEST(Compare, HazardS5_ShapeCountAndDtype) {
  const Values two{DType::f32, {2}, {1, 2}}, column{DType::f32, {2, 1}, {1, 2}}, empty{DType::f32, {0}, {}};
  EXPECT_EQ(difference(two, column), "shape: expected [2], got [2,1]");
  EXPECT_NE(difference(two, empty), "");
  EXPECT_NE(difference(empty, two), "");
  EXPECT_NE(difference(empty, {DType::f32, {0, 3}, {}}), "");
  EXPECT_EQ(difference(empty, empty), "");
  EXPECT_NE(difference(two, {DType::f32, {2}, {1}}), "");
  EXPECT_EQ(difference(two, {DType::f16, {2}, {1, 2}}), "dtype: expected f32, got f16");
}

TEST(Compare, RelativeAbsoluteAndUlp) {
  EXPECT_NE(one(100, 100.2, {.relative = 1e-3}), "");
  EXPECT_EQ(one(100, 100.05, {.relative = 1e-3}), "");
  EXPECT_NE(one(0, 1e-6, {.relative = 1}), "");
  EXPECT_EQ(one(0, 1e-6, {.absolute = 1e-6}), "");
  const double next = double(std::nextafterf(1.0f, 2.0f)), third = next + 2 * (next - 1);
  EXPECT_EQ(one(1, next, {.ulp = 1}), "");
  EXPECT_NE(one(1, third, {.ulp = 2}), "");
  EXPECT_EQ(one(1, third, {.ulp = 3}), "");
  EXPECT_EQ(one(1, 1 + 0x1p-10, {.ulp = 1}, DType::f16), "");
  EXPECT_NE(one(1, 1 + 0x1p-9, {.ulp = 1}, DType::f16), "");
  EXPECT_EQ(one(1, 1 + 0x1p-7, {.ulp = 1}, DType::bf16), "");
  EXPECT_EQ(one(-0x1p-149, 0x1p-149, {.ulp = 2}), "");
  EXPECT_NE(one(5, 6, {.ulp = 1}, DType::i32), "");
}

TEST(Compare, SignOfZeroOnlyWhenAsked) {
  EXPECT_EQ(one(-0.0, 0.0), "");
  EXPECT_NE(one(-0.0, 0.0, {.zero_sign = true}), "");
  EXPECT_EQ(one(-0.0, -0.0, {.zero_sign = true}), "");
}

TEST(Compare, MessageNamesTheFirstBadIndex) {
  const Values a{DType::f32, {2, 3}, {0, 1, 2, 3, 4, 5}}, b{DType::f32, {2, 3}, {0, 1, 2, 3, 9, 8}};
  EXPECT_EQ(difference(a, b), "value at [1,1]: expected 4, got 9 (2 of 6 differ)");
}

TEST(Compare, ReadsBackWhatItWrote) {
  const Device host = Device::open("host");
  for (DType t : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u32, DType::bool_}) {
    const Values v{t, {2, 2}, {0, 1, 1, 0}};
    EXPECT_EQ(difference(v, read(tensor(v, host))), "") << to_string(t);
  }
}

}  // namespace
}  // namespace tenon::testing
