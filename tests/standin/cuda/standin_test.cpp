// The stand-in by itself: small kernels written by hand, right ones and wrong ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <unistd.h>
#include <memory>
#include <vector>

#include "backends/cuda/driver.h"
#include "backends/cuda/nvrtc.h"
#include "backends/cuda/standin.h"
#include "base/cat.h"

namespace tenon::testing {
namespace {

using namespace cuda;

constexpr char vector_add[] = R"(
extern "C" __global__ void __launch_bounds__(64) vector_add(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
})";
constexpr char block_sum[] = R"(
extern "C" __global__ void block_sum(const float* in, float* out) {
  __shared__ float part[128];
  const int t = threadIdx.x;
  part[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
})";
constexpr char warp_sum[] = R"(
extern "C" __global__ void warp_sum(const float* in, float* out) {
  float v = in[threadIdx.x];
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(0xffffffffu, v, by);
  out[threadIdx.x] = v;
})";
constexpr char missing_barrier[] = R"(
extern "C" __global__ void missing_barrier(float* out) {
  __shared__ float t[64];
  t[threadIdx.x] = float(threadIdx.x);
  out[threadIdx.x] = t[63 - threadIdx.x];
})";
constexpr char out_of_bounds[] = R"(
extern "C" __global__ void out_of_bounds(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = float(n);
})";
constexpr char divergent[] = R"(
extern "C" __global__ void divergent(float* out) {
  if (threadIdx.x < 10) return;
  __syncthreads();
  out[threadIdx.x] = 1;
})";
constexpr char two_barriers[] = R"(
extern "C" __global__ void two_barriers(float* out) {
  if (threadIdx.x < 16)
    __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = 1;
})";
constexpr char past_shared[] = R"(
extern "C" __global__ void past_shared(float* out, int by) {
  __shared__ float t[32];
  float* p = t;
  p[threadIdx.x + by] = 1;
  __syncthreads();
  out[threadIdx.x] = p[threadIdx.x];
})";
constexpr char misaligned[] = R"(
extern "C" __global__ void misaligned(const float* in, float* out) {
  *(float4*)out = *(const float4*)(in + 1);
})";
constexpr char unwritten[] = R"(
extern "C" __global__ void unwritten(const float* in, float* out) {
  __shared__ float t[32];
  out[threadIdx.x] = threadIdx.x < 16 ? t[threadIdx.x] : in[threadIdx.x];
})";
constexpr char dynamic_reverse[] = R"(
extern "C" __global__ void dynamic_reverse(float* data) {
  extern __shared__ float t[];
  t[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = t[blockDim.x - 1 - threadIdx.x];
})";

// A device of the stand-in with one stream; everything is freed at the end.
class StandIn : public ::testing::Test {
 protected:
  StandIn() : driver(STANDIN_CUDA), nvrtc({STANDIN_NVRTC}) {
    EXPECT_EQ(driver.missing(), "");
    EXPECT_EQ(nvrtc.missing(), "");
    EXPECT_EQ(driver.context_retain(&context, 0), result::success);
    driver.context_set_current(context);
    EXPECT_EQ(driver.stream_create(&stream, stream_non_blocking), result::success);
    EXPECT_EQ(driver.event_create(&event, event_disable_timing), result::success);
    standin_reports();
  }
  ~StandIn() override {
    for (Module m : modules) driver.module_unload(m);
    driver.event_destroy(event);
    driver.stream_destroy(stream);
    driver.context_release(0);
  }

  DeviceAddress device(const std::vector<float>& values) {
    const DeviceAddress a = device(values.size());
    EXPECT_EQ(driver.copy_up(a, values.data(), values.size() * 4, stream), result::success);
    EXPECT_EQ(finish(), result::success);  // the values go on return
    return a;
  }
  DeviceAddress device(size_t floats) {
    DeviceAddress a = 0;
    EXPECT_EQ(driver.memory_alloc(&a, floats * 4), result::success);
    return a;
  }
  Result finish() {
    if (const Result r = driver.event_record(event, stream)) return r;
    return driver.event_wait(event);
  }
  std::vector<float> values(DeviceAddress a, size_t n) {
    std::vector<float> out(n);
    EXPECT_EQ(driver.copy_down(out.data(), a, n * 4, stream), result::success);
    EXPECT_EQ(finish(), result::success);
    return out;
  }
  Function load(const char* text, const std::string& name) {
    const std::vector<std::byte> image = nvrtc.compile(text, name, "sm_75");
    Module module = nullptr;
    Function function = nullptr;
    EXPECT_EQ(driver.module_load(&module, image.data()), result::success);
    modules.push_back(module);
    EXPECT_EQ(driver.module_function(&function, module, name.c_str()), result::success);
    return function;
  }
  template <class... A>
  Result launch(Function f, unsigned blocks, unsigned threads, unsigned shared, A... arguments) {
    void* all[] = {&arguments...};
    return driver.launch(f, blocks, 1, 1, threads, 1, 1, shared, stream, all, nullptr);
  }
  // Runs a kernel that is wrong; what the stand-in says of it.
  template <class... A>
  std::string report_of(const char* text, const std::string& name, unsigned blocks, unsigned threads, A... arguments) {
    EXPECT_EQ(launch(load(text, name), blocks, threads, 0, arguments...), result::success);
    last = finish();
    return standin_reports();
  }

