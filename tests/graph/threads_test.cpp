// Several threads: graphs built and evaluated at once on one device and on several, values handed over, language models
// side by side. Run under ThreadSanitizer too.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "llm/tiny_model.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

// Runs f(0), f(1), … on threads of their own; what one throws fails the test.
template <class F>
void on_threads(int count, F&& f) {
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      ++ready;
      while (ready < count) std::this_thread::yield();  // all at once
      try {
        f(i);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "thread " << i << ": " << e.what();
      }
    });
  for (std::thread& t : threads) t.join();
}

class Threads : public ::testing::TestWithParam<const char*> {
 protected:
  Device d = Device::open(GetParam(), 2);
  Tensor row(const Floats& v) { return Tensor::from<float>(v, {int64_t(v.size())}, d); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Threads, ::testing::Values("cpu", "host"), [](const auto& p) { return std::string(p.param); });

TEST_P(Threads, BuildGraphsOfOneTensor) {
  const Tensor x = row({1, 2, 3});
  eval(x);
  on_threads(4, [&](int i) {
    Tensor y = x;
    for (int k = 0; k < 500; ++k) y = maximum(y, y + double(i));
    EXPECT_EQ(y.size(), 3);
  });
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 2, 3}));
}

TEST_P(Threads, EvaluateOnOneDevice) {
  const Tensor x = row({1, 2, 3, 4}), w = Tensor::from<float>(Floats(16, 0.25f), {4, 4}, d);
  eval(x, w);
  on_threads(4, [&](int i) {
    for (int k = 0; k < 60; ++k) {
      const int n = (i + k) % 7;  // plans of the others' too, from the cache
      Tensor y = x + double(i);
      for (int j = 0; j < n; ++j) y = matmul(y, w);
      const float mean = 2.5f + float(i);
      EXPECT_NEAR(y.to_vector<float>()[0], n == 0 ? 1.0f + float(i) : mean, 1e-5);
    }
  });
}

TEST_P(Threads, EvaluateOnDevicesOfTheirOwn) {
  on_threads(3, [&](int i) {
    const Device own = Device::open(GetParam(), 1 + i % 2);
    const Tensor x = Tensor::from<float>({1, 2}, {2}, own);
    for (int k = 0; k < 40; ++k) EXPECT_EQ((x * double(k) + x).to_vector<float>(), (Floats{float(k + 1), float(2 * k + 2)}));
  });
}

TEST_P(Threads, EachUpdatesAStateOfItsOwn) {
  on_threads(4, [&](int i) {
    State s(row({0, 0, 0}) + double(i));
    for (uint32_t k = 0; k < 60; ++k) s.apply([&](const Tensor& v) { return update(v, slice(v, 0, 0, 1) + 1.0, Scalar(k % 3, d), 0); });
    const Floats v = s.value().to_vector<float>();
    EXPECT_EQ(v, (Floats{float(i + 20), float(i + 21), float(i + 21)}));  // element 0 is raised by every third update
  });
}

TEST_P(Threads, ATensorIsHandedOver) {
  std::vector<Tensor> made(8);
  std::atomic<int> done{0};
  std::thread maker([&] {
    for (int i = 0; i < 8; ++i) {
      made[size_t(i)] = softmax(row({float(i), float(i), 0}));
      eval(made[size_t(i)]);
      done.store(i + 1, std::memory_order_release);
    }
  });
  for (int i = 0; i < 8; ++i) {
    while (done.load(std::memory_order_acquire) <= i) std::this_thread::yield();
    const Floats v = (made[size_t(i)] * 2.0).to_vector<float>();
    EXPECT_NEAR(v[0] + v[1] + v[2], 2, 1e-6);
    made[size_t(i)] = Tensor();  // the other thread's memory is freed here
  }
  maker.join();
}

TEST_P(Threads, OneOfThemWaitsWhileOthersSubmit) {
  const Tensor big = Tensor::from<float>(Floats(256 * 256, 1e-3f), {256, 256}, d);
  eval(big);
  on_threads(3, [&](int i) {
    for (int k = 0; k < 4; ++k) {
      Tensor y = big;
      for (int j = 0; j < 2 + i; ++j) y = matmul(y, big);
      Readback r = y.read_async();
      const Tensor z = row({1, 2}) + double(k);
      eval(z);
      EXPECT_EQ(r.bytes().size(), size_t(4 * 256 * 256));
      EXPECT_EQ(z.to_vector<float>()[0], float(1 + k));
    }
  });
}

// ---------------------------------------------------------------------------------------------------- language models

std::vector<int32_t> generate(const Device& d, uint32_t seed, int start) {
  test::TinyModel tiny;
  tiny.seed = seed;
  tiny.layers = 1;
  llm::Model model = llm::Model::load(tiny.source(), d);
  llm::GenerateOptions o;
  o.max_tokens = 12;
  return model.generate_ids({start, start + 1, start + 2}, o).ids;
}

TEST(ThreadsWithModels, TwoModelsOnOneDeviceAndOnTwo) {
  const Device one = Device::open("cpu", 2), other = Device::open("cpu", 1);
  const std::vector<int32_t> want[] = {generate(one, 1, 5), generate(one, 2, 9)};
  EXPECT_EQ(want[0].size(), 12u);
  EXPECT_NE(want[0], want[1]);
  for (const Device& second : {one, other})
    on_threads(2, [&](int i) {
      for (int k = 0; k < 2; ++k) EXPECT_EQ(generate(i == 0 ? one : second, uint32_t(i + 1), i == 0 ? 5 : 9), want[i]);
    });
}

}  // namespace
}  // namespace tenon
