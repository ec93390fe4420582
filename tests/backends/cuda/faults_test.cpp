// What goes wrong on a device, as a program with tensors and models sees it: each fault is told once, clearly, with its cause,
// and what it did not harm goes on. The stand-in injects what a real GPU does not show at will.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "backends/cuda/standin.h"
#include "base/cat.h"
#include "llm/tiny_model.h"
#include "support/thrown.h"
#include "tenon/llm.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

Tensor vector_of(int64_t n, float value, const Device& d) {
  const std::vector<float> values(size_t(n), value);
  return Tensor::from(std::span(values), {n}, d);
}

llm::GenerateOptions greedy(int64_t tokens) {
  llm::GenerateOptions o;
  o.max_tokens = tokens;
  return o;
}

const std::vector<int32_t> prompt{5, 6, 7};

// A tiny model as a file that goes with the object.
struct ModelFile {
  ModelFile() {
    const std::vector<std::byte> bytes = test::TinyModel{}.build();
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  }
  ~ModelFile() { std::remove(path.c_str()); }
  int64_t bytes() const { return int64_t(std::filesystem::file_size(path)); }
  const std::string path = cat(::testing::TempDir(), "tenon_faults_", int64_t(::getpid()), ".gguf");
};

TEST(CudaFaults, NoMemoryForAPlanSaysAllThatCounts) {
  const Setting memory("TENON_STANDIN_MEMORY", "3000000");
  const Device d = Device::open("cuda", 1);
  const Tensor x = vector_of(100000, 1, d);
  eval({x});
  const Error e = error_of([&] { eval({sort(x), sort(x + 1), sort(x * 2), sort(x * 3), sort(x * 4), sort(x * 5)}); });
  EXPECT_EQ(e.code(), ErrorCode::out_of_memory) << e.what();
  for (const char* part : {"cuda:0", "the plan needs", "bytes", "3000000", "largest tensors", "f32[100000]"})
    EXPECT_TRUE(has(e.what(), part)) << part << ": " << e.what();
  EXPECT_EQ((x + 1).to_vector<float>(), std::vector<float>(100000, 2)) << "a smaller plan runs";
}

TEST(CudaFaults, NoMemoryAtAnyAllocation) {
  for (int call = 1; call <= 3; ++call) {
    const Device d = Device::open("cuda", 1);
    const Tensor x = vector_of(1000, 3, d), y = vector_of(1000, 4, d);
    {
      const Setting fails("TENON_STANDIN_FAIL", cat("cuMemAlloc_v2:", call, ":2"));
      const Error e = error_of([&] { (x + y).to_vector<float>(); });
      EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
      EXPECT_TRUE(has(e.what(), "4096 bytes asked") && has(e.what(), "are free") && has(e.what(), "this process holds")) << e.what();
    }
    EXPECT_EQ((x + y).to_vector<float>(), std::vector<float>(1000, 7)) << "allocation " << call;
  }
}

TEST(CudaFaults, ARefusedLaunchIsThatRunsOnly) {
  const Device d = Device::open("cuda", 1);
  const Tensor x = vector_of(1000, 3, d);
  eval({x});
  {
    const Setting fails("TENON_STANDIN_FAIL", "cuLaunchKernel:1:701");
    const Error e = error_of([&] { (x * 2).to_vector<float>(); });
    EXPECT_TRUE(has(e.what(), "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES") && has(e.what(), "groups of 256 threads")) << e.what();
  }
  EXPECT_EQ((x * 2).to_vector<float>(), std::vector<float>(1000, 6));
}

