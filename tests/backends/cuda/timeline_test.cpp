// Traces of the CUDA backend: each launch's time on the device, on the host's clock, without waiting between launches.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/cuda/standin.h"
#include "base/trace.h"
#include "tenon/tenon.h"
#include "tenon/trace.h"

namespace tenon::testing {
namespace {

struct Span {
  std::string name;
  double start, end;
};

// The spans of one row of a trace, in the order of the file.
std::vector<Span> spans_of(const std::string& trace, const std::string& row) {
  const auto json = nlohmann::json::parse(trace);
  int number = -1;
  std::vector<Span> out;
  for (const auto& e : json["traceEvents"]) {
    if (e["ph"] == "M" && e["args"]["name"] == row) number = e["tid"];
    if (e["ph"] == "X" && e["tid"] == number) out.push_back({e["name"], e["ts"], double(e["ts"]) + double(e["dur"])});
  }
  return out;
}

// Four launches that depend on each other.
Tensor chain(const Device& d) {
  const std::vector<float> values(1 << 16, 0.5f);
  Tensor t = Tensor::from(std::span(values), {256, 256}, d);
  for (int i = 0; i < 4; ++i) t = matmul(t, t);
  return t;
}

TEST(Timeline, LaunchesLieInOrderWithinTheHostsSpan) {
  const Device d = Device::open("cuda", 1);
  chain(d).to_bytes();  // compiles
  start_trace();
  const int64_t before = trace_clock();
  chain(d).to_bytes();
  trace_host("all of it", before, trace_clock());
  const std::string trace = stop_trace();
  const std::vector<Span> launches = spans_of(trace, "device cuda:0");
  ASSERT_EQ(launches.size(), 4u) << trace;
  Span all{};
  for (const Span& s : spans_of(trace, "main thread"))
    if (s.name == "all of it") all = s;
  double last = all.start, sum = 0;
  for (const Span& s : launches) {
    EXPECT_EQ(s.name.rfind("matmul", 0), 0u) << s.name;
    EXPECT_LE(last, s.start + 0.01);  // the driver's float of milliseconds
    EXPECT_LT(s.start, s.end);
    last = s.end;
    sum += s.end - s.start;
  }
  EXPECT_LE(last, all.end + 0.01);
  EXPECT_GT(sum, 0.5 * (all.end - all.start)) << "the stand-in's kernels are most of the time";
}

TEST(Timeline, NothingWaitsBetweenLaunches) {
  const Device d = Device::open("cuda", 1);
  chain(d).to_bytes();
  const std::string path = ::testing::TempDir() + "tenon_timeline_calls.txt";
  std::remove(path.c_str());
  start_trace();
  chain(d).to_bytes();  // sets the clocks, which waits
  {
    const Setting calls("TENON_STANDIN_TRACE", path);
    chain(d).to_bytes();
  }
  stop_trace();
  std::ifstream file(path);
  int launches = 0, waits = 0;
  for (std::string line; std::getline(file, line);) {
    launches += line.rfind("cuLaunchKernel", 0) == 0;
    waits += line.rfind("cuEventSynchronize", 0) == 0 && launches > 0 && launches < 4;
  }
  EXPECT_EQ(launches, 4);
  EXPECT_EQ(waits, 0);
  std::remove(path.c_str());
}

TEST(Timeline, ARefusedLaunchHasNoSpan) {
  const Device d = Device::open("cuda", 1);
  chain(d).to_bytes();
  start_trace();
  {
    const Setting fails("TENON_STANDIN_FAIL", "cuLaunchKernel:3:701");
    EXPECT_THROW(chain(d).to_bytes(), Error);
  }
  chain(d).to_bytes();
  EXPECT_EQ(spans_of(stop_trace(), "device cuda:0").size(), 2u + 4u);
}

}  // namespace
}  // namespace tenon::testing
