// The dtypes f64, i64, u8 and i8 where hand-made values say more than the table of cases: promotion, every bit of 64-bit
// numbers, run-time scalars, indices of each integer dtype, and devices that lack 8-byte lanes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/cat.h"
#include "support/lowering.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr int64_t lowest = std::numeric_limits<int64_t>::min(), highest = std::numeric_limits<int64_t>::max();
constexpr int64_t beyond_f64 = 9007199254740993;  // 2^53 + 1

// On the host, and on the cpu in each mode of lowering.
void everywhere(const std::function<void(const Device&)>& check) {
  static const Device host = Device::open("host"), cpu = Device::open("cpu", 2);
  {
    SCOPED_TRACE("host");
    check(host);
  }
  for (modes::LowerMode mode : modes::lower_modes) {
    SCOPED_TRACE(cat("cpu ", modes::name_of(mode)));
    const modes::InLowerMode in(mode);
    check(cpu);
  }
}

template <class T>
Tensor of(std::initializer_list<T> v, const Device& d) {
  return Tensor::from<T>(v, {int64_t(v.size())}, d);
}
template <class T>
using V = std::vector<T>;

TEST(DTypes, SizesAndNames) {
  EXPECT_EQ(block_bytes(DType::u8), 1);
  EXPECT_EQ(block_bytes(DType::i8), 1);
  EXPECT_EQ(block_bytes(DType::f64), 8);
  EXPECT_EQ(block_bytes(DType::i64), 8);
  for (DType t : {DType::u8, DType::i8, DType::f64, DType::i64}) EXPECT_FALSE(is_quantised(t)) << to_string(t);
  EXPECT_STREQ(to_string(DType::i8), "i8");
  EXPECT_STREQ(to_string(DType::f64), "f64");
}

// The array API standard's table, without the types that are not here.
TEST(DTypes, PromoteToTheNarrowestThatHoldsBoth) {
  const Device cpu = Device::open("cpu");
  const struct {
    DType a, b, result;
  } table[] = {
      {DType::f32, DType::f64, DType::f64}, {DType::f16, DType::f64, DType::f64}, {DType::bf16, DType::f64, DType::f64},
      {DType::f16, DType::bf16, DType::f32}, {DType::i8, DType::i32, DType::i32}, {DType::i8, DType::i64, DType::i64},
      {DType::i32, DType::i64, DType::i64}, {DType::u8, DType::u32, DType::u32}, {DType::u8, DType::i32, DType::i32},
      {DType::u8, DType::i64, DType::i64}, {DType::u32, DType::i32, DType::i64}, {DType::u32, DType::i64, DType::i64},
      {DType::u32, DType::i8, DType::i64}, {DType::u8, DType::i8, DType::i32},
  };
  for (const auto& row : table)
    for (bool swapped : {false, true}) {
      const Tensor a = ones({2}, swapped ? row.b : row.a, cpu), b = ones({2}, swapped ? row.a : row.b, cpu);
      EXPECT_EQ((a + b).dtype(), row.result) << to_string(a.dtype()) << " + " << to_string(b.dtype());
      EXPECT_EQ(concat({a, b}).dtype(), row.result);
      EXPECT_EQ(less(a, b).dtype(), DType::bool_);
      EXPECT_EQ(matmul(a, b).dtype(), row.result);
    }
  EXPECT_THROW(ones({2}, DType::i64, cpu) + ones({2}, DType::f64, cpu), Error);
  EXPECT_THROW(ones({2}, DType::u8, cpu) + ones({2}, DType::bool_, cpu), Error);
  everywhere([](const Device& d) {
    EXPECT_EQ((of<uint32_t>({4294967295u, 0}, d) - of<int32_t>({-1, 1}, d)).to_vector<int64_t>(), (V<int64_t>{4294967296, -1}));
    EXPECT_EQ((of<uint8_t>({255, 0}, d) + of<int8_t>({-128, -128}, d)).to_vector<int32_t>(), (V<int32_t>{127, -128}));
    EXPECT_EQ(less(of<uint32_t>({4294967295u, 0}, d), of<int32_t>({-1, 1}, d)).to_vector<uint8_t>(), (V<uint8_t>{0, 1}));
  });
}

