#include <gtest/gtest.h>

#include <cmath>

#include "llm/decoder.h"

namespace {

using namespace tenon;

// Hazard K3: angles of late positions. The first pair turns by one radian a position.
TEST(RopeTable, LatePositionsKeepTheirPhase) {
  const int64_t half = 4;
  const llm::RopeTable t = llm::make_rope_table(131072, 2 * half, 10000, Device::open("cpu"));
  const auto cos = t.cos.to_vector<float>(), sin = t.sin.to_vector<float>();
  EXPECT_NEAR(cos[257 * half], .8193055, 1e-6);
  EXPECT_NEAR(sin[257 * half], -.5733572, 1e-6);
  EXPECT_NEAR(cos[15962 * half], -.9080159, 1e-6);
  EXPECT_NEAR(cos[131071 * half], -.8179835, 1e-6);
  for (int64_t p : {0, 1, 4095, 131071})
    for (int64_t i = 0; i < half; ++i) {
      const long double angle = (long double)(p) / std::pow(10000.0L, (long double)(2 * i) / 8);
      EXPECT_NEAR(cos[size_t(p * half + i)], double(std::cos(angle)), 1e-7) << p << " " << i;
      EXPECT_NEAR(sin[size_t(p * half + i)], double(std::sin(angle)), 1e-7) << p << " " << i;
    }
}

}  // namespace
