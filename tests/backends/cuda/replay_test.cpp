// Plans as CUDA graphs: a step that repeats is recorded once and launched as one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/cuda/cuda.h"
#include "backends/cuda/standin.h"
#include "base/cat.h"
#include "llm/tiny_model.h"
#include "runtime/device_context.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

// A device of its own.
Device open_device() { return Device(std::make_shared<DeviceContext>(open_cuda("cuda:0", 0))); }
// One that waits for each launch, and so replays nothing.
Device open_without_replay() {
  const Setting sync("TENON_CUDA_SYNC", "1");
  return open_device();
}

// The driver's calls while it lives.
class DriverCalls {
 public:
  DriverCalls() : path_(std::filesystem::temp_directory_path() / cat("tenon_replay_", ::getpid())), setting_("TENON_STANDIN_TRACE", path_.string()) {}
  ~DriverCalls() { std::filesystem::remove(path_); }
  std::vector<std::string> lines() const {
    std::ifstream file(path_);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
  int64_t count(const std::string& start) const {
    int64_t n = 0;
    for (const std::string& line : lines()) n += line.starts_with(start);
    return n;
  }

 private:
  const std::filesystem::path path_;
  const Setting setting_;
};

// Several launches of integers, so that values are exact.
Tensor mixed(const Tensor& x) { return cumsum(sort(x * 3 + 1), 0) - cumsum(argsort(x), 0); }

Tensor numbers(const Device& d, int64_t n = 33) {
  std::vector<int32_t> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(int32_t(i * 7919 % 101));
  return Tensor::from<int32_t>(v, {n}, d);
}

std::vector<int32_t> steps(const Device& d, int count) {
  State s(numbers(d));
  Scalar by(uint32_t(0), d);
  const Compiled step = compile([&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    s.set(remainder(mixed(s.value() + in[0]), 1023) + cast(by, DType::i32));
    return {max(s.value())};
  }, {numbers(d)}, d);
  Tensor x = numbers(d), last;
  for (int i = 0; i < count; ++i) {
    by.set(uint32_t(i));
    last = step({x})[0];
  }
  std::vector<int32_t> out = s.value().to_vector<int32_t>();
  out.push_back(last.item<int32_t>());
  return out;
}

TEST(CudaReplay, C3_SixtyFourStepsGiveTheValuesOfUnrecordedOnes) {
  const std::vector<int32_t> want = steps(Device::open("host"), 64);
  EXPECT_EQ(steps(open_without_replay(), 64), want);
  const DriverCalls calls;
  EXPECT_EQ(steps(open_device(), 64), want);
  EXPECT_GE(calls.count("cuGraphLaunch"), 56);
  EXPECT_LE(calls.count("cuStreamBeginCapture"), 4);
  EXPECT_EQ(calls.count("cuStreamBeginCapture"), calls.count("cuStreamEndCapture"));
  EXPECT_EQ(standin_reports(), "");
}

TEST(CudaReplay, C3_NothingIsAllocatedWhileLaunchesAreRecorded) {
  const DriverCalls calls;
  steps(open_device(), 8);
  bool recording = false;
  for (const std::string& line : calls.lines()) {
    if (line.starts_with("cuStreamBeginCapture")) recording = true;
    if (line.starts_with("cuStreamEndCapture")) recording = false;
    EXPECT_FALSE(recording && line.starts_with("cuMem")) << line;
  }
}

// The launch that is refused is the third one of the recording.
TEST(CudaReplay, C3_AnErrorWhileRecordingLeavesTheStreamUsable) {
  const Device d = open_device();
  const Compiled f = compile([](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {mixed(mixed(in[0]))}; }, {numbers(d)}, d);
  const Tensor x = numbers(d);
  const std::vector<int32_t> want = f({x})[0].to_vector<int32_t>();
  {
    const Setting fail("TENON_STANDIN_FAIL", "cuLaunchKernel:3:1");
    try {
      f({x});
      FAIL() << "the launch was refused";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("CUDA_ERROR_INVALID_VALUE"), std::string::npos) << e.what();
    }
  }
  const DriverCalls calls;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f({x})[0].to_vector<int32_t>(), want);
  EXPECT_GE(calls.count("cuGraphLaunch"), 2);
}

TEST(CudaReplay, ScratchThatMovesIsRecordedAgain) {
  const Device d = open_device();
  const Compiled f = compile([](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {mixed(mixed(in[0]))}; }, {numbers(d)}, d);
  const Tensor x = numbers(d);
  const std::vector<int32_t> want = f({x})[0].to_vector<int32_t>();
  for (int64_t n : {100'000, 300'000}) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(f({x})[0].to_vector<int32_t>(), want);
    EXPECT_EQ(sort(numbers(d, n)).to_vector<int32_t>().front(), 0);  // needs more scratch than before
  }
  EXPECT_EQ(f({x})[0].to_vector<int32_t>(), want);
  EXPECT_EQ(standin_reports(), "");
}

TEST(CudaReplay, AFaultOfAReplayNamesIt) {
  const Device d = open_device();
  const Compiled f = compile([](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {mixed(mixed(in[0]))}; }, {numbers(d)}, d);
  const Tensor x = numbers(d);
  for (int i = 0; i < 3; ++i) f({x})[0].to_vector<int32_t>();
  const Setting fail("TENON_STANDIN_FAIL", "run:2:700");
  try {
    f({x})[0].to_vector<int32_t>();
    FAIL() << "the device failed";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("a replay of "), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("TENON_CUDA_SYNC=1"), std::string::npos) << e.what();
  }
}

// Results outlive the device's handle, and so may what was recorded.
TEST(CudaReplay, PlansMayOutliveTheirDevice) {
  std::optional<Compiled> f;
  {
    const Device d = open_device();
    f = compile([](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {mixed(in[0])}; }, {numbers(d)}, d);
    for (int i = 0; i < 3; ++i) (*f)({numbers(d)});
  }
  f.reset();
  EXPECT_EQ(standin_reports(), "");
}

// The cache grows twice, and with it the plans: what was recorded for the smaller one is not used.
TEST(CudaReplay, C3_AGrowingCacheIsRecordedAgain) {
  const auto generated = [](const Device& d) {
    llm::Model model = llm::Model::load(test::TinyModel{.end_tokens = false}.source(), d);
    llm::GenerateOptions o;
    o.max_tokens = 40;
    o.temperature = 0;
    o.ignore_end = true;
    std::vector<int32_t> prompt(240);
    for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = int32_t(i * 31 % 250);
    return model.generate_ids(prompt, o).ids;
  };
  const std::vector<int32_t> want = generated(open_without_replay());
  ASSERT_EQ(want.size(), 40u);
  const DriverCalls calls;
  EXPECT_EQ(generated(open_device()), want);
  EXPECT_GE(calls.count("cuGraphLaunch"), 30);
  EXPECT_EQ(standin_reports(), "");
}

}  // namespace
}  // namespace tenon::testing
