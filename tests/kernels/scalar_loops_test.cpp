// Every scalar op on every lane of 4 bytes (wide ones: scalar_wide_lanes_test.cpp) against a plain reference in double or 64-bit integers, for every instruction set
// that this processor has.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "core/half.h"
#include "kernels/scalar/loop_table.cpu.h"
#include "support/special.h"

namespace tenon::cpu {
namespace {

constexpr uint32_t poison = 0xffffffffu;
constexpr int64_t sizes[] = {0, 1, 7, 16, 17, 1000, 1024};

std::vector<Isa> all_isas() {
  std::vector<Isa> found;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512})
    if (loop_table(isa)) found.push_back(isa);
  return found;
}
std::vector<Lane> lanes_of(ScalarOp op) {
  std::vector<Lane> lanes;
  for (const char c : std::string_view(info(op).lanes)) {
    if (c == 'd' || c == 'l') continue;
    const Lane lane = c == 'f' ? Lane::f32 : c == 'i' ? Lane::i32 : Lane::u32;
    if (!is_wide(result_lane(op, lane))) lanes.push_back(lane);
  }
  return lanes;
}
std::vector<ScalarOp> all_ops() {
  std::vector<ScalarOp> ops;
  for (int i = 0; i < scalar_op_count; ++i) ops.push_back(ScalarOp(i));
  return ops;
}

float f32(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
bool is_nan(uint32_t x) { return (x & 0x7fffffffu) > 0x7f800000u; }

// ----------------------------------------------------------------------------------------------------- reference

uint32_t saturated(double x, double low, double high) {
  if (x != x) return 0;
  return uint32_t(int64_t(std::fmin(std::fmax(x, low), high)));
}
double extreme(double a, double b, bool largest) {
  if (a != a || b != b) return NAN;
  if (a == b) return std::signbit(a) == largest ? b : a;
  return (a > b) == largest ? a : b;
}
// Exact, or what one correct rounding gives (double holds the sums, products, quotients and roots of f32 closely enough
// that rounding twice is harmless), or in double for the functions with a documented error.
double float_reference(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::neg: return -a;
    case ScalarOp::abs: return std::fabs(a);
    case ScalarOp::add: return a + b;
    case ScalarOp::sub: return a - b;
    case ScalarOp::mul: return a * b;
    case ScalarOp::div: return a / b;
    case ScalarOp::min: return extreme(a, b, false);
    case ScalarOp::max: return extreme(a, b, true);
    case ScalarOp::exp: return std::exp(a);
    case ScalarOp::log: return std::log(a);
    case ScalarOp::sqrt: return std::sqrt(a);
    case ScalarOp::rsqrt: return 1.0 / double(float(std::sqrt(a)));
    case ScalarOp::tanh: return std::tanh(a);
    case ScalarOp::erf: return std::erf(a);
    case ScalarOp::floor: return std::floor(a);
    case ScalarOp::ceil: return std::ceil(a);
    case ScalarOp::trunc: return std::trunc(a);
    case ScalarOp::round: return std::nearbyint(a);
    case ScalarOp::floor_div: return std::floor(a / b);
    case ScalarOp::rem: return special::floored_remainder(a, b);
    case ScalarOp::exp2: return std::exp2(a);
    case ScalarOp::expm1: return std::expm1(a);
    case ScalarOp::log1p: return std::log1p(a);
    case ScalarOp::log2: return std::log2(a);
    case ScalarOp::log10: return std::log10(a);
    case ScalarOp::pow: return std::pow(a, b);
    case ScalarOp::sin: return std::sin(a);
    case ScalarOp::cos: return std::cos(a);
    case ScalarOp::tan: return std::tan(a);
    case ScalarOp::atan2: return std::atan2(a, b);
    case ScalarOp::erfinv: return special::inverse_erf(a);
    case ScalarOp::lgamma: return std::lgamma(a);
    case ScalarOp::round_f16: return double(f32_from_f16(f16_from_f32(float(a))));
    case ScalarOp::round_bf16: return double(f32_from_bf16(bf16_from_f32(float(a))));
    default: ADD_FAILURE() << info(op).name; return 0;
  }
}
uint32_t comparison(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::eq: return a == b;
    case ScalarOp::ne: return !(a == b);
    case ScalarOp::lt: return a < b;
    default: return a <= b;
  }
}
uint32_t integer_reference(ScalarOp op, bool is_signed, uint32_t x, uint32_t y) {
  const int64_t a = is_signed ? int64_t(int32_t(x)) : int64_t(x), b = is_signed ? int64_t(int32_t(y)) : int64_t(y);
  const bool out = b < 0 || b >= 32;
  switch (op) {
    case ScalarOp::neg: return uint32_t(-a);
    case ScalarOp::abs: return uint32_t(a < 0 ? -a : a);
    case ScalarOp::add: return uint32_t(a + b);
    case ScalarOp::sub: return uint32_t(a - b);
    case ScalarOp::mul: return uint32_t(uint64_t(a) * uint64_t(b));
    case ScalarOp::floor_div: return b == 0 ? 0 : uint32_t(a / b - (a % b != 0 && (a < 0) != (b < 0)));
    case ScalarOp::rem: return b == 0 ? 0 : uint32_t((a % b + b) % b);
    case ScalarOp::min: return uint32_t(a < b ? a : b);
    case ScalarOp::max: return uint32_t(a < b ? b : a);
    case ScalarOp::bit_and: return x & y;
    case ScalarOp::bit_or: return x | y;
    case ScalarOp::bit_xor: return x ^ y;
    case ScalarOp::shift_left: return out ? 0 : uint32_t(uint64_t(x) << b);
    case ScalarOp::wrap_u8: return x % 256;
    case ScalarOp::wrap_i8: return x % 256 < 128 ? x % 256 : x % 256 - 256;
    case ScalarOp::shift_right: return out ? uint32_t(a < 0 ? -1 : 0) : uint32_t(a >> b);
    default: ADD_FAILURE() << info(op).name; return 0;
  }
}

