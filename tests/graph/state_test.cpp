// State and compile(): values that are held elsewhere stay, what a state becomes is dense and its own.
#include "tenon/state.h"

#include <gtest/gtest.h>

#include <cstring>

#include <numeric>

#include "tenon/ops.h"

namespace {

using namespace tenon;
using Floats = std::vector<float>;
using Tensors = std::vector<Tensor>;

Tensor ramp(Shape shape, const Device& d, float first = 0) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  Floats v(static_cast<size_t>(n));
  std::iota(v.begin(), v.end(), first);
  return Tensor::from<float>(v, std::move(shape), d);
}

class StateTest : public ::testing::TestWithParam<const char*> {
 protected:
  Device d = Device::open(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, StateTest, ::testing::Values("cpu", "host"));

TEST_P(StateTest, CompiledSetOfAViewIsDense) {
  State wide(zeros({1000, 4}, DType::f32, d)), square(zeros({2, 3}, DType::f32, d));
  const Compiled set = compile(
      [&](const Tensors& in) {
        wide.set(broadcast_to(in[0], {1000, 4}));
        square.set(transpose(in[1]));
        return Tensors{};
      },
      {ramp({4}, d), ramp({3, 2}, d)}, d);
  const Compiled get = compile([&](const Tensors&) { return Tensors{wide.value() + 1.0, square.value() + 0.0}; }, {}, d);
  set({ramp({4}, d), ramp({3, 2}, d)});
  const Tensors got = get({});
  EXPECT_EQ(got[0].to_vector<float>()[3999], 4.0f);
  EXPECT_EQ(got[1].to_vector<float>(), (Floats{0, 2, 4, 1, 3, 5}));
}

TEST_P(StateTest, EagerSetOfAViewIsDense) {
  State s(zeros({2, 3}, DType::f32, d));
  s.set(transpose(ramp({3, 2}, d)));
  const Scalar at(uint32_t(0), d);
  s.apply([&](Tensor v) { return update(v, full({1, 3}, 9, DType::f32, d), at, 0); });
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{9, 9, 9, 1, 3, 5}));
}

TEST_P(StateTest, WhatAHeldTensorReadsIsNotOverwritten) {
  State s(ramp({4}, d));
  const Scalar at(uint32_t(0), d);
  Tensor old;  // not evaluated, part of the graph that the update runs
  s.apply([&](Tensor v) {
    old = sum(reshape(v, {2, 2}), {1});
    return update(v, slice(old, 0, 0, 1) + 100.0, at, 0);
  });
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{101, 1, 2, 3}));
  EXPECT_EQ(old.to_vector<float>(), (Floats{1, 5}));
}

TEST_P(StateTest, ASnapshotKeepsItsContent) {
  State s(ramp({3}, d));
  const Tensor before = s.value();
  const Scalar at(uint32_t(1), d);
  const int64_t copies = d.counters().state_copies;
  s.set(update(s.value(), full({1}, 7, DType::f32, d), at, 0));
  EXPECT_EQ(before.to_vector<float>(), (Floats{0, 1, 2}));
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{0, 7, 2}));
  EXPECT_EQ(d.counters().state_copies, copies + 1);
}

TEST_P(StateTest, ApplyUpdatesInPlaceWhateverTheLambdaTakes) {
  State s(ramp({3}, d));
  const Scalar at(uint32_t(1), d);
  const Counters before = d.counters();
  s.apply([&](const Tensor& v) { return update(v, full({1}, 7, DType::f32, d), at, 0); });
  s.apply([&](Tensor v) { return update(v, full({1}, 8, DType::f32, d), at, 0); });
  EXPECT_EQ((d.counters() - before).state_copies, 0);
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{0, 8, 2}));
}

TEST_P(StateTest, UpdateOfAnUpdateWithNothing) {
  const Scalar at(uint32_t(0), d);
  const Tensor x = ramp({4}, d, 10), nothing = zeros({0}, DType::f32, d), five = full({1}, 5, DType::f32, d);
  EXPECT_EQ(update(update(x, nothing, at, 0), five, at, 0).to_vector<float>(), (Floats{5, 11, 12, 13}));
  EXPECT_EQ(update(update(x, five, at, 0), nothing, at, 0).to_vector<float>(), (Floats{5, 11, 12, 13}));
}

TEST_P(StateTest, CompiledFunctionsCheckDevicesAndShapes) {
  const Device other = Device::open(std::string(GetParam()) == "cpu" ? "host" : "cpu");
  const Compiled f = compile([](const Tensors& in) { return Tensors{in[0] + 1.0}; }, {ramp({3}, d)}, d);
  const auto code = [](auto&& g) {
    try {
      g();
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code([&] { f({ramp({3}, other)}); }), ErrorCode::device);
  EXPECT_EQ(code([&] { f({ramp({4}, d)}); }), ErrorCode::shape);
  EXPECT_EQ(code([&] { f({}); }), ErrorCode::invalid_argument);
  const Tensor captured = ramp({3}, other);
  EXPECT_EQ(code([&] { compile([&](const Tensors&) { return Tensors{captured + 1.0}; }, {}, d); }), ErrorCode::device);
  EXPECT_EQ(code([&] { compile([](const Tensors& in) { in[0].to_vector<float>(); return in; }, {ramp({3}, d)}, d); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(f({ramp({3}, d)})[0].to_vector<float>(), (Floats{1, 2, 3}));
}

TEST_P(StateTest, CompiledFunctionCarriesStateAndScalars) {
  State s(zeros({4}, DType::f32, d));
  Scalar at(uint32_t(0), d), factor(2.0f, d);
  const Compiled f = compile(
      [&](const Tensors& in) {
        s.set(update(s.value(), in[0] * factor.tensor(), at, 0));
        return Tensors{sum(s.value())};
      },
      {ramp({1}, d)}, d);
  EXPECT_EQ(f.copies(), 0);
  EXPECT_EQ(f({ramp({1}, d, 5)})[0].item<float>(), 10.0f);
  at.set(uint32_t(2));
  factor.set(3.0f);
  EXPECT_EQ(f({ramp({1}, d, 1)})[0].item<float>(), 13.0f);
  at.set(uint32_t(99));  // clamped to the last place
  EXPECT_EQ(f({ramp({1}, d, 1)})[0].item<float>(), 16.0f);
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{10, 0, 3, 3}));
}

TEST_P(StateTest, ReadbackIsOfTheMomentItWasAskedFor) {
  State s(ramp({2}, d));
  const Scalar at(uint32_t(0), d);
  const auto put = [&](double v) {
    return compile(
        [&, v](const Tensors&) {
          s.set(update(s.value(), full({1}, v, DType::f32, d), at, 0));
          return Tensors{s.value() + 0.0};
        },
        {}, d);
  };
  const Compiled one = put(10), two = put(20);
  Readback first = one({})[0].read_async();
  const Tensor later = two({})[0];
  const std::vector<std::byte> bytes = first.bytes();
  float value;
  std::memcpy(&value, bytes.data(), 4);
  EXPECT_EQ(value, 10.0f);
  EXPECT_EQ(later.to_vector<float>(), (Floats{20, 1}));
}

}  // namespace