TEST(DTypes, NarrowIntegersWrapAfterEveryOp) {
  everywhere([](const Device& d) {
    const Tensor u = of<uint8_t>({255, 128, 1, 0}, d), i = of<int8_t>({127, -128, -1, 0}, d);
    EXPECT_EQ((u + u).to_vector<uint8_t>(), (V<uint8_t>{254, 0, 2, 0}));
    EXPECT_EQ((i + i).to_vector<int8_t>(), (V<int8_t>{-2, 0, -2, 0}));
    EXPECT_EQ((-i).to_vector<int8_t>(), (V<int8_t>{-127, -128, 1, 0}));
    EXPECT_EQ(abs(i).to_vector<int8_t>(), (V<int8_t>{127, -128, 1, 0}));
    EXPECT_EQ((u * u).to_vector<uint8_t>(), (V<uint8_t>{1, 0, 1, 0}));
    // Wrapped in the middle: what follows sees a value of the dtype, fused or not.
    EXPECT_EQ(less(u + u, u).to_vector<uint8_t>(), (V<uint8_t>{1, 1, 0, 0}));
    EXPECT_EQ(bitwise_right_shift(i + i, of<int8_t>({1, 1, 8, 1}, d)).to_vector<int8_t>(), (V<int8_t>{-1, 0, -1, 0}));
    EXPECT_EQ(floor_divide(i, of<int8_t>({2, -1, 2, 0}, d)).to_vector<int8_t>(), (V<int8_t>{63, -128, -1, 0}));
    EXPECT_EQ(bitwise_left_shift(u, of<uint8_t>({7, 1, 8, 255}, d)).to_vector<uint8_t>(), (V<uint8_t>{128, 0, 0, 0}));
    EXPECT_EQ(bitwise_invert(u).to_vector<uint8_t>(), (V<uint8_t>{0, 127, 254, 255}));
    EXPECT_EQ(bitwise_invert(i).to_vector<int8_t>(), (V<int8_t>{-128, 127, 0, -1}));
    EXPECT_EQ(min(u).item<uint8_t>(), 0);
    EXPECT_EQ(min(i).item<int8_t>(), -128);
    EXPECT_EQ(argmin(i).item<int32_t>(), 1);
  });
}

TEST(DTypes, SumsOfNarrowIntegersAreWide) {
  everywhere([](const Device& d) {
    const Tensor u = full({3000}, 255, DType::u8, d), i = full({3000}, -128, DType::i8, d);
    EXPECT_EQ(sum(u).item<uint32_t>(), 765000u);
    EXPECT_EQ(sum(i).item<int32_t>(), -384000);
    EXPECT_EQ(prod(of<uint8_t>({200, 200, 3}, d)).item<uint32_t>(), 120000u);
    EXPECT_EQ(sum(of<int64_t>({highest, 1}, d)).item<int64_t>(), lowest);
    EXPECT_EQ(sum(of<int64_t>({beyond_f64, beyond_f64}, d)).item<int64_t>(), 2 * beyond_f64);
    EXPECT_EQ(prod(of<int64_t>({beyond_f64, 3}, d)).item<int64_t>(), 3 * beyond_f64);
    EXPECT_EQ(max(of<int64_t>({beyond_f64 - 1, beyond_f64, lowest}, d)).item<int64_t>(), beyond_f64);
    EXPECT_EQ(min(of<int64_t>({lowest + 1, lowest, highest}, d)).item<int64_t>(), lowest);
    EXPECT_EQ(argmax(of<int64_t>({beyond_f64 - 1, beyond_f64}, d)).item<int32_t>(), 1);
  });
}

