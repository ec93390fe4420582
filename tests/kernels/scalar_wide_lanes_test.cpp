// Scalar ops and reductions on f64 and i64 lanes, for every instruction set: against the plain kernels' ops, which
// compute functions in long double, and with the same bits on each instruction set.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string_view>
#include <vector>

#include "kernels/scalar/loop_table.cpu.h"
#include "kernels/scalar/plain.cpu.h"

namespace tenon::cpu {
namespace {

using Lanes = std::vector<uint32_t>;
constexpr uint32_t poison = 0xabababab;

std::vector<Isa> all_isas() {
  std::vector<Isa> found;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512})
    if (loop_table(isa)) found.push_back(isa);
  return found;
}
int words(Lane lane) { return is_wide(lane) ? 2 : 1; }
uint64_t get(const Lanes& v, Lane lane, int64_t i) {
  return is_wide(lane) ? uint64_t(v[size_t(2 * i + 1)]) << 32 | v[size_t(2 * i)] : v[size_t(i)];
}
void set(Lanes& v, Lane lane, int64_t i, uint64_t bits) {
  if (!is_wide(lane)) return void(v[size_t(i)] = uint32_t(bits));
  v[size_t(2 * i)] = uint32_t(bits);
  v[size_t(2 * i + 1)] = uint32_t(bits >> 32);
}

uint64_t some(Lane lane, std::mt19937_64& rng) {
  static const double odd[] = {0.0, -0.0, 0.5, -0.5, 1.5, 2.5, 1, -1, 3, 5e-324, -1e-310, 2.3e-308, 1.7e308, -1.7e308, 0x1p52, 0x1p52 + 1,
                               0x1p53 - 1, 0x1p63, -0x1p63, 0x1p64, 2147483647.5, 4294967295.5, -2147483649.0, 1e-9, HUGE_VAL, -HUGE_VAL, std::nan("")};
  static const uint64_t whole[] = {0, 1, 2, 31, 32, 63, 64, 65, INT64_MAX, uint64_t(INT64_MIN), ~uint64_t(0), 0x80000000u, 0xffffffffu,
                                   0x100000000u, 9007199254740993u};
  const bool special = rng() % 2;
  switch (lane) {
    case Lane::f64: return std::bit_cast<uint64_t>(special ? odd[rng() % std::size(odd)] : double(int64_t(rng())) * (rng() % 2 ? 0x1p-63 : 0x1p-59));
    case Lane::f32: return std::bit_cast<uint32_t>(float(special ? odd[rng() % std::size(odd)] : double(int64_t(rng())) * 0x1p-60));
    case Lane::i64: return special ? whole[rng() % std::size(whole)] : rng() % 2 ? rng() : uint64_t(int64_t(rng() % 100) - 50);
    default: return special ? uint32_t(whole[rng() % std::size(whole)]) : uint32_t(rng());
  }
}

// Pairs of an op and the lane of its arguments, where either that or the result is wide.
struct OpOnLane {
  ScalarOp op;
  Lane lane, result;
};
std::vector<OpOnLane> all_wide() {
  std::vector<OpOnLane> all;
  for (int k = 0; k < scalar_op_count; ++k)
    for (const char c : std::string_view(info(ScalarOp(k)).lanes)) {
      const Lane lane = Lane(std::string_view("fiudl").find(c)), result = result_lane(ScalarOp(k), lane);
      if (is_wide(lane) || is_wide(result)) all.push_back({ScalarOp(k), lane, result});
    }
  return all;
}

struct Arguments {
  std::vector<Lanes> values;
  std::vector<Lane> lanes;
  std::vector<const uint32_t*> pointers;
  Arguments(const OpOnLane& o, int64_t n) {
    std::mt19937_64 rng(uint64_t(o.op) * 8 + uint64_t(o.lane));
    for (int k = 0; k < info(o.op).arity; ++k) {
      const bool condition = o.op == ScalarOp::select && k == 0;
      lanes.push_back(condition ? Lane::u32 : o.lane);
      values.emplace_back(size_t(n * words(lanes.back())));
      for (int64_t i = 0; i < n; ++i) set(values.back(), lanes.back(), i, condition ? rng() % 2 : some(o.lane, rng));
    }
    for (const Lanes& v : values) pointers.push_back(v.data());
  }
};

