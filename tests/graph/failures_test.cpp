// What fails harms nothing else: out of memory, launches that fail at once or late, on a device that is told to fail.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "graph/mode.h"
#include "support/faulty_backend.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

using Floats = std::vector<float>;
using Clock = std::chrono::steady_clock;

class Failures : public ::testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<Faults> faults = std::make_shared<Faults>();
  Device d = faulty_device(GetParam(), faults);

  Tensor row(const Floats& v) { return Tensor::from<float>(v, {int64_t(v.size())}, d); }
  Tensor put(const Tensor& v, float x, uint32_t at) { return update(v, row({x}), Scalar(at, d), 0); }
  // From the n-th allocation on; the pool has nothing left over.
  void refuse_memory(int nth) {
    RecursiveLock lock(d.context()->mutex());
    d.context()->pool().trim();
    faults->alloc = nth;
  }
  // A state whose memory is its own, so that an update works in place.
  State state(const Floats& v) { return State(row(v) + 0.0); }
};
INSTANTIATE_TEST_SUITE_P(Inner, Failures, ::testing::Values("cpu", "host"), [](const auto& p) { return std::string(p.param); });

template <class F>
std::string message(ErrorCode code, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}
#define EXPECT_ERROR(code, text, ...)                                          \
  do {                                                                         \
    const std::string what = message(ErrorCode::code, [&] { __VA_ARGS__; });   \
    EXPECT_NE(what.find(text), std::string::npos) << what;                     \
  } while (0)

TEST_P(Failures, WithoutFaultsItIsTheDeviceThatItWraps) {
  State s = state({1, 2, 3});
  for (uint32_t i = 0; i < 3; ++i) s.apply([&](const Tensor& v) { return put(v, float(i) * 10, i); });
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{0, 10, 20}));
  EXPECT_EQ(d.counters().state_copies, 0);
  EXPECT_EQ(softmax(row({0, 0})).to_vector<float>(), (Floats{.5f, .5f}));
}

TEST_P(Failures, OutOfMemoryHarmsNothing) {
  State s = state({1, 2, 3});
  const Tensor x = row(Floats(5000, 1)), y = x + 1.0;
  eval(x);
  for (int nth = 0; nth < 2; ++nth) {  // the result, the scalars
    refuse_memory(nth);
    const StateUpdate u{s, s.value() * 2.0};
    const std::string what = message(ErrorCode::out_of_memory, [&] { eval(std::span<const Tensor>(&y, 1), std::span(&u, 1)); });
    faults->alloc = -1;
    EXPECT_NE(what.find("largest tensors are f32[5000] (20000 bytes)"), std::string::npos) << what;
    EXPECT_EQ(s.value().to_vector<float>(), (Floats{1, 2, 3}));
  }
  EXPECT_EQ(y.to_vector<float>()[4999], 2.0f);
  s.set(s.value() * 2.0);
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{2, 4, 6}));
}

TEST_P(Failures, FreeMemoryGoesBackBeforeAnyIsRefused) {
  eval(row(Floats(3000, 1)) + 1.0);  // its blocks are free now
  const int64_t before = faults->live_blocks;
  faults->alloc_once = 0;            // refused once: the pool gives the free blocks back and asks again
  EXPECT_EQ((row(Floats(7000, 1)) + 1.0).to_vector<float>()[6999], 2.0f);
  EXPECT_LT(faults->live_blocks, before + 3);
}