TEST(CudaFaults, C1_ALostDeviceEndsTheModelButNotTheProcess) {
  const std::vector<int32_t> want = llm::Model::load(test::TinyModel{}.source(), Device::open("cuda", 1)).generate_ids(prompt, greedy(4)).ids;
  {
    const Device d = Device::open("cuda", 1);
    llm::Model model = llm::Model::load(test::TinyModel{}.source(), d);
    const Setting fails("TENON_STANDIN_FAIL", "run:9:719");
    EXPECT_TRUE(has(error_of([&] { model.generate_ids(prompt, greedy(4)); }).what(), "CUDA_ERROR_LAUNCH_FAILED"));
    for (int i = 0; i < 2; ++i) {
      const Error later = error_of([&] { model.generate_ids(prompt, greedy(4)); });
      EXPECT_TRUE(has(later.what(), "CUDA_ERROR_LAUNCH_FAILED")) << later.what();
    }
    EXPECT_TRUE(has(error_of([&] { vector_of(10, 1, d).to_vector<float>(), (vector_of(10, 1, d) + 1).to_vector<float>(); }).what(),
                    "failed before and is of no more use"));
  }
  const Device again = Device::open("cuda", 1);
  EXPECT_EQ(llm::Model::load(test::TinyModel{}.source(), again).generate_ids(prompt, greedy(4)).ids, want);
}

TEST(CudaFaults, SlowCopiesChangeNothing) {
  const Device d = Device::open("cuda", 1);
  const std::vector<int32_t> want = llm::Model::load(test::TinyModel{}.source(), d).generate_ids(prompt, greedy(4)).ids;
  const Setting slow("TENON_STANDIN_SLOW_COPY", "5");
  EXPECT_EQ(llm::Model::load(test::TinyModel{}.source(), d).generate_ids(prompt, greedy(4)).ids, want);
}

TEST(CudaFaults, AFileCutWhileItsWeightsStreamUp) {
  const ModelFile file;
  const Device d = Device::open("cuda", 1);
  llm::LoadOptions options;
  options.on_progress = [&](int64_t done, int64_t all) {
    if (done > all / 3) std::filesystem::resize_file(file.path, uintmax_t(file.bytes() / 2));
  };
  const Error e = error_of([&] { llm::Model::load(file.path, d, options); });
  EXPECT_EQ(e.code(), ErrorCode::format) << e.what();
  EXPECT_TRUE(has(e.what(), file.path) && has(e.what(), "cut it short")) << e.what();
  EXPECT_EQ(llm::Model::load(test::TinyModel{}.source(), d).generate_ids(prompt, greedy(4)).ids.size(), 4u) << "the device goes on";
}

TEST(CudaFaults, LessFreeMemoryThanTheModelNeeds) {
  const ModelFile file;
  const Setting memory("TENON_STANDIN_MEMORY", std::to_string(file.bytes() / 2));
  {
    const Device d = Device::open("cuda", 1);
    const Error e = error_of([&] { llm::Model::load(file.path, d); });
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory) << e.what();
    EXPECT_TRUE(has(e.what(), "cuda:0") && has(e.what(), "bytes asked") && has(e.what(), cat("of ", file.bytes() / 2, " are free")))
        << e.what();
  }
  const Setting enough("TENON_STANDIN_MEMORY", "4000000000");
  EXPECT_EQ(llm::Model::load(file.path, Device::open("cuda", 1)).generate_ids(prompt, greedy(4)).ids.size(), 4u)
      << "what was allocated was given back";
}

TEST(CudaFaults, ADeviceThatDoesNotExist) {
  for (const char* name : {"cuda:1", "cuda:99999999999", "cuda:-1", "cuda:x"}) {
    const Error e = error_of([&] { Device::open(name); });
    EXPECT_EQ(e.code(), ErrorCode::device);
    EXPECT_TRUE(has(e.what(), name) && has(e.what(), "cuda:0, cpu")) << e.what();
  }
}

// C2: what begins at an odd byte is read and written without wide accesses, which the stand-in would report.
TEST(CudaFaults, C2_OperandsThatBeginAnywhere) {
  const Device d = Device::open("cuda", 1);
  for (const DType t : {DType::u8, DType::f16, DType::f32})
    for (int64_t from = 0; from < 5; ++from) {
      const Tensor whole = arange(0, 200, 1, DType::i32, d), x = cast(whole, t);
      eval({x});
      const std::vector<float> got = cast(slice(x, 0, from, from + 101) + 1, DType::f32).to_vector<float>();
      for (int64_t i = 0; i < 101; ++i) ASSERT_EQ(got[size_t(i)], float(from + i + 1)) << to_string(t) << " " << from;
    }
  EXPECT_EQ(standin_reports(), "");
}

}  // namespace
}  // namespace tenon::testing