TEST(DTypes, I64KeepsEveryBit) {
  everywhere([](const Device& d) {
    const Tensor x = of<int64_t>({lowest, highest, -1, beyond_f64}, d);
    EXPECT_EQ((x + 1).to_vector<int64_t>(), (V<int64_t>{lowest + 1, lowest, 0, beyond_f64 + 1}));
    EXPECT_EQ((x + beyond_f64).to_vector<int64_t>()[2], beyond_f64 - 1);
    EXPECT_EQ((-x).to_vector<int64_t>(), (V<int64_t>{lowest, -highest, 1, -beyond_f64}));
    EXPECT_EQ(floor_divide(x, -1).to_vector<int64_t>(), (V<int64_t>{lowest, -highest, 1, -beyond_f64}));
    EXPECT_EQ(floor_divide(x, 2).to_vector<int64_t>(), (V<int64_t>{lowest / 2, highest / 2, -1, beyond_f64 / 2}));
    EXPECT_EQ(remainder(x, 10).to_vector<int64_t>(), (V<int64_t>{2, 7, 9, 3}));
    EXPECT_EQ(bitwise_left_shift(of<int64_t>({1, 1, 3, 3}, d), of<int64_t>({63, 64, -1, 62}, d)).to_vector<int64_t>(),
              (V<int64_t>{lowest, 0, 0, int64_t(3) << 62}));
    EXPECT_EQ(bitwise_right_shift(x, of<int64_t>({63, 62, 64, 200}, d)).to_vector<int64_t>(), (V<int64_t>{-1, 1, -1, 0}));
    EXPECT_EQ(equal(x, beyond_f64 - 1 + zeros({4}, DType::i64, d)).to_vector<uint8_t>(), (V<uint8_t>{0, 0, 0, 0}));
    EXPECT_EQ(full({2}, beyond_f64, DType::i64, d).to_vector<int64_t>(), (V<int64_t>{beyond_f64, beyond_f64}));
    EXPECT_EQ(arange(beyond_f64, beyond_f64 + 3, 1, DType::i64, d).to_vector<int64_t>(), (V<int64_t>{beyond_f64, beyond_f64 + 1, beyond_f64 + 2}));
    EXPECT_EQ(arange(highest, lowest, lowest, DType::i64, d).to_vector<int64_t>(), (V<int64_t>{highest, -1}));
    EXPECT_EQ(matmul(of<int64_t>({beyond_f64, 2}, d), of<int64_t>({1, 1}, d)).item<int64_t>(), beyond_f64 + 2);
    EXPECT_EQ(clip(x, lowest + 5, beyond_f64).to_vector<int64_t>(), (V<int64_t>{lowest + 5, beyond_f64, -1, beyond_f64}));
    EXPECT_EQ(where(less(x, 0 * x), x, -x).to_vector<int64_t>(), (V<int64_t>{lowest, -highest, -1, -beyond_f64}));
  });
}

TEST(DTypes, CastsBetweenAllWidths) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  everywhere([&](const Device& d) {
    const Tensor x = of<double>({1e300, -1e300, 300.7, -200.2, nan, inf, -inf, 4294967295.5, 9.3e18}, d);
    EXPECT_EQ(cast(x, DType::u8).to_vector<uint8_t>(), (V<uint8_t>{255, 0, 255, 0, 0, 255, 0, 255, 255}));
    EXPECT_EQ(cast(x, DType::i8).to_vector<int8_t>(), (V<int8_t>{127, -128, 127, -128, 0, 127, -128, 127, 127}));
    EXPECT_EQ(cast(x, DType::i32).to_vector<int32_t>(), (V<int32_t>{INT32_MAX, INT32_MIN, 300, -200, 0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MAX}));
    EXPECT_EQ(cast(x, DType::u32).to_vector<uint32_t>(), (V<uint32_t>{UINT32_MAX, 0, 300, 0, 0, UINT32_MAX, 0, UINT32_MAX, UINT32_MAX}));
    EXPECT_EQ(cast(x, DType::i64).to_vector<int64_t>(), (V<int64_t>{highest, lowest, 300, -200, 0, highest, lowest, 4294967295, highest}));
    EXPECT_EQ(cast(of<float>({300, -300, 9.3e18f, -9.3e18f}, d), DType::i64).to_vector<int64_t>(), (V<int64_t>{300, -300, highest, lowest}));
    EXPECT_EQ(cast(of<int64_t>({300, -129, lowest, beyond_f64}, d), DType::u8).to_vector<uint8_t>(), (V<uint8_t>{44, 127, 0, 1}));
    EXPECT_EQ(cast(of<int64_t>({300, -129, lowest, highest}, d), DType::i8).to_vector<int8_t>(), (V<int8_t>{44, 127, 0, -1}));
    EXPECT_EQ(cast(of<int64_t>({4294967297, -1}, d), DType::u32).to_vector<uint32_t>(), (V<uint32_t>{1, 4294967295u}));
    EXPECT_EQ(cast(of<uint32_t>({4294967295u}, d), DType::i64).item<int64_t>(), 4294967295);
    EXPECT_EQ(cast(of<uint32_t>({4294967295u}, d), DType::f64).item<double>(), 4294967295.0);
    EXPECT_EQ(cast(of<int32_t>({-7}, d), DType::i64).item<int64_t>(), -7);
    EXPECT_EQ(cast(of<int8_t>({-7}, d), DType::u8).item<uint8_t>(), 249);
    EXPECT_EQ(cast(of<int8_t>({-7}, d), DType::i64).item<int64_t>(), -7);
    EXPECT_EQ(cast(of<int64_t>({beyond_f64}, d), DType::f64).item<double>(), 9007199254740992.0);
    EXPECT_EQ(cast(of<int64_t>({16777219}, d), DType::f32).item<float>(), 16777220.0f);
    EXPECT_EQ(cast(of<int64_t>({(int64_t(1) << 54) + (int64_t(1) << 30) + 1}, d), DType::f32).item<float>(), 0x1.000002p54f);  // 2^54 by way of f64
    EXPECT_EQ(cast(of<double>({0.1}, d), DType::f32).item<float>(), 0.1f);
    EXPECT_EQ(cast(of<float>({0.1f}, d), DType::f64).item<double>(), double(0.1f));
    EXPECT_EQ(cast(of<bool>({true, false}, d), DType::i8).to_vector<int8_t>(), (V<int8_t>{1, 0}));
    EXPECT_EQ(cast(of<double>({0.0, -0.0, 5e-324, nan}, d), DType::bool_).to_vector<uint8_t>(), (V<uint8_t>{0, 0, 1, 1}));
    EXPECT_EQ(cast(of<int64_t>({4294967296, 0}, d), DType::bool_).to_vector<uint8_t>(), (V<uint8_t>{1, 0}));
  });
}

