// The plain scalar ops of the cpu against the reference device's, for every op of scalar.def and every lane that it takes:
// an op that one of the two does not know fails here.
#include "kernels/scalar/plain.cpu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/cat.h"
#include "kernels/scalar/apply.host.h"

namespace tenon {
namespace {

Lane lane_of(char c) {
  switch (c) {
    case 'f': return Lane::f32;
    case 'i': return Lane::i32;
    case 'u': return Lane::u32;
    case 'd': return Lane::f64;
    default: return Lane::i64;
  }
}

uint64_t word64(std::mt19937& rng) {
  const uint64_t high = rng();
  return high << 32 | rng();
}

uint64_t some_lane(Lane lane, std::mt19937& rng) {
  static const double odd[] = {0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 1e-45, 3.4e38, -3.4e38, 65504.0, 65520.0, 5.97e-8, 88.0, -103.0,
                               2147483648.0, 4294967296.0, 0.99999994, HUGE_VAL, -HUGE_VAL, std::nan("")};
  static const double odd_wide[] = {5e-324, -1e-310, 1.7e308, -1.7e308, 9007199254740992.0, 0x1p63, -0x1p63, 0x1p64, 709.0, -745.0};
  static const uint64_t whole[] = {0, 1, 2, 31, 32, 33, 0x7fffffffu, 0x80000000u, 0xffffffffu};
  static const uint64_t whole_wide[] = {63, 64, 65, INT64_MAX, uint64_t(INT64_MIN), ~uint64_t(0), 0x100000000u, 9007199254740993u};
  const bool special = rng() % 3 == 0;
  switch (lane) {
    case Lane::f32: return std::bit_cast<uint32_t>(special ? float(odd[rng() % std::size(odd)]) : float(int32_t(rng())) * (rng() % 2 ? 0x1p-31f : 0x1p-27f));
    case Lane::f64:
      if (special) return std::bit_cast<uint64_t>(rng() % 2 ? odd[rng() % std::size(odd)] : odd_wide[rng() % std::size(odd_wide)]);
      return std::bit_cast<uint64_t>(double(int64_t(word64(rng))) * (rng() % 2 ? 0x1p-63 : 0x1p-59));
    case Lane::i64:
      if (special) return rng() % 2 ? whole[rng() % std::size(whole)] : whole_wide[rng() % std::size(whole_wide)];
      return rng() % 2 ? word64(rng) : uint64_t(int64_t(rng() % 100) - 50);
    default: return special ? uint32_t(whole[rng() % std::size(whole)]) : rng() % 2 ? uint32_t(rng()) : uint32_t(rng() % 100 - 50);
  }
}

// Lane bits of what the reference gave, rounded once.
uint64_t bits_of(Lane lane, host::Value v) {
  if (lane == Lane::f32) return std::bit_cast<uint32_t>(float(v.real()));
  if (lane == Lane::f64) return std::bit_cast<uint64_t>(v.real());
  return lane == Lane::i64 ? uint64_t(v.whole()) : uint32_t(v.whole());
}

// What two lanes may differ by: bits of a NaN, and the last bits of a function that is computed in two ways (lgamma near
// its zeros: in absolute terms).
bool alike(ScalarOp op, Lane lane, uint64_t a, uint64_t b) {
  if (a == b) return true;
  if (!is_float(lane)) return false;
  const auto real = [lane](uint64_t x) { return lane == Lane::f32 ? double(std::bit_cast<float>(uint32_t(x))) : std::bit_cast<double>(x); };
  const double x = real(a), y = real(b);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (lane == Lane::f64 && op == ScalarOp::lgamma && std::fabs(x - y) < 1e-14) return true;
  return x != 0 && std::signbit(x) == std::signbit(y) && (a > b ? a - b : b - a) <= (lane == Lane::f32 ? 1u : 4u);
}

std::string text(Lane lane, uint64_t bits) {
  const host::Value v = host::from_bits(lane, bits);
  return is_float(lane) ? cat(v.real()) : cat(v.whole());
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
        uint64_t x[5] = {};
        host::Value y[5] = {};
        for (int a = 0; a < op.arity; ++a) {
          const bool condition = c.op == ScalarOp::select && a == 0;
          const Lane lane = condition ? Lane::u32 : c.arg_lane;
          x[a] = condition ? rng() % 2 : some_lane(lane, rng);
          y[a] = host::from_bits(lane, x[a]);
        }
        const uint64_t plain = cpu::plain_apply(c, x), want = bits_of(c.lane, host::apply(c, y));
        if (alike(c.op, c.lane, plain, want)) continue;
        ++wrong;
        ADD_FAILURE() << op.name << " " << *l << " of " << text(c.arg_lane, x[0]) << ", " << text(c.arg_lane, x[1]) << ", "
                      << text(c.arg_lane, x[2]) << ": " << text(c.lane, plain) << ", the reference has " << text(c.lane, want);
      }
    }
  }
}

TEST(PlainScalar, LoadsAndStoresRoundTrip) {
  for (DType t : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::u32, DType::u8, DType::i8, DType::i64, DType::bool_}) {
    std::byte memory[3 * 8] = {};
    const uint64_t one = t == DType::f64 ? std::bit_cast<uint64_t>(1.0) : is_float(t) ? std::bit_cast<uint32_t>(1.0f) : 1u;
    cpu::plain_store(t, memory, 1, one);
    EXPECT_EQ(cpu::plain_load(t, memory, 0), 0u) << to_string(t);
    EXPECT_EQ(cpu::plain_load(t, memory, 1), one) << to_string(t);
    EXPECT_EQ(cpu::plain_load(t, memory, 2), 0u) << to_string(t);
  }
}

}  // namespace
}  // namespace tenon
