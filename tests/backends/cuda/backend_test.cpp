// The CUDA backend through the stand-in, with kernels of the tests' own: memory, copies, tickets, launches, errors.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <numeric>
#include <thread>

#include "backends/cuda/cuda.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/standin.h"
#include "backends/cuda/staging.h"
#include "base/cat.h"
#include "runtime/device_context.h"
#include "support/thrown.h"
#include "tenon/device.h"
#include "tenon/error.h"

namespace tenon::testing {
namespace {

// Families of the generator below, all over params.region.dims[0] elements of i32:
//   "twice": out = 2 * in + scalars[0]; "two_phases": scratch = in + 1, then out = scratch * scratch
//   "astray": writes past its output; "broken": does not compile
const char* const parameters_text =
    "struct Params { unsigned words[256]; };\n"
    "#define INDEX (blockIdx.x + blockIdx.y * (unsigned long long)gridDim.x) * 32 + threadIdx.x\n";
const char* const twice_text = R"(
extern "C" __global__ void twice(const int* in, int* out, const unsigned* scalars, Params p) {
  const unsigned long long i = INDEX;
  if (i < p.words[0]) out[i] = 2 * in[i] + int(scalars[0]);
})";
const char* const two_phases_text = R"(
extern "C" __global__ void first(const int* in, int* out, const unsigned*, Params p, int* scratch) {
  const unsigned long long i = INDEX;
  if (i < p.words[0]) scratch[i] = in[i] + 1;
}
extern "C" __global__ void second(const int* in, int* out, const unsigned*, Params p, int* scratch) {
  const unsigned long long i = INDEX;
  if (i < p.words[0]) out[i] = scratch[i] * scratch[i];
})";
const char* const astray_text = R"(
extern "C" __global__ void astray(const int*, int* out, const unsigned*, Params p) {
  out[INDEX + p.words[0]] = 1;
})";

codegen::Source emit(const KernelDesc& desc, const codegen::Target&) {
  if (desc.family == "twice") return {cat(parameters_text, twice_text), {{"twice", 32, 0}}, false};
  if (desc.family == "two_phases") return {cat(parameters_text, two_phases_text), {{"first", 32, 0}, {"second", 32, 0}}, true};
  if (desc.family == "astray") return {cat(parameters_text, astray_text), {{"astray", 32, 0}}, false};
  if (desc.family == "broken") return {"extern \"C\" __global__ void broken(int* x) { x[0] = no_such_name; }", {{"broken", 32, 0}}, false};
  return {};
}
codegen::Extent extent(const KernelDesc& desc, const codegen::Source&, const Params& params) {
  const int64_t n = params.region.dims[0], groups = (n + 31) / 32;
  return desc.family == "two_phases" ? codegen::Extent{{groups, groups}, n * 4} : codegen::Extent{{groups}, 0};
}

KernelDesc description(const char* family) {
  KernelDesc d;
  d.family = family;
  d.outer_rank = 1;
  d.operands.resize(2);
  d.operands[1].access = Access::out;
  return d;
}

std::unique_ptr<Backend> open_device(const std::string& name = "cuda:0") { return cuda::open(name, {emit, extent}); }

std::vector<int32_t> counting(size_t n) {
  std::vector<int32_t> v(n);
  std::iota(v.begin(), v.end(), 0);
  return v;
}

void write(Backend& b, Handle to, const std::vector<int32_t>& values) { b.write(to, 0, std::as_bytes(std::span(values))); }
Handle upload(Backend& b, const std::vector<int32_t>& values) {
  const Handle h = b.alloc(int64_t(values.size()) * 4);
  write(b, h, values);
  return h;
}
std::vector<int32_t> download(Backend& b, Handle from, size_t n) {
  std::vector<int32_t> out(n, -1);
  b.read(from, 0, std::as_writable_bytes(std::span(out)));
  b.wait(b.submit());
  return out;
}