struct Philox {
  uint32_t word[4];
};
Philox philox4x32_10(Philox c, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = 0xD2511F53ull * c.word[0], b = 0xCD9E8D57ull * c.word[2];
    c = {{uint32_t(b >> 32) ^ c.word[1] ^ k0, uint32_t(b), uint32_t(a >> 32) ^ c.word[3] ^ k1, uint32_t(a)}};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}
uint32_t philox_reference(const uint32_t* a) {
  const uint64_t index = uint64_t(a[1]) << 32 | a[0];
  const Philox counter = {{uint32_t(index / 4), uint32_t(index / 4 >> 32), a[4], 0}};
  return philox4x32_10(counter, a[2], a[3]).word[index % 4];
}

uint32_t reference(ScalarOp op, Lane lane, const uint32_t* a) {
  const double x = lane == Lane::f32 ? double(f32(a[0])) : lane == Lane::i32 ? double(int32_t(a[0])) : double(a[0]);
  const double y = lane == Lane::f32 ? double(f32(a[1])) : lane == Lane::i32 ? double(int32_t(a[1])) : double(a[1]);
  switch (op) {
    case ScalarOp::eq: case ScalarOp::ne: case ScalarOp::lt: case ScalarOp::le: return comparison(op, x, y);
    case ScalarOp::select: return a[0] ? a[1] : a[2];
    case ScalarOp::to_f32: return bits(float(x));
    case ScalarOp::to_i32: return lane == Lane::f32 ? saturated(x, -0x1p31, 0x1p31 - 1) : a[0];
    case ScalarOp::to_u32: return lane == Lane::f32 ? saturated(x, 0, 0x1p32 - 1) : a[0];
    case ScalarOp::to_bool: return !(x == 0);
    case ScalarOp::philox: return philox_reference(a);
    case ScalarOp::fma: return bits(std::fmaf(f32(a[0]), f32(a[1]), f32(a[2])));
    default: break;
  }
  if (lane == Lane::f32) return bits(float(float_reference(op, x, y)));
  return integer_reference(op, lane == Lane::i32, a[0], a[1]);
}
int64_t allowed_ulp(ScalarOp op) {
  switch (op) {
    case ScalarOp::exp: case ScalarOp::log: return 2;
    case ScalarOp::tanh: case ScalarOp::erf: return 4;
    case ScalarOp::exp2: case ScalarOp::expm1: case ScalarOp::log1p: case ScalarOp::log2: case ScalarOp::log10:
    case ScalarOp::pow: case ScalarOp::sin: case ScalarOp::cos: case ScalarOp::tan: case ScalarOp::atan2:
    case ScalarOp::erfinv: case ScalarOp::lgamma: return 1;
    default: return 0;
  }
}

// Distance along the floats; both zeros are distinct neighbours, so 0 means equal bits.
int64_t distance(uint32_t a, uint32_t b) {
  const auto place = [](uint32_t x) { return x >> 31 ? -1 - int64_t(x & 0x7fffffffu) : int64_t(x); };
  return std::abs(place(a) - place(b));
}
testing::AssertionResult close(ScalarOp op, Lane lane, uint32_t got, uint32_t want) {
  if (result_lane(op, lane) == Lane::f32) {
    if (is_nan(want) && is_nan(got)) return testing::AssertionSuccess();
    if (!is_nan(want) && !is_nan(got) && distance(got, want) <= allowed_ulp(op)) return testing::AssertionSuccess();
  } else if (got == want) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << info(op).name << ": got " << std::hex << got << ", want " << want;
}

// -------------------------------------------------------------------------------------------------------- inputs