  Driver driver;
  Nvrtc nvrtc;
  Context context = nullptr;
  Stream stream = nullptr;
  Event event = nullptr;
  std::vector<Module> modules;
  Result last = result::success;
};

std::vector<float> iota(size_t n) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = float(i);
  return v;
}

TEST_F(StandIn, VectorAdd) {
  const DeviceAddress a = device(iota(1000)), b = device(iota(1000)), out = device(size_t(1000));
  ASSERT_EQ(launch(load(vector_add, "vector_add"), 16, 64, 0, a, b, out, 1000), result::success);
  const std::vector<float> got = values(out, 1000);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], float(2 * i)) << i;
  EXPECT_EQ(standin_reports(), "");
}

TEST_F(StandIn, SharedMemoryAndBarriersInAllOrders) {
  const Setting orders("TENON_STANDIN_ORDERS", "3");
  const DeviceAddress in = device(iota(512)), out = device(size_t(4));
  ASSERT_EQ(launch(load(block_sum, "block_sum"), 4, 128, 0, in, out), result::success);
  EXPECT_EQ(values(out, 4), (std::vector<float>{8128, 24512, 40896, 57280}));
  EXPECT_EQ(standin_reports(), "");
}

TEST_F(StandIn, WarpShuffle) {
  const DeviceAddress in = device(iota(64)), out = device(size_t(64));
  ASSERT_EQ(launch(load(warp_sum, "warp_sum"), 1, 64, 0, in, out), result::success);
  const std::vector<float> got = values(out, 64);
  for (size_t i = 0; i < 64; ++i) ASSERT_EQ(got[i], i < 32 ? 496.f : 1520.f) << i;
}

TEST_F(StandIn, DynamicSharedMemory) {
  const DeviceAddress data = device(iota(96));
  ASSERT_EQ(launch(load(dynamic_reverse, "dynamic_reverse"), 1, 96, 96 * 4, data), result::success);
  std::vector<float> want = iota(96);
  std::reverse(want.begin(), want.end());
  EXPECT_EQ(values(data, 96), want);
}

TEST_F(StandIn, MemoryIsNanUntilWritten) {
  for (const float v : values(device(size_t(100)), 100)) ASSERT_TRUE(std::isnan(v));
  const DeviceAddress in = device(iota(32)), out = device(size_t(32));
  ASSERT_EQ(launch(load(unwritten, "unwritten"), 1, 32, 0, in, out), result::success);
  const std::vector<float> got = values(out, 32);
  for (size_t i = 0; i < 32; ++i) ASSERT_EQ(std::isnan(got[i]), i < 16) << i;
}

TEST_F(StandIn, MissingBarrier) {
  const Setting orders("TENON_STANDIN_ORDERS", "3");
  const std::string said = report_of(missing_barrier, "missing_barrier", 1, 64, device(size_t(64)));
  EXPECT_NE(said.find("depends on the order of the threads"), said.npos) << said;
  EXPECT_EQ(last, result::launch_failed);
}

TEST_F(StandIn, WriteOutOfBounds) {
  const std::string said = report_of(out_of_bounds, "out_of_bounds", 3, 64, device(size_t(128)), 128);
  EXPECT_NE(said.find("offset 512 of allocation"), said.npos) << said;
  EXPECT_NE(said.find("of 512 bytes: block (2,0,0) thread (0,0,0), line 4 of out_of_bounds"), said.npos) << said;
  EXPECT_EQ(last, result::illegal_address);
}

TEST_F(StandIn, UseAfterFree) {
  const DeviceAddress out = device(size_t(64));
  EXPECT_EQ(driver.memory_free(out), result::success);
  const std::string said = report_of(out_of_bounds, "out_of_bounds", 1, 64, out, 1);
  EXPECT_NE(said.find("which was freed"), said.npos) << said;
}

TEST_F(StandIn, DivergentBarriers) {
  const std::string said = report_of(divergent, "divergent", 1, 64, device(size_t(64)));
  EXPECT_NE(said.find("divergent barrier in block (0,0,0): 54 threads wait at a barrier"), said.npos) << said;
  EXPECT_NE(said.find("10 of 64 have returned; lines 4 (54 threads)"), said.npos) << said;
  EXPECT_EQ(last, result::launch_failed);
}

TEST_F(StandIn, TwoBarriers) {
  const std::string said = report_of(two_barriers, "two_barriers", 1, 64, device(size_t(64)));
  EXPECT_NE(said.find("different barriers, lines 4 and 6"), said.npos) << said;
}

