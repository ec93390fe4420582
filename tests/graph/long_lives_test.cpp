// State, compile() and long lives: updates in place, snapshots, replays, deep graphs, flat memory.
#include <gtest/gtest.h>

#include <fstream>

#include "support/sanitizers.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

class States : public ::testing::TestWithParam<const char*> {
 protected:
  Device d = Device::open(GetParam());
  Tensor row(const Floats& v) { return Tensor::from<float>(v, {int64_t(v.size())}, d); }
};
INSTANTIATE_TEST_SUITE_P(Devices, States, ::testing::Values("host", "cpu"), [](const auto& p) { return std::string(p.param); });

TEST_P(States, ApplyWorksInPlace) {
  State s(zeros({8}, DType::f32, d) + 0.25);
  const Counters before = d.counters();
  for (uint32_t i = 0; i < 8; ++i)
    s.apply([&](Tensor v) { return update(v, row({float(i)}), Scalar(i, d), 0); });
  d.synchronize();
  const Counters run = d.counters() - before;
  EXPECT_EQ(run.state_copies, 0);
  EXPECT_EQ(run.launches, 8);
  EXPECT_EQ(run.bytes_down, 0);
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_P(States, AHeldSnapshotKeepsItsContent) {
  State s(row({1, 2, 3}));
  s.apply([&](Tensor v) { return update(v, row({9}), Scalar(uint32_t(0), d), 0); });
  const Tensor held = s.value();
  const int64_t copies = d.counters().state_copies;
  s.apply([&](Tensor v) { return update(v, row({7}), Scalar(uint32_t(2), d), 0); });
  EXPECT_EQ(d.counters().state_copies, copies + 1);
  EXPECT_EQ(held.to_vector<float>(), (Floats{9, 2, 3}));
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{9, 2, 7}));
}

TEST_P(States, AViewOfASnapshotKeepsItsContentToo) {
  State s(row({1, 2, 3}));
  s.apply([&](Tensor v) { return v + 0.5; });
  Tensor part = slice(s.value(), 0, 1, {});
  eval(part);  // a leaf that looks at the state's memory
  s.apply([&](Tensor v) { return update(v, row({0, 0, 0}), Scalar(uint32_t(0), d), 0); });
  EXPECT_EQ(part.to_vector<float>(), (Floats{2.5f, 3.5f}));
  const Tensor lazy = s.value() * 2;  // not evaluated before the update
  s.apply([&](Tensor v) { return update(v, row({5}), Scalar(uint32_t(1), d), 0); });
  EXPECT_EQ(lazy.to_vector<float>(), (Floats{0, 0, 0}));
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{0, 5, 0}));
}

TEST_P(States, TheInitialTensorIsNotChanged) {
  const Tensor x = row({1, 2});
  State s(x);
  s.apply([&](Tensor v) { return update(v, row({8}), Scalar(uint32_t(0), d), 0); });
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2}));
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{8, 2}));
}

TEST_P(States, TwoStatesInOnePlan) {
  State a(row({1, 2})), b(row({10, 20}));
  const Tensor sum = a.value() + b.value();
  const StateUpdate both[] = {{a, b.value()}, {b, a.value()}};  // swapped
  eval(std::span<const Tensor>(&sum, 1), both);
  EXPECT_EQ(sum.to_vector<float>(), (Floats{11, 22}));
  EXPECT_EQ(a.value().to_vector<float>(), (Floats{10, 20}));
  EXPECT_EQ(b.value().to_vector<float>(), (Floats{1, 2}));
  a.apply([&](Tensor v) { return update(v, row({0}), Scalar(uint32_t(0), d), 0); });
  EXPECT_EQ(b.value().to_vector<float>(), (Floats{1, 2}));
}

TEST_P(States, WrongShapesAreNamed) {
  State s(row({1, 2}));
  try {
    s.set(row({1, 2, 3}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::shape);
    EXPECT_NE(std::string(e.what()).find("f32[3]"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("reset"), std::string::npos) << e.what();
  }
  s.reset(row({1, 2, 3}));
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{1, 2, 3}));
}

TEST_P(States, UpdateReadsWhatItOverwrites) {
  State s(row({1, 2, 3, 4}));
  // The new part is computed from the old value, and another root still needs the old value as a whole.
  const Tensor total = sum(s.value());
  const StateUpdate u{s, update(s.value(), slice(s.value(), 0, 0, 2) * 10, Scalar(uint32_t(1), d), 0)};
  eval(std::span<const Tensor>(&total, 1), std::span<const StateUpdate>(&u, 1));
  EXPECT_EQ(total.item<float>(), 10);
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{1, 10, 20, 4}));
}

// --------------------------------------------------------------------------------------------------------- compile

TEST_P(States, CompiledFunctionsTakeNewInputsAndScalars) {
  const Scalar factor(2.0f, d);
  const Compiled f = compile([&](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0] * factor + in[1], sum(in[0])}; },
                             {row({0, 0}), row({0, 0})}, d);
  const int64_t plans = d.counters().plans;
  std::vector<Tensor> out = f({row({1, 2}), row({10, 20})});
  EXPECT_EQ(out[0].to_vector<float>(), (Floats{12, 24}));
  EXPECT_EQ(out[1].item<float>(), 3);
  Scalar(factor).set(-1.0f);
  out = f({row({5, 6}), out[0]});
  EXPECT_EQ(out[0].to_vector<float>(), (Floats{7, 18}));
  EXPECT_EQ(d.counters().plans, plans);
}

