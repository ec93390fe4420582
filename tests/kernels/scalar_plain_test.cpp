// The plain scalar ops of the cpu against the reference device's, for every op of scalar.def and every lane that it takes:
// an op that one of the two does not know fails here.
#include "kernels/scalar/plain.cpu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/scalar/apply.host.h"

namespace tenon {
namespace {

Lane lane_of(char c) { return c == 'f' ? Lane::f32 : c == 'i' ? Lane::i32 : Lane::u32; }

uint32_t some_lane(Lane lane, std::mt19937& rng) {
  static const float odd[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 2.5f, -3.5f, 1e-45f, 3.4e38f, -3.4e38f, 65504.0f, 65520.0f, 5.97e-8f,
                              88.0f, -103.0f, 2147483648.0f, 4294967296.0f, 0.99999994f, HUGE_VALF, -HUGE_VALF, std::nanf("")};
  static const uint32_t whole[] = {0, 1, 2, 31, 32, 33, 0x7fffffffu, 0x80000000u, 0xffffffffu};
  const bool special = rng() % 3 == 0;
  if (lane == Lane::f32) return std::bit_cast<uint32_t>(special ? odd[rng() % std::size(odd)] : float(int32_t(rng())) * (rng() % 2 ? 0x1p-31f : 0x1p-27f));
  return special ? whole[rng() % std::size(whole)] : rng() % 2 ? rng() : rng() % 100 - 50;
}

// Lane bits of a double that the reference gave, rounded once.
uint32_t bits_of(Lane lane, double v) {
  if (lane == Lane::f32) return std::bit_cast<uint32_t>(float(v));
  return uint32_t(int64_t(v));
}

// What two lanes may differ by: bits of a NaN, and the last bit of a function that is computed in two ways.
bool alike(Lane lane, uint32_t a, uint32_t b) {
  if (a == b) return true;
  if (lane != Lane::f32) return false;
  const float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return x != 0 && std::signbit(x) == std::signbit(y) && (a > b ? a - b : b - a) <= 1;
}

TEST(PlainScalar, EveryOpAgreesWithTheReferenceDevice) {
  std::mt19937 rng(1);
  for (int k = 0; k < scalar_op_count; ++k) {
    Instr c;
    c.kind = Instr::Kind::op;
    c.op = ScalarOp(k);
    const ScalarOpInfo& op = info(c.op);
    for (const char* l = op.lanes; *l; ++l) {
      c.arg_lane = lane_of(*l);
      c.lane = result_lane(c.op, c.arg_lane);
      int wrong = 0;
      for (int round = 0; round < 3000 && wrong < 3; ++round) {
        uint32_t x[5] = {};
        double y[5] = {};
        for (int a = 0; a < op.arity; ++a) {
          const bool condition = c.op == ScalarOp::select && a == 0;
          const Lane lane = condition ? Lane::u32 : c.arg_lane;
          x[a] = condition ? rng() % 2 : some_lane(lane, rng);
          y[a] = host::from_bits(lane, x[a]);
        }
        const uint32_t plain = cpu::plain_apply(c, x), want = bits_of(c.lane, host::apply(c, y));
        if (alike(c.lane, plain, want)) continue;
        ++wrong;
        ADD_FAILURE() << op.name << " " << *l << " of " << y[0] << ", " << y[1] << ", " << y[2] << ": " << host::from_bits(c.lane, plain)
                      << ", the reference has " << host::from_bits(c.lane, want);
      }
    }
  }
}

TEST(PlainScalar, LoadsAndStoresRoundTrip) {
  for (DType t : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u32, DType::bool_}) {
    std::byte memory[3 * 4] = {};
    const uint32_t one = is_float(t) ? std::bit_cast<uint32_t>(1.0f) : 1u;
    cpu::plain_store(t, memory, 1, one);
    EXPECT_EQ(cpu::plain_load(t, memory, 0), 0u) << to_string(t);
    EXPECT_EQ(cpu::plain_load(t, memory, 1), one) << to_string(t);
    EXPECT_EQ(cpu::plain_load(t, memory, 2), 0u) << to_string(t);
  }
}

}  // namespace
}  // namespace tenon