TEST_P(Failures, ADispatchThatIsRefusedLosesThePlansStates) {
  State a = state({1, 2}), b = state({3, 4}), other = state({5, 6});
  const Tensor old = other.value() + 0.0;
  faults->dispatch = 1;  // the first of two updates in place has been recorded
  EXPECT_ERROR(device, "was refused", {
    const StateUpdate both[] = {{a, put(a.value(), 9, 0)}, {b, put(b.value(), 9, 1)}};
    eval({}, both);
  });
  EXPECT_ERROR(state_lost, "reset()", a.value());
  EXPECT_ERROR(state_lost, "lost", b.value());
  EXPECT_ERROR(state_lost, "lost", a.apply([](const Tensor& v) { return v + 1.0; }));
  EXPECT_EQ(other.value().to_vector<float>(), (Floats{5, 6}));
  EXPECT_EQ(old.to_vector<float>(), (Floats{5, 6}));
  a.set(row({7, 7}));
  b.reset(row({8}));
  EXPECT_EQ((a.value() + b.value()).to_vector<float>(), (Floats{15, 15}));
}

TEST_P(Failures, ALateFailureIsToldByWhatNeedsTheValue) {
  State s = state({1, 2}), other = state({5, 6});
  const Tensor before = other.value() + 0.0;
  eval(before);
  faults->launch = 0;
  faults->delay_us = 200000;  // so that what follows is submitted before it fails
  s.apply([&](const Tensor& v) { return put(v, 9, 0); });       // accepted
  const Tensor derived = s.value() * 2.0, further = derived + 1.0, fine = other.value() + 1.0;
  eval(derived);
  faults->delay_us = 0;
  EXPECT_EQ(fine.to_vector<float>(), (Floats{6, 7}));           // not harmed, and not told
  EXPECT_ERROR(device, "failed", further.to_vector<float>());   // made of what was never written
  EXPECT_ERROR(state_lost, "lost", s.value());
  EXPECT_ERROR(device, "failed", derived.to_vector<float>());
  EXPECT_EQ(before.to_vector<float>(), (Floats{5, 6}));
  other.apply([&](const Tensor& v) { return put(v, 0, 1); });
  EXPECT_EQ(other.value().to_vector<float>(), (Floats{5, 0}));
  s.set(row({3, 4}));
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{3, 4}));
  d.synchronize();                                              // it was told
}

TEST_P(Failures, AFailureThatNobodyReadIsToldBySynchronize) {
  faults->launch = 0;
  const Tensor y = row({1, 2}) + 1.0;
  eval(y);
  EXPECT_ERROR(device, "failed", d.synchronize());
  d.synchronize();
  EXPECT_ERROR(device, "lost", y.to_vector<float>());
  EXPECT_EQ((row({1, 2}) + 1.0).to_vector<float>(), (Floats{2, 3}));
}

TEST_P(Failures, AReadUnderWayIsTold) {
  faults->launch = 0;
  faults->delay_us = 20000;
  const Tensor y = row({1, 2}) + 1.0;
  eval(y);
  Readback r = y.read_async();
  EXPECT_ERROR(device, "failed", r.bytes());
}

TEST_P(Failures, CompiledFunctionsLoseTheirStatesToo) {
  State s = state({1, 2, 3}), kept = state({4});
  Scalar at(uint32_t(0), d);
  const Compiled step = compile(
      [&](const std::vector<Tensor>& in) {
        s.set(update(s.value(), in[0], at, 0));
        return std::vector<Tensor>{s.value() + kept.value()};
      },
      {row({0})}, d);
  EXPECT_EQ(step({row({5})})[0].to_vector<float>(), (Floats{9, 6, 7}));
  const Tensor five = row({5});
  eval(five);
  refuse_memory(0);
  EXPECT_ERROR(out_of_memory, "largest", step({five}));  // before anything ran
  faults->alloc = -1;
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{5, 2, 3}));
  faults->dispatch = 1;
  EXPECT_ERROR(device, "refused", step({five}));
  EXPECT_ERROR(state_lost, "lost", step({five}));
  EXPECT_EQ(kept.value().to_vector<float>(), (Floats{4}));
  s.reset(row({0, 0, 0}));
  EXPECT_EQ(step({five})[0].to_vector<float>(), (Floats{9, 4, 4}));
  faults->launch = 0;
  const Tensor late = step({five})[0];
  EXPECT_ERROR(device, "failed", late.to_vector<float>());
  EXPECT_ERROR(state_lost, "lost", step({five}));
}