const std::vector<uint32_t> special_values = {
    0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff,
    0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff, 0xffffffff, 31,
    32,         33,         0x4f000000, 0x4effffff, 0xcf000000, 0xcf000001, 0x4f800000, 0x4f7fffff, 0x42b17218,
    0x42b17217, 0xc2cff1b5, 0xc2aeac50, 0x477fefff, 0x477ff000, 0x33000000, 0x33000001, 0x387fffff, 0x3f808000};

// Specials in all pairs first, then moderate numbers and random bits. Argument `which` of an op.
std::vector<uint32_t> input(int which, int64_t n, Lane lane) {
  std::mt19937 random(uint32_t(which) * 77 + 5);
  std::vector<uint32_t> v(size_t(n), 0);
  const int64_t count = int64_t(special_values.size());
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t r = uint32_t(random());
    if (i % 3 == 0) v[size_t(i)] = special_values[size_t(which ? i / 3 / count % count : i / 3 % count)];
    else if (i % 3 == 1 && lane == Lane::f32) v[size_t(i)] = bits(float(int32_t(r)) * 0x1p-28f);
    else v[size_t(i)] = r;
  }
  return v;
}
struct Arguments {
  std::vector<std::vector<uint32_t>> values;
  std::vector<const uint32_t*> pointers;
  Arguments(ScalarOp op, Lane lane, int64_t n) {
    for (int k = 0; k < info(op).arity; ++k) values.push_back(input(k, n, lane));
    if (op == ScalarOp::select)
      for (uint32_t& c : values[0]) c &= 1;
    for (const auto& v : values) pointers.push_back(v.data());
  }
  uint32_t expected(ScalarOp op, Lane lane, int64_t i) const {
    uint32_t a[5] = {};
    for (size_t k = 0; k < values.size(); ++k) a[k] = values[k][size_t(i)];
    return reference(op, lane, a);
  }
};

// --------------------------------------------------------------------------------------------------------- tests

TEST(ScalarLoops, EveryOpAgreesWithTheReference) {
  for (const Isa isa : all_isas())
    for (const ScalarOp op : all_ops())
      for (const Lane lane : lanes_of(op))
        for (const int64_t n : sizes) {
          SCOPED_TRACE(testing::Message() << to_string(isa) << " n " << n << " lane " << int(lane));
          const Arguments args(op, lane, n);
          std::vector<uint32_t> out(size_t(n) + 16, poison);
          loop_table(isa)->scalar(op, lane)(out.data(), args.pointers.data(), n);
          for (int64_t i = 0; i < n; ++i) ASSERT_TRUE(close(op, lane, out[size_t(i)], args.expected(op, lane, i))) << i;
          for (int64_t i = n; i < n + 16; ++i) ASSERT_EQ(out[size_t(i)], poison) << "written past the end";
        }
}

TEST(ScalarLoops, EveryPairOfSpecialValues) {
  const int64_t count = int64_t(special_values.size()), n = count * count;
  std::vector<uint32_t> a, b, out(size_t(n), poison);
  for (const uint32_t x : special_values)
    for (const uint32_t y : special_values) a.push_back(x), b.push_back(y);
  const uint32_t* pointers[] = {a.data(), b.data()};
  for (const Isa isa : all_isas())
    for (const ScalarOp op : all_ops()) {
      if (info(op).arity > 2) continue;
      for (const Lane lane : lanes_of(op)) {
        loop_table(isa)->scalar(op, lane)(out.data(), pointers, n);
        for (int64_t i = 0; i < n; ++i) {
          const uint32_t args[5] = {a[size_t(i)], b[size_t(i)]};
          ASSERT_TRUE(close(op, lane, out[size_t(i)], reference(op, lane, args)))
              << to_string(isa) << " lane " << int(lane) << std::hex << " of " << args[0] << ", " << args[1];
        }
      }
    }
}

TEST(ScalarLoops, OutputMayBeAnArgument) {
  for (const Isa isa : all_isas())
    for (const ScalarOp op : all_ops())
      for (const Lane lane : lanes_of(op))
        for (const int64_t n : {7, 1000}) {
          const ScalarLoop loop = loop_table(isa)->scalar(op, lane);
          Arguments args(op, lane, n);
          std::vector<uint32_t> apart(static_cast<size_t>(n), poison);
          loop(apart.data(), args.pointers.data(), n);
          for (size_t k = 0; k < args.values.size(); ++k) {
            std::vector<uint32_t> shared = args.values[k];
            std::vector<const uint32_t*> pointers = args.pointers;
            pointers[k] = shared.data();
            loop(shared.data(), pointers.data(), n);
            ASSERT_EQ(shared, apart) << to_string(isa) << " " << info(op).name << " argument " << k << " lane "
                                     << int(lane);
          }
          std::vector<uint32_t> all = args.values[0];  // x + x into x
          const std::vector<const uint32_t*> same(args.values.size(), all.data());
          std::vector<uint32_t> want(static_cast<size_t>(n), poison);
          loop(want.data(), same.data(), n);
          loop(all.data(), same.data(), n);
          ASSERT_EQ(all, want) << to_string(isa) << " " << info(op).name;
        }
}