// A block of scale 1 and quants 0 to 31.
TEST(DTypes, QuantisedTensorsCastToF64) {
  everywhere([](const Device& d) {
    std::vector<std::byte> block(34);
    block[1] = std::byte{0x3c};
    for (int i = 0; i < 32; ++i) block[size_t(2 + i)] = std::byte(i);
    const Tensor q = Tensor::from_bytes(std::move(block), DType::q8_0, {32}, d);
    EXPECT_EQ(cast(q, DType::f64).to_vector<double>()[31], 31.0);
    EXPECT_THROW(cast(q, DType::i64), Error);
    EXPECT_THROW(linear(ones({32}, DType::f64, d), Tensor::from_bytes(std::vector<std::byte>(34), DType::q8_0, {1, 32}, d)), Error);
  });
}

TEST(DTypes, F64StaysF64) {
  everywhere([](const Device& d) {
    const Tensor x = of<double>({1, 1 + 1e-12, 1 - 1e-12, 1e-310}, d);
    EXPECT_EQ((x * 2).to_vector<double>()[3], 2e-310);
    EXPECT_EQ((x + 0.1).to_vector<double>()[0], 1.1);
    EXPECT_EQ((x * 0.1).to_vector<double>()[0], 0.1);
    EXPECT_NEAR(var(of<double>({1, 1 + 1e-9}, d)).item<double>(), 2.5e-19, 1e-24);
    EXPECT_NEAR(mean(of<double>({1, 1 + 1e-12}, d)).item<double>(), 1 + 5e-13, 1e-16);
    EXPECT_NEAR(softmax(of<double>({0, 1e-10}, d)).to_vector<double>()[1], 0.5 + 2.5e-11, 1e-16);
    EXPECT_NEAR(logsumexp(of<double>({0, 0}, d)).item<double>(), std::log(2.0), 2e-16);
    EXPECT_NEAR(rms_norm(of<double>({3, 4}, d), ones({2}, DType::f32, d), 0).to_vector<double>()[0], 3 / std::sqrt(12.5), 3e-16);
    EXPECT_NEAR(gelu(of<double>({1.0}, d)).item<double>(), 0.5 * (1 + std::erf(std::sqrt(0.5))), 3e-16);
    EXPECT_NEAR(asinh(of<double>({1e-5}, d)).item<double>(), std::asinh(1e-5), 1e-20);
    EXPECT_NEAR(asinh(of<double>({1e5}, d)).item<double>(), std::asinh(1e5), 5e-15);
    EXPECT_NEAR(atanh(of<double>({1e-5}, d)).item<double>(), std::atanh(1e-5), 1e-20);
    EXPECT_EQ(arange(0, 1, 0.1, DType::f64, d).to_vector<double>()[3], 3 * 0.1);
    EXPECT_EQ(linspace(0, 1, 11, DType::f64, d).to_vector<double>()[1], 0.1);
    EXPECT_EQ(matmul(of<double>({1, 1e-16}, d), of<double>({1, 1}, d)).item<double>(), 1 + 1e-16);
    EXPECT_EQ(matmul(of<double>({1, 1e-12}, d), of<float>({1, 1}, d)).item<double>(), 1 + 1e-12);
    EXPECT_EQ(nan_to_num(of<double>({HUGE_VAL}, d)).item<double>(), std::numeric_limits<double>::max());
    EXPECT_EQ(mse_loss(of<double>({1e-9}, d), of<double>({0}, d)).item<double>(), 1e-9 * 1e-9);
    const Tensor q = reshape(of<double>({1, 1e-9}, d), {1, 1, 2, 1}), v = reshape(of<double>({1, 1 + 1e-12}, d), {1, 1, 2, 1});
    EXPECT_NEAR(attention(q, q, v).to_vector<double>()[0], 1 + 1e-12 / (1 + std::exp(1 - 1e-9)), 3e-16);
  });
}