TEST_P(Failures, StrictModeRefusesACopy) {
  State s = state({1, 2});
  struct Strict {
    Strict() { graph::set_strict_states(true); }
    ~Strict() { graph::set_strict_states(false); }
  } strict;
  s.apply([&](const Tensor& v) { return put(v, 9, 0); });      // in place
  s.set(s.value() + 1.0);                                       // no update in place: nothing to copy
  const Compiled step = compile([&](const std::vector<Tensor>& in) { s.set(update(s.value(), in[0], Scalar(uint32_t(1), d), 0)); return std::vector<Tensor>{}; },
                                {row({0})}, d);
  {
    const Tensor held = s.value();
    EXPECT_ERROR(invalid_argument, "still held", s.apply([&](const Tensor& v) { return put(v, 8, 0); }));
    EXPECT_ERROR(invalid_argument, "strict", step({row({7})}));
    EXPECT_EQ(s.value().to_vector<float>(), (Floats{10, 3}));
  }
  step({row({7})});
  EXPECT_EQ(s.value().to_vector<float>(), (Floats{10, 7}));
  EXPECT_EQ(d.counters().state_copies, 0);
}

// ------------------------------------------------------------------------------------------------------ asynchronous

TEST_P(Failures, EvalReturnsBeforeTheWorkIsDone) {
  const Tensor x = row({1, 2});
  eval(tanh(x), x * 0.5);  // planned
  faults->delay_us = 100000;
  const int before = faults->launched;
  const auto start = Clock::now();
  const Tensor y = tanh(x);
  eval(y);
  const auto submitted = Clock::now();
  EXPECT_EQ(faults->launched, before);
  y.to_vector<float>();
  EXPECT_GE(Clock::now() - start, std::chrono::microseconds(100000));
  EXPECT_LT(submitted - start, std::chrono::microseconds(100000));
}

// Token t is read while step t + 1 runs: no step waits for the host.
TEST_P(Failures, ADecodeLoopStaysAheadOfTheDevice) {
  State s = state(Floats(4, 0));
  const Compiled step = compile(
      [&](const std::vector<Tensor>& in) {
        s.set(s.value() + in[0]);
        return std::vector<Tensor>{sum(s.value())};
      },
      {row({0, 0, 0, 0})}, d);
  const Tensor one = row({1, 1, 1, 1});
  step({one})[0].to_vector<float>();
  faults->delay_us = 5000;
  const int before = faults->launched;
  Readback pending = step({one})[0].read_async();
  int ahead = 0;
  for (int t = 0; t < 20; ++t) {
    Readback next = step({one})[0].read_async();
    const auto bytes = pending.bytes();
    float total;
    std::memcpy(&total, bytes.data(), 4);
    EXPECT_EQ(total, 4.0f * float(t + 2));
    ahead += faults->launched - before < int(step.launches()) * (t + 2);  // the step after the one that was read
    pending = std::move(next);
  }
  pending.bytes();
  EXPECT_GE(ahead, 18);
}

TEST_P(Failures, NothingIsKeptOfManyFailures) {
  const Tensor x = row(Floats(1000, 1));
  eval(x + 1.0);
  int64_t blocks = 0;
  for (int i = 0; i < 300; ++i) {
    (i % 3 == 0 ? faults->alloc : i % 3 == 1 ? faults->dispatch : faults->launch) = 0;
    try {
      const Tensor y = x + 1.0;
      eval(y);
      y.to_vector<float>();
    } catch (const Error&) {
    }
    faults->alloc = -1;
    EXPECT_EQ((x + 1.0).to_vector<float>()[999], 2.0f);
    if (i == 30) blocks = faults->live_blocks;
  }
  EXPECT_LE(faults->live_blocks, blocks);
}

}  // namespace
}  // namespace tenon::testing