// Runs one kernel over n elements.
void run(Backend& b, const char* family, Handle in, Handle out, int64_t n) {
  const BackendKernel* k = b.kernel(description(family), KernelChoice::best);
  ASSERT_NE(k, nullptr);
  Params p;
  p.region.dims[0] = n;
  const Grid grid = b.grid(*k, p);
  const PlannedLaunch launch{k, grid};
  b.prepare({&launch, 1});
  const Handle scalars = upload(b, {7});
  const BoundView views[] = {{in, 0, Access::in}, {out, 0, Access::out}};
  b.dispatch(*k, views, p, {scalars, 0, Access::in}, grid);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST(CudaBackend, WritesCopiesAndReads) {
  const auto b = open_device();
  const Handle a = upload(*b, counting(1000)), c = b->alloc(4000);
  b->copy(c, 400, a, 0, 3600);
  b->copy(c, 0, a, 3600, 400);
  std::vector<int32_t> want = counting(1000);
  std::rotate(want.begin(), want.begin() + 900, want.end());
  EXPECT_EQ(download(*b, c, 1000), want);
}

TEST(CudaBackend, TransfersLargerThanThePinnedMemory) {
  const auto b = open_device();
  const size_t n = size_t(cuda::Staging::slot_bytes) * 6 / 4 + 123;
  const Handle a = upload(*b, counting(n));
  EXPECT_EQ(download(*b, a, n), counting(n));
}

TEST(CudaBackend, WhatIsWrittenMayGoAtOnceAndReadsComeWithTheTicket) {
  const Setting slow("TENON_STANDIN_SLOW_COPY", "50");
  const auto b = open_device();
  std::vector<int32_t> values = counting(100), got(100, -1);
  const Handle a = upload(*b, values);
  std::fill(values.begin(), values.end(), -2);
  b->read(a, 0, std::as_writable_bytes(std::span(got)));
  const Backend::Ticket ticket = b->submit();
  EXPECT_FALSE(b->passed(ticket));
  EXPECT_EQ(got[5], -1);
  b->wait(ticket);
  EXPECT_TRUE(b->passed(ticket));
  EXPECT_EQ(got, counting(100));
}

TEST(CudaBackend, AReadThatFailsHalfwayWritesNothingLater) {
  const auto b = open_device();
  const size_t n = size_t(cuda::Staging::slot_bytes) / 2;  // two slots
  const Handle a = upload(*b, counting(n));
  std::vector<int32_t> got(n, -1);
  const Setting slow("TENON_STANDIN_SLOW_COPY", "20"), fails("TENON_STANDIN_FAIL", "cuMemHostAlloc:2:2");
  EXPECT_TRUE(has(message_of([&] { b->read(a, 0, std::as_writable_bytes(std::span(got))); }), "pinning host memory"));
  b->wait(b->submit());
  EXPECT_EQ(got, std::vector<int32_t>(n, -1));
  EXPECT_EQ(download(*b, a, 8), counting(8));
}

TEST(CudaBackend, Launches) {
  const auto b = open_device();
  const Handle in = upload(*b, counting(1000)), out = b->alloc(4000);
  run(*b, "twice", in, out, 1000);
  const std::vector<int32_t> got = download(*b, out, 1000);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(got[size_t(i)], 2 * i + 7) << i;
}

TEST(CudaBackend, PhasesShareScratchThatGrows) {
  const auto b = open_device();
  for (const int n : {100, 5000, 300}) {
    const Handle in = upload(*b, counting(size_t(n))), out = b->alloc(n * 4);
    run(*b, "two_phases", in, out, n);
    const std::vector<int32_t> got = download(*b, out, size_t(n));
    for (int i = 0; i < n; ++i) ASSERT_EQ(got[size_t(i)], (i + 1) * (i + 1)) << i;
  }
}

TEST(CudaBackend, UnknownFamilyHasNoKernel) {
  EXPECT_EQ(open_device()->kernel(description("nothing"), KernelChoice::best), nullptr);
}

TEST(CudaBackend, KernelThatDoesNotCompile) {
  const Setting check("TENON_STANDIN_CHECK", "1");
  const auto b = open_device();
  const PlannedLaunch launch{b->kernel(description("broken"), KernelChoice::best), {}};
  const std::string text = message_of([&] { b->prepare({&launch, 1}); });
  EXPECT_TRUE(has(text, "does not compile for sm_75") && has(text, "no_such_name") && has(text, "NVRTC_ERROR_COMPILATION")) << text;
  const size_t at = text.find("is kept in ");
  ASSERT_NE(at, text.npos) << text;
  const std::string path = text.substr(at + 11);
  std::ifstream kept(path);
  EXPECT_TRUE(has({std::istreambuf_iterator<char>(kept), {}}, "no_such_name")) << path;
  ::unlink(path.c_str());
}

TEST(CudaBackend, C1_AFaultGivesItsCauseToEveryLaterCall) {
  const auto b = open_device();
  const Handle in = upload(*b, counting(64)), out = b->alloc(256);
  run(*b, "astray", in, out, 64);
  const std::string first = message_of([&] { b->wait(b->submit()); });
  EXPECT_TRUE(has(first, "cuda:0") && has(first, "CUDA_ERROR_ILLEGAL_ADDRESS") && has(first, "astray") &&
              has(first, "2 groups of 32 threads"))
      << first;
  EXPECT_TRUE(has(standin_reports(), "offset 256 of allocation"));
  for (const std::function<void()>& call : std::initializer_list<std::function<void()>>{
           [&] { b->alloc(16); }, [&] { upload(*b, {1}); }, [&] { b->copy(out, 0, in, 0, 4); }, [&] { download(*b, in, 1); },
           [&] { run(*b, "twice", in, out, 64); }}) {
    const std::string later = message_of(call);
    EXPECT_TRUE(has(later, "failed before") && has(later, "CUDA_ERROR_ILLEGAL_ADDRESS") && has(later, "astray")) << later;
  }
  b->free(in);  // giving back never throws
}

TEST(CudaBackend, AFailedDeviceCanBeOpenedAgainWhenItIsGone) {
  {
    const Setting fails("TENON_STANDIN_FAIL", "run:1:719");
    const auto b = open_device();
    const Handle in = upload(*b, counting(64)), out = b->alloc(256);
    run(*b, "twice", in, out, 64);
    EXPECT_TRUE(has(message_of([&] { b->wait(b->submit()); }), "CUDA_ERROR_LAUNCH_FAILED"));
  }
  const auto b = open_device();
  EXPECT_EQ(download(*b, upload(*b, counting(8)), 8), counting(8));
}

TEST(CudaBackend, ARefusedLaunchNamesItAndHarmsNothing) {
  const auto b = open_device();
  const Handle in = upload(*b, counting(64)), out = b->alloc(256);
  {
    const Setting fails("TENON_STANDIN_FAIL", "cuLaunchKernel:1:701");
    const std::string text = message_of([&] { run(*b, "twice", in, out, 64); });
    EXPECT_TRUE(has(text, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES") && has(text, "twice") && has(text, "2 groups of 32 threads")) << text;
  }
  run(*b, "twice", in, out, 64);
  EXPECT_EQ(download(*b, out, 64)[3], 13);
}

TEST(CudaBackend, ALostDeviceIsNamedAtTheNextCall) {
  const Setting fails("TENON_STANDIN_FAIL", "cuMemcpyHtoDAsync_v2:2:999");
  const auto b = open_device();
  upload(*b, {1});
  EXPECT_TRUE(has(message_of([&] { upload(*b, {2}); }), "CUDA_ERROR_UNKNOWN"));
  EXPECT_TRUE(has(message_of([&] { b->alloc(4); }), "failed before"));
}

TEST(CudaBackend, DevicesFailByThemselves) {
  const Setting two("TENON_STANDIN_DEVICES", "2");
  const auto first = open_device("cuda:0"), second = open_device("cuda:1");
  const Handle a = upload(*first, counting(64)), b = upload(*second, counting(64));
  run(*first, "astray", a, first->alloc(256), 64);
  EXPECT_TRUE(has(message_of([&] { first->wait(first->submit()); }), "device cuda:0: CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_EQ(download(*second, b, 64), counting(64));
  standin_reports();
}

TEST(CudaBackend, OtherThreadsWaitWhileWorkIsRecorded) {
  const auto b = open_device();
  const Handle a = b->alloc(4);
  std::vector<std::vector<int32_t>> got(40, std::vector<int32_t>(1, -1));
  std::vector<std::thread> readers;
  for (int i = 0; i < 40; ++i) {
    write(*b, a, {i});
    b->read(a, 0, std::as_writable_bytes(std::span(got[size_t(i)])));
    readers.emplace_back([&, i, ticket = b->submit()] {
      b->wait(ticket);
      EXPECT_EQ(got[size_t(i)][0], i);
    });
  }
  for (std::thread& t : readers) t.join();
}

TEST(CudaBackend, OutOfMemorySaysAskedFreeAndHeld) {
  const Setting memory("TENON_STANDIN_MEMORY", "1000000");
  const auto device = std::make_shared<DeviceContext>(open_device());
  RecursiveLock lock(device->mutex());
  Counters counters;
  const Pool::Block small = device->pool().take(100000, counters);
  const Pool::Block idle = device->pool().take(200000, counters);
  device->pool().give(idle);
  device->pool().give(device->pool().take(700000, counters));  // fits only because the idle block is given back
  const std::string text = message_of([&] { device->pool().take(2000000, counters); });
  EXPECT_TRUE(has(text, "2097152 bytes asked") && has(text, "of 1000000 are free") && has(text, "holds 106496 bytes")) << text;
  device->pool().give(small);
}

TEST(CudaBackend, InjectedOutOfMemory) {
  const Setting fails("TENON_STANDIN_FAIL", "cuMemAlloc_v2:1:2");
  const auto b = open_device();
  try {
    b->alloc(4096);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
  }
  EXPECT_TRUE(bool(b->alloc(4096))) << "nothing is lost";
}

// B1: a block goes to another user while work that reads it is still queued; the queue's order keeps them apart.
TEST(CudaBackend, B1_ABlockIsUsedAgainBehindItsLastReader) {
  const auto device = std::make_shared<DeviceContext>(open_device());
  RecursiveLock lock(device->mutex());
  Backend& b = device->backend();
  Counters counters;
  std::vector<std::vector<int32_t>> results(50, std::vector<int32_t>(256, -1));
  const Setting slow("TENON_STANDIN_SLOW_COPY", "1");
  for (int i = 0; i < 50; ++i) {
    const Pool::Block a = device->pool().take(1024, counters), copy = device->pool().take(1024, counters);
    write(b, a.handle, std::vector<int32_t>(256, i));
    b.copy(copy.handle, 0, a.handle, 0, 1024);
    device->pool().give(a);
    const Pool::Block again = device->pool().take(1024, counters);
    EXPECT_EQ(again.handle, a.handle);
    write(b, again.handle, std::vector<int32_t>(256, -7));
    b.read(copy.handle, 0, std::as_writable_bytes(std::span(results[size_t(i)])));
    device->pool().give(again);
    device->pool().give(copy);
    if (i % 10 == 9) device->pool().trim();  // waits before it frees: the stand-in would see a use after free
  }
  b.wait(b.submit());
  for (int i = 0; i < 50; ++i) ASSERT_EQ(results[size_t(i)], std::vector<int32_t>(256, i));
  EXPECT_EQ(standin_reports(), "");
}

}  // namespace
}  // namespace tenon::testing