// One plan serves every value, and none of its bits is lost.
TEST(DTypes, WideNumbersAreRunTimeScalars) {
  const Device cpu = Device::open("cpu", 1);
  const Tensor x = of<double>({1, 2}, cpu);
  eval(x * 0.1 + 0.3);
  const int64_t plans = cpu.counters().plans;
  for (const double rate : {0.7, 1.0 / 3, 1e-300}) EXPECT_EQ((x * rate + 0.3).to_vector<double>(), (V<double>{rate + 0.3, 2 * rate + 0.3}));
  EXPECT_EQ(cpu.counters().plans, plans);
  everywhere([](const Device& d) {
    Scalar step(beyond_f64, d), factor(1.0 / 3, d), small(uint32_t(1), d);
    const Tensor i = of<int64_t>({1, -1}, d), f = of<double>({3, 1}, d), u = of<uint32_t>({2, 3}, d);
    for (int64_t k : {beyond_f64, lowest, int64_t(-1)}) {
      step.set(k);
      factor.set(double(k) / 3);
      // Scalars of one and of two words side by side.
      const Tensor a = u + small, b = i - step, c = f * factor;
      eval({a, b, c});
      EXPECT_EQ(a.to_vector<uint32_t>(), (V<uint32_t>{3, 4}));
      EXPECT_EQ(b.to_vector<int64_t>(), (V<int64_t>{int64_t(1 - uint64_t(k)), int64_t(uint64_t(-1) - uint64_t(k))}));
      EXPECT_EQ(c.to_vector<double>(), (V<double>{3 * (double(k) / 3), double(k) / 3}));
    }
  });
}

TEST(DTypes, CompiledFunctionsTakeWideScalars) {
  const Device d = Device::open("cpu", 1);
  Scalar factor(0.1, d);
  const Tensor x = of<double>({1, 2}, d);
  const Compiled scaled = compile([&](const std::vector<Tensor>& in) { return std::vector{in[0] * factor}; }, {x}, d);
  const Counters before = d.counters();
  for (double v : {0.1, 0.2, 1e-300}) {
    factor.set(v);
    EXPECT_EQ(scaled({x})[0].to_vector<double>(), (V<double>{v, 2 * v}));
  }
  EXPECT_EQ((d.counters() - before).plans, 0);
}