// Those that are not rounded correctly.
bool is_function(ScalarOp op) {
  for (const ScalarOp f : {ScalarOp::exp, ScalarOp::log, ScalarOp::tanh, ScalarOp::erf, ScalarOp::exp2, ScalarOp::expm1, ScalarOp::log1p,
                           ScalarOp::log2, ScalarOp::log10, ScalarOp::pow, ScalarOp::sin, ScalarOp::cos, ScalarOp::tan, ScalarOp::atan2,
                           ScalarOp::erfinv, ScalarOp::lgamma, ScalarOp::floor_div, ScalarOp::rem})
    if (op == f) return true;
  return false;
}

bool near(const OpOnLane& o, uint64_t got, uint64_t want) {
  if (got == want) return true;
  if (!is_float(o.result)) return false;
  const auto real = [&](uint64_t x) { return o.result == Lane::f32 ? double(std::bit_cast<float>(uint32_t(x))) : std::bit_cast<double>(x); };
  const double x = real(got), y = real(want);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (o.op == ScalarOp::lgamma && std::fabs(x - y) < 1e-14) return true;
  return is_function(o.op) && o.lane == Lane::f64 && std::signbit(x) == std::signbit(y) && (got > want ? got - want : want - got) <= 4;
}

TEST(WideLanes, EveryOpAgreesWithThePlainOps) {
  for (const Isa isa : all_isas())
    for (const OpOnLane& o : all_wide())
      for (const int64_t n : {0, 1, 7, 1000}) {
        const Arguments args(o, n);
        Lanes out(size_t(n * words(o.result) + 16), poison);
        loop_table(isa)->scalar(o.op, o.lane)(out.data(), args.pointers.data(), n);
        Instr c;
        c.kind = Instr::Kind::op;
        c.op = o.op;
        c.arg_lane = o.lane;
        c.lane = o.result;
        for (int64_t i = 0; i < n; ++i) {
          uint64_t x[5] = {};
          for (size_t k = 0; k < args.values.size(); ++k) x[k] = get(args.values[k], args.lanes[k], i);
          ASSERT_TRUE(near(o, get(out, o.result, i), plain_apply(c, x)))
              << to_string(isa) << " " << info(o.op).name << " lane " << int(o.lane) << std::hex << " of " << x[0] << ", " << x[1] << ": "
              << get(out, o.result, i) << ", plain " << plain_apply(c, x);
        }
        for (size_t i = size_t(n * words(o.result)); i < out.size(); ++i) ASSERT_EQ(out[i], poison) << "written past the end";
      }
}

TEST(WideLanes, EveryInstructionSetGivesTheSameBits) {
  const int64_t n = 5003;
  for (const OpOnLane& o : all_wide()) {
    const Arguments args(o, n);
    Lanes first(size_t(n * words(o.result))), other = first;
    loop_table(Isa::baseline)->scalar(o.op, o.lane)(first.data(), args.pointers.data(), n);
    for (const Isa isa : all_isas()) {
      loop_table(isa)->scalar(o.op, o.lane)(other.data(), args.pointers.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        const uint64_t a = get(first, o.result, i), b = get(other, o.result, i);
        const bool nans = o.result == Lane::f64 && std::isnan(std::bit_cast<double>(a)) && std::isnan(std::bit_cast<double>(b));
        ASSERT_TRUE(a == b || nans) << info(o.op).name << " " << to_string(isa) << " lane " << int(o.lane) << " " << i;
      }
    }
  }
}

TEST(WideLanes, OutputMayBeAnArgumentOfTheSameWidth) {
  const int64_t n = 1000;
  for (const Isa isa : all_isas())
    for (const OpOnLane& o : all_wide()) {
      const ScalarLoop loop = loop_table(isa)->scalar(o.op, o.lane);
      const Arguments args(o, n);
      Lanes apart(size_t(n * words(o.result)));
      loop(apart.data(), args.pointers.data(), n);
      for (size_t k = 0; k < args.values.size(); ++k) {
        if (words(args.lanes[k]) != words(o.result)) continue;
        Lanes shared = args.values[k];
        std::vector<const uint32_t*> pointers = args.pointers;
        pointers[k] = shared.data();
        loop(shared.data(), pointers.data(), n);
        ASSERT_EQ(shared, apart) << to_string(isa) << " " << info(o.op).name << " argument " << k;
      }
    }
}