// Which of two NaNs a commutative instruction keeps is the compiler's choice of operand order.
bool open_nan(ScalarOp op, Lane lane, const Arguments& args, size_t i) {
  const bool commutes = op == ScalarOp::add || op == ScalarOp::mul;
  return commutes && lane == Lane::f32 && is_nan(args.values[0][i]) && is_nan(args.values[1][i]);
}

TEST(ScalarLoops, EveryInstructionSetGivesTheSameBits) {
  const int64_t n = 100003;
  for (const ScalarOp op : all_ops())
    for (const Lane lane : lanes_of(op)) {
      const Arguments args(op, lane, n);
      std::vector<uint32_t> first(static_cast<size_t>(n)), other(static_cast<size_t>(n));
      loop_table(Isa::baseline)->scalar(op, lane)(first.data(), args.pointers.data(), n);
      for (const Isa isa : all_isas()) {
        loop_table(isa)->scalar(op, lane)(other.data(), args.pointers.data(), n);
        for (size_t i = 0; i < size_t(n); ++i) {
          if (open_nan(op, lane, args, i)) continue;
          ASSERT_EQ(first[i], other[i]) << info(op).name << " " << to_string(isa) << " lane " << int(lane) << std::hex
                                        << " of " << args.values[0][i] << ", " << args.values.back()[i];
        }
      }
      // One at a time, as a loop's last elements are done.
      for (int64_t i = 0; i < 2000; ++i) {
        if (open_nan(op, lane, args, size_t(i))) continue;
        std::vector<const uint32_t*> at;
        for (const uint32_t* p : args.pointers) at.push_back(p + i);
        uint32_t one = 0;
        scalar_loop(op, lane)(&one, at.data(), 1);
        ASSERT_EQ(one, first[size_t(i)]) << info(op).name << " alone, lane " << int(lane) << " " << i;
      }
    }
}

TEST(ScalarLoops, NullForLanesThatTheOpDoesNotTake) {
  const std::pair<Lane, char> letters[] = {{Lane::f32, 'f'}, {Lane::i32, 'i'}, {Lane::u32, 'u'}, {Lane::f64, 'd'}, {Lane::i64, 'l'}};
  for (const ScalarOp op : all_ops())
    for (const auto& [lane, letter] : letters) {
      const bool listed = std::string_view(info(op).lanes).find(letter) != std::string_view::npos;
      EXPECT_EQ(scalar_loop(op, lane) != nullptr, listed) << info(op).name << " lane " << int(lane);
    }
}

TEST(ScalarLoops, InfoAndResultLanes) {
  EXPECT_STREQ(info(ScalarOp::neg).name, "neg");
  EXPECT_STREQ(info(ScalarOp::philox).name, "philox");
  EXPECT_EQ(info(ScalarOp::select).arity, 3);
  EXPECT_EQ(result_lane(ScalarOp::add, Lane::i32), Lane::i32);
  EXPECT_EQ(result_lane(ScalarOp::lt, Lane::f32), Lane::u32);
  EXPECT_EQ(result_lane(ScalarOp::to_f32, Lane::i32), Lane::f32);
  EXPECT_EQ(result_lane(ScalarOp::to_i32, Lane::f32), Lane::i32);
  EXPECT_EQ(result_lane(ScalarOp::to_u32, Lane::i32), Lane::u32);
  EXPECT_EQ(result_lane(ScalarOp::select, Lane::f32), Lane::f32);
  EXPECT_STREQ(to_string(ReduceOp::argmax), "argmax");
}

// Hazard R1.
TEST(ScalarLoops, PhiloxKnownAnswers) {
  const Philox zero = philox4x32_10({}, 0, 0);
  const Philox ones = philox4x32_10({{poison, poison, poison, poison}}, poison, poison);
  const uint32_t known[2][4] = {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
                                {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}};
  EXPECT_EQ(std::memcmp(zero.word, known[0], 16), 0);
  EXPECT_EQ(std::memcmp(ones.word, known[1], 16), 0);
  const uint32_t low[] = {0, 1, 2, 3}, none[4] = {};
  const uint32_t* args[] = {low, none, none, none, none};
  for (const Isa isa : all_isas()) {
    uint32_t out[4];
    loop_table(isa)->scalar(ScalarOp::philox, Lane::u32)(out, args, 4);
    EXPECT_EQ(std::memcmp(out, known[0], 16), 0) << to_string(isa);
  }
}

}  // namespace
}  // namespace tenon::cpu