template <class T>
void check_indices(const Device& d) {
  const Tensor x = of<float>({10, 20, 30}, d);
  const Tensor i = of<T>({T(2), T(0), T(3), T(-1)}, d);  // the last two are outside
  const std::vector<float> taken = take(x, i).to_vector<float>();
  EXPECT_EQ(taken[0], 30);
  EXPECT_EQ(taken[1], 10);
  EXPECT_TRUE(std::isnan(taken[2]) && std::isnan(taken[3]));
  EXPECT_TRUE(std::isnan(take_along_axis(x, i).to_vector<float>()[3]));
  EXPECT_EQ(one_hot(i, 3).to_vector<int32_t>(), (V<int32_t>{0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  CrossEntropyOptions o;
  o.reduction = Reduction::none;
  const std::vector<float> loss = cross_entropy(zeros({4, 3}, DType::f32, d), i, o).to_vector<float>();
  EXPECT_NEAR(loss[0], std::log(3.0f), 1e-6);
  EXPECT_NEAR(loss[1], std::log(3.0f), 1e-6);
  EXPECT_TRUE(std::isnan(loss[2]) && std::isnan(loss[3]));
}

TEST(DTypes, IndicesOfEveryInteger) {
  everywhere([](const Device& d) {
    check_indices<int8_t>(d);
    check_indices<uint8_t>(d);
    check_indices<int32_t>(d);
    check_indices<uint32_t>(d);
    check_indices<int64_t>(d);
    // 2^32 and its neighbours are not 0.
    const Tensor far = of<int64_t>({4294967296, 4294967297, lowest, highest}, d);
    EXPECT_EQ(sum(one_hot(far, 3)).item<int32_t>(), 0);
    EXPECT_EQ(take(of<int64_t>({5, 6}, d), far).to_vector<int64_t>(), (V<int64_t>{0, 0, 0, 0}));
    EXPECT_TRUE(std::isnan(cross_entropy(zeros({4, 3}, DType::f64, d), far).item<double>()));
    EXPECT_TRUE(std::isnan(take(of<double>({5, 6}, d), far).to_vector<double>()[0]));
  });
}

TEST(DTypes, ReadingTakesTheRightType) {
  const Device d = Device::open("cpu");
  EXPECT_EQ(of<int8_t>({-3}, d).to_vector<int8_t>(), (V<int8_t>{-3}));
  EXPECT_EQ(of<float>({0.5f}, d).to_vector<double>(), (V<double>{0.5}));
  EXPECT_THROW(of<double>({0.5}, d).to_vector<float>(), Error);
  EXPECT_THROW(of<int64_t>({1}, d).to_vector<int32_t>(), Error);
  EXPECT_THROW(of<uint8_t>({1}, d).to_vector<int8_t>(), Error);
  EXPECT_THROW(full({1}, 256, DType::u8, d), Error);
  EXPECT_THROW(full({1}, -129, DType::i8, d), Error);
  EXPECT_THROW(full({1}, 0x1p63, DType::i64, d), Error);
  EXPECT_THROW(of<int8_t>({1}, d) + 128, Error);
}

// Views whose elements are not aligned to the lanes, rows that are spilled, and several widths in one kernel.
TEST(DTypes, WidthsMixInOneKernel) {
  const Device d = Device::open("cpu", 2);
  std::vector<double> v;
  for (int i = 0; i < 5000; ++i) v.push_back(i % 7 + i * 1e-10);
  const Tensor x = Tensor::from<double>(v, {2, 2500}, d);
  d.reset_census();
  const Tensor narrow = cast(cast(x, DType::f32), DType::f64) - x, bytes = cast(cast(x, DType::u8), DType::i64) + cast(x, DType::i64);
  const Tensor row = cast(softmax(x), DType::f32), shifted = slice(x, 1, 1, {}) * cast(slice(cast(x, DType::i8), 1, {}, -1), DType::f64);
  eval({narrow, bytes, row, shifted});
  const std::vector<double> a = narrow.to_vector<double>(), s = shifted.to_vector<double>();
  const std::vector<int64_t> b = bytes.to_vector<int64_t>();
  for (size_t i = 0; i < v.size(); ++i) {
    ASSERT_EQ(a[i], double(float(v[i])) - v[i]) << i;
    ASSERT_EQ(b[i], 2 * int64_t(v[i])) << i;
  }
  for (size_t i = 0; i < 2499; ++i) ASSERT_EQ(s[i], v[i + 1] * double(int(v[i]))) << i;
  long double total = 0;
  for (size_t i = 0; i < 2500; ++i) total += std::exp((long double)(v[i]));
  EXPECT_NEAR(row.to_vector<float>()[2499], double(std::exp((long double)(v[2499])) / total), 1e-10);
}

TEST(DTypes, DevicesWithoutWideLanesSaySo) {
  for (const char* name : {"null:webgpu", "null:tiny"}) {
    const Device d = Device::open(name);
    const auto refuses = [&](const char* what, const std::vector<std::string>& words, const std::function<void()>& f) {
      try {
        f();
        ADD_FAILURE() << what << " on " << name << " was accepted";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::unsupported) << what << ": " << e.what();
        for (const std::string& w : words) EXPECT_NE(std::string(e.what()).find(w), std::string::npos) << what << ": " << e.what();
        EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
      }
    };
    const Tensor f = ones({2}, DType::f32, d), i = ones({2}, DType::i32, d), u = ones({2}, DType::u32, d);
    refuses("cast", {"cast", "f64", "f32"}, [&] { cast(f, DType::f64); });
    refuses("full", {"full", "i64", "i32"}, [&] { full({2}, 1, DType::i64, d); });
    refuses("arange", {"arange", "i64"}, [&] { arange(0, 3, 1, DType::i64, d); });
    refuses("linspace", {"linspace", "f64"}, [&] { linspace(0, 3, 4, DType::f64, d); });
    refuses("eye", {"f64"}, [&] { eye(3, {}, 0, DType::f64, d); });
    refuses("one_hot", {"one_hot", "f64"}, [&] { one_hot(i, 3, DType::f64); });
    refuses("add", {"add(i32[2], u32[2])", "i64", "cast()"}, [&] { i + u; });
    refuses("from", {"f64", "f32"}, [&] { of<double>({1}, d); });
    refuses("to", {"i64", "i32"}, [&] { of<int64_t>({1}, Device::open("cpu")).to(d); });
    refuses("scalar", {"f64"}, [&] { Scalar(1.0, d); });
    EXPECT_NE(plan_text({cast(u, DType::u8) + full({2}, 1, DType::u8, d)}).find("u8"), std::string::npos);
  }
  const Device roomy = Device::open("null:roomy");
  EXPECT_NE(plan_text({ones({2}, DType::f64, roomy) * 3}).find("f64"), std::string::npos);
}

TEST(DTypes, PrintAsNumPyDoes) {
  const Device d = Device::open("cpu");
  EXPECT_EQ(to_string(of<int8_t>({-128, 5}, d)), "[-128    5]");
  EXPECT_EQ(to_string(of<uint8_t>({255, 5}, d)), "[255   5]");
  EXPECT_EQ(to_string(of<int64_t>({lowest, beyond_f64}, d)), "[-9223372036854775808     9007199254740993]");
  EXPECT_EQ(to_string(of<double>({0.1, 1.0 / 3, 2}, d)), "[0.1        0.33333333 2.        ]");
  EXPECT_EQ(to_string(of<double>({1e300, 1}, d)), "[1.e+300 1.e+000]");
}

TEST(DTypes, LinearOfIntegersAndF64) {
  everywhere([](const Device& d) {
    const Tensor x = of<int8_t>({100, 2, -3}, d), w = reshape(of<int8_t>({1, 1, 1, 2, 0, 0}, d), {2, 3});
    EXPECT_EQ(linear(x, w).to_vector<int8_t>(), (V<int8_t>{99, -56}));
    EXPECT_EQ(linear(cast(x, DType::i32), w).to_vector<int32_t>(), (V<int32_t>{99, 200}));
    EXPECT_EQ(outer(x, of<int64_t>({beyond_f64}, d)).to_vector<int64_t>(), (V<int64_t>{100 * beyond_f64, 2 * beyond_f64, -3 * beyond_f64}));
    EXPECT_EQ(tensordot(of<int64_t>({beyond_f64, 1}, d), of<int64_t>({1, 1}, d), 1).item<int64_t>(), beyond_f64 + 1);
    EXPECT_EQ(einsum("i,i->", {of<uint8_t>({200, 100}, d), of<uint8_t>({1, 1}, d)}).item<uint8_t>(), 44);
    EXPECT_EQ(linear(of<double>({1, 1e-16}, d), reshape(of<double>({1, 1}, d), {1, 2}), of<double>({-1}, d)).item<double>(), 1 + 1e-16 - 1);
  });
}

}  // namespace
}  // namespace tenon