TEST_P(States, CompiledFunctionsTakeViews) {
  const Compiled f = compile([](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0] + 1}; }, {zeros({3, 2}, DType::f32, d)}, d);
  const Tensor x = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}, d);
  EXPECT_EQ(f({transpose(x)})[0].to_vector<float>(), (Floats{2, 5, 3, 6, 4, 7}));
  EXPECT_EQ(f({flip(transpose(x), 0)})[0].to_vector<float>(), (Floats{4, 7, 3, 6, 2, 5}));
}

TEST_P(States, CompiledStatesAreCarriedOn) {
  State s(zeros({4}, DType::f32, d) + 0.0);
  Scalar at(uint32_t(0), d);
  const Compiled step = compile(
      [&](const std::vector<Tensor>& in) {
        s.set(update(s.value(), in[0], at, 0));
        return std::vector<Tensor>{sum(s.value())};
      },
      {row({0})}, d);
  EXPECT_EQ(step.copies(), 0);
  const Counters before = d.counters();
  Floats sums;
  for (uint32_t i = 0; i < 4; ++i) {
    at.set(i);
    sums.push_back(step({row({float(i + 1)})})[0].item<float>());
  }
  EXPECT_EQ(sums, (Floats{1, 3, 6, 10}));
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{1, 2, 3, 4}));
  EXPECT_EQ((d.counters() - before).plans, 0);
  EXPECT_EQ((d.counters() - before).state_copies, 0);
}

TEST_P(States, CompiledStatesLeaveSnapshotsAlone) {
  State s(row({1, 2}));
  const Compiled step = compile([&](const std::vector<Tensor>& in) { s.set(update(s.value(), in[0], Scalar(uint32_t(0), d), 0)); return std::vector<Tensor>{}; },
                                {row({0})}, d);
  step({row({5})});
  const Tensor held = s.value();
  step({row({6})});
  EXPECT_EQ(held.to_vector<float>(), (Floats{5, 2}));
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{6, 2}));
  s.apply([](Tensor v) { return v + 1; });  // between calls, outside
  step({row({0})});
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{0, 3}));
}

TEST_P(States, CompiledFunctionsRefuseOtherShapes) {
  const Compiled f = compile([](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0] + 1}; }, {row({0, 0})}, d);
  try {
    f({row({1, 2, 3})});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::shape);
    for (const char* part : {"input 0", "f32[3]", "f32[2]"}) EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
  EXPECT_THROW(f({cast(row({1, 2}), DType::f16)}), Error);
  EXPECT_THROW(f({}), Error);
  EXPECT_THROW(compile([](const std::vector<Tensor>& in) { in[0].to_vector<float>(); return in; }, {row({0})}, d), Error);
  EXPECT_THROW(compile([](const std::vector<Tensor>&) { return std::vector<Tensor>{}; }, {row({0})}, d), Error);
}

TEST_P(States, InputsOfAnotherDeviceAreRefused) {
  const Device other = Device::open(GetParam(), 1);
  const Compiled f = compile([](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0] + 1}; }, {row({0, 0})}, d);
  EXPECT_THROW(f({Tensor::from<float>({1, 2}, {2}, other)}), Error);
}

// ------------------------------------------------------------------------------------------------------- long lives

TEST_P(States, AChainOfAHundredThousandNodes) {
  Tensor x = row({0, 1});
  const int n = d.name() == "cpu" ? 100000 : 10000;  // the reference device runs each node by itself
  for (int i = 0; i < n; ++i) x = x + 1;
  EXPECT_EQ(x.to_vector<float>(), (Floats{float(n), float(n + 1)}));
}

TEST_P(States, AChainThatIsNeverEvaluatedIsDestroyed) {
  Tensor x = row({0, 1});
  for (int i = 0; i < 100000; ++i) x = tanh(transpose(reshape(x, {1, 2})));
  EXPECT_EQ(x.size(), 2);
}

// 0 where it cannot be told; under AddressSanitizer its leak check does this test's work.
int64_t resident_pages() {
  if (testing::sanitizer_keeps_memory) return 0;
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident;
}

TEST_P(States, MemoryIsFlatOverTenThousandEvaluations) {
  State s(row(Floats(1000, 0)));
  const Tensor one = row(Floats(1000, 1));
  auto step = [&](int i) {
    s.apply([&](Tensor v) { return v + one * double(i % 7 + 3); });
    if (i % 100 == 0) s.value().to_vector<float>();
  };
  const int n = d.name() == "cpu" ? 9000 : 2000;
  for (int i = 0; i < 1000; ++i) step(i);
  const int64_t held = d.memory_bytes(), pages = resident_pages();
  for (int i = 0; i < n; ++i) step(i);
  EXPECT_EQ(d.memory_bytes(), held);
  EXPECT_LE(resident_pages() - pages, 1024);  // 4 MiB
}

}  // namespace
}  // namespace tenon