TEST_F(StandIn, PastASharedArray) {
  const std::string said = report_of(past_shared, "past_shared", 1, 32, device(size_t(32)), 1);
  EXPECT_NE(said.find("past the end of a shared array of 128 bytes: block (0,0,0) thread (31,0,0), line 5"), said.npos) << said;
}

TEST_F(StandIn, MisalignedVector) {
  const std::string said = report_of(misaligned, "misaligned", 1, 1, device(iota(8)), device(size_t(8)));
  EXPECT_NE(said.find("not aligned"), said.npos) << said;
}

TEST_F(StandIn, LaunchesOverTheLimits) {
  const Function f = load(vector_add, "vector_add");
  const DeviceAddress a = device(iota(4));
  EXPECT_EQ(launch(f, 1, 1025, 0, a, a, a, 4), result::invalid_value);
  EXPECT_EQ(launch(f, 0, 32, 0, a, a, a, 4), result::invalid_value);
  EXPECT_EQ(launch(f, 1, 32, 49153, a, a, a, 4), result::invalid_value);
  int n = 4;
  DeviceAddress b = a, c = a;
  void* all[] = {const_cast<DeviceAddress*>(&a), &b, &c, &n};
  EXPECT_EQ(driver.launch(f, 1, 65536, 1, 32, 1, 1, 0, stream, all, nullptr), result::invalid_value);
  EXPECT_NE(standin_reports().find("a grid of 1,65536,1 blocks"), std::string::npos);
  EXPECT_EQ(launch(f, 1, 32, 0, a, a, a, 4), result::success);  // nothing is lost
  EXPECT_EQ(values(a, 4), (std::vector<float>{0, 2, 4, 6}));
}

TEST_F(StandIn, CopiesOutsideAnAllocation) {
  const DeviceAddress a = device(iota(4));
  float out[8];
  EXPECT_EQ(driver.copy_down(out, a, 20, stream), result::invalid_value);
  EXPECT_NE(standin_reports().find("cuMemcpyDtoHAsync of 20 bytes"), std::string::npos);
}

TEST_F(StandIn, WorkIsAsynchronous) {
  const Setting slow("TENON_STANDIN_SLOW_COPY", "100");
  const DeviceAddress a = device(iota(4));
  float out[4] = {-1, -1, -1, -1};
  EXPECT_EQ(driver.copy_down(out, a, 16, stream), result::success);
  EXPECT_EQ(driver.event_record(event, stream), result::success);
  EXPECT_EQ(driver.event_query(event), result::not_ready);
  EXPECT_EQ(driver.event_wait(event), result::success);
  EXPECT_EQ(out[3], 3);
}

TEST_F(StandIn, InjectedFailures) {
  DeviceAddress a = 0;
  {
    const Setting fails("TENON_STANDIN_FAIL", "cuMemAlloc_v2:2:2");
    EXPECT_EQ(driver.memory_alloc(&a, 16), result::success);
    EXPECT_EQ(driver.memory_alloc(&a, 16), result::out_of_memory);
    EXPECT_EQ(driver.memory_alloc(&a, 16), result::success);
  }
  const Setting fails("TENON_STANDIN_FAIL", "run:2:719");
  const Function f = load(vector_add, "vector_add");
  a = device(iota(4));
  EXPECT_EQ(launch(f, 1, 32, 0, a, a, a, 4), result::success);
  EXPECT_EQ(finish(), result::success);
  EXPECT_EQ(launch(f, 1, 32, 0, a, a, a, 4), result::success);
  EXPECT_EQ(finish(), result::launch_failed);
  EXPECT_EQ(driver.memory_alloc(&a, 16), result::launch_failed) << "the device stays lost";
}

TEST_F(StandIn, BatchWithOneBadText) {
  const Function good = load(vector_add, "vector_add");
  const Function bad = load("extern \"C\" __global__ void bad(float* x) { x[0] = no_such_name; }", "bad");
  const DeviceAddress a = device(iota(4));
  EXPECT_EQ(launch(bad, 1, 1, 0, a), result::invalid_image);
  EXPECT_NE(standin_reports().find("no_such_name"), std::string::npos);
  EXPECT_EQ(launch(good, 1, 32, 0, a, a, a, 4), result::success);
}

TEST_F(StandIn, TraceNamesAllocations) {
  const std::string path = cat(::testing::TempDir(), "standin_trace_", ::getpid());
  std::remove(path.c_str());
  {
    const Setting trace("TENON_STANDIN_TRACE", path);
    const DeviceAddress a = device(iota(8));
    ASSERT_EQ(launch(load(vector_add, "vector_add"), 1, 32, 0, a, a, a + 16, 4), result::success);
    ASSERT_EQ(finish(), result::success);
  }
  std::ifstream file(path);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  const size_t at = all.find("cuLaunchKernel vector_add grid 1,1,1 block 32,1,1 shared 0 m");
  ASSERT_NE(at, all.npos) << all;
  const std::string line = all.substr(at, all.find('\n', at) - at);
  EXPECT_NE(line.find("+0 m"), line.npos) << line;
  EXPECT_NE(line.find("+16 "), line.npos) << line;
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tenon::testing