uint64_t reduced(const LoopTable& table, ReduceOp op, Lane lane, const Lanes& x) {
  Reduction r;
  table.begin(op, lane, r);
  const int64_t n = int64_t(x.size()) / 2;
  for (int64_t at = 0; at < n; at += 1024) table.reduce(op, lane, r, x.data() + 2 * at, std::min<int64_t>(1024, n - at), at);
  return table.end(op, lane, r);
}
Lanes row_of(const std::vector<double>& v) {
  Lanes x(v.size() * 2);
  for (size_t i = 0; i < v.size(); ++i) set(x, Lane::f64, int64_t(i), std::bit_cast<uint64_t>(v[i]));
  return x;
}
Lanes row_of(const std::vector<int64_t>& v) {
  Lanes x(v.size() * 2);
  for (size_t i = 0; i < v.size(); ++i) set(x, Lane::i64, int64_t(i), uint64_t(v[i]));
  return x;
}

TEST(WideLanes, ReductionsOfAnyLength) {
  std::mt19937_64 rng(3);
  for (const Isa isa : all_isas())
    for (const size_t n : {0, 1, 2, 15, 16, 17, 1000, 1024, 1025, 5000}) {
      const LoopTable& table = *loop_table(isa);
      std::vector<double> reals;
      std::vector<int64_t> wholes;
      long double sum = 0, product = 1;
      uint64_t whole_sum = 0, whole_product = 1;
      for (size_t i = 0; i < n; ++i) {
        reals.push_back(1 + double(int64_t(rng())) * 0x1p-73);
        wholes.push_back(int64_t(rng() | 1));
        sum += reals.back(), product *= reals.back();
        whole_sum += uint64_t(wholes.back()), whole_product *= uint64_t(wholes.back());
      }
      const auto real = [&](ReduceOp op) { return std::bit_cast<double>(reduced(table, op, Lane::f64, row_of(reals))); };
      EXPECT_NEAR(real(ReduceOp::sum), double(sum), double(n) * 1e-15) << n;
      EXPECT_NEAR(real(ReduceOp::prod), double(product), double(product) * 1e-12) << n;
      EXPECT_EQ(reduced(table, ReduceOp::sum, Lane::i64, row_of(wholes)), whole_sum) << n;
      EXPECT_EQ(reduced(table, ReduceOp::prod, Lane::i64, row_of(wholes)), whole_product) << n;
      EXPECT_EQ(real(ReduceOp::max), n ? *std::max_element(reals.begin(), reals.end()) : -HUGE_VAL) << n;
      EXPECT_EQ(int64_t(reduced(table, ReduceOp::max, Lane::i64, row_of(wholes))), n ? *std::max_element(wholes.begin(), wholes.end()) : INT64_MIN) << n;
      const auto place = [](const auto& v) { return uint64_t(std::max_element(v.begin(), v.end()) - v.begin()); };
      EXPECT_EQ(reduced(table, ReduceOp::argmax, Lane::f64, row_of(reals)), place(reals)) << n;
      EXPECT_EQ(reduced(table, ReduceOp::argmax, Lane::i64, row_of(wholes)), place(wholes)) << n;
      for (int64_t& w : wholes) w %= 3;  // many ties: the first wins
      EXPECT_EQ(reduced(table, ReduceOp::argmax, Lane::i64, row_of(wholes)), place(wholes)) << n;
    }
}

TEST(WideLanes, MaximaOfNanAndZeros) {
  for (const Isa isa : all_isas()) {
    const LoopTable& table = *loop_table(isa);
    std::vector<double> v(40, -1.0);
    v[20] = std::nan(""), v[33] = HUGE_VAL;
    EXPECT_TRUE(std::isnan(std::bit_cast<double>(reduced(table, ReduceOp::max, Lane::f64, row_of(v)))));
    EXPECT_EQ(reduced(table, ReduceOp::argmax, Lane::f64, row_of(v)), 20u);
    const std::vector<double> zeros{-1.0, -0.0, 0.0};
    EXPECT_EQ(reduced(table, ReduceOp::max, Lane::f64, row_of(zeros)), 0u);
    EXPECT_EQ(reduced(table, ReduceOp::argmax, Lane::f64, row_of(zeros)), 1u);
    const std::vector<double> nothing(17, -HUGE_VAL);
    EXPECT_EQ(reduced(table, ReduceOp::argmax, Lane::f64, row_of(nothing)), 0u);
  }
}

}  // namespace
}  // namespace tenon::cpu
