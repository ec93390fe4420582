// What one pass over a row gives (a maximum with a sum of exponentials, a sum with squared deviations): values against
// f64, the same bits however the graph is cut and on any number of threads, and how many passes a kernel makes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "graph/evaluate.h"
#include "graph/handles.h"
#include "graph/mode.h"
#include "kernels/region/program.cpu.h"
#include "support/lowering.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

// Multiples of `step` about `offset`, all of them exact in f32.
Floats about(double offset, double step, int64_t n, uint32_t seed = 1) {
  std::mt19937 random(seed);
  Floats x;
  for (int64_t i = 0; i < n; ++i) x.push_back(float(offset + step * double(random() % 1024)));
  return x;
}

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments(const Floats& x) {
  Moments m;
  for (float v : x) m.mean += double(v) / double(x.size());
  for (float v : x) m.variance += (double(v) - m.mean) * (double(v) - m.mean) / double(x.size());
  return m;
}

class OnePass : public ::testing::TestWithParam<graph::LowerMode> {
 protected:
  modes::InLowerMode mode{GetParam()};
  Device d = Device::open("cpu");
};
INSTANTIATE_TEST_SUITE_P(Modes, OnePass, ::testing::ValuesIn(modes::lower_modes), [](const auto& p) { return modes::name_of(p.param); });

TEST_P(OnePass, VarianceOfDataFarFromZero) {
  for (const auto& [offset, step] : {std::pair{1e4, 0x1p-10}, {1e8, 8.0}, {-1e8, 8.0}, {0.0, 1.0}})
    for (int64_t n : {7, 1000, 1025, 5000}) {
      const Floats x = about(offset, step, n);
      const double want = moments(x).variance;
      EXPECT_NEAR(var(Tensor::from<float>(x, {n}, d)).item<float>(), want, 1e-6 * want) << n << " about " << offset;
      EXPECT_NEAR(stddev(Tensor::from<float>(x, {n}, d)).item<float>(), std::sqrt(want), 1e-6 * std::sqrt(want)) << n;
    }
}

TEST_P(OnePass, VarianceInF64) {
  std::vector<double> x;
  for (int i = 0; i < 3000; ++i) x.push_back(1e12 + double(i % 7) * 0x1p-10);
  double mean = 0, want = 0;
  for (double v : x) mean += (v - 1e12) / double(x.size());
  for (double v : x) want += (v - 1e12 - mean) * (v - 1e12 - mean) / double(x.size());
  EXPECT_NEAR(var(Tensor::from<double>(x, {3000}, d)).item<double>(), want, 1e-10 * want);
}

TEST_P(OnePass, LayerNormOfDataFarFromZero) {
  const int64_t n = 1500;
  const Floats x = about(1e4, 0x1p-5, n);
  const Moments m = moments(x);
  const Floats y = layer_norm(Tensor::from<float>(x, {1, n}, d), ones({n}, DType::f32, d), Tensor(), 0).to_vector<float>();
  for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], (double(x[i]) - m.mean) / std::sqrt(m.variance), 3e-4) << i;
}

TEST_P(OnePass, LogSumExpWhereTheMaximumRisesLate) {
  Floats x(4000);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i) * 0.05f - 100;  // each block raises the maximum
  for (float v : x) sum += std::exp(double(v) - double(x.back()));
  const double want = std::log(sum) + double(x.back());
  EXPECT_NEAR(logsumexp(Tensor::from<float>(x, {4000}, d)).item<float>(), want, 1e-6 * want);
}

TEST_P(OnePass, TheSameBitsFusedUnfusedAndOnAnyThreads) {
  for (int64_t n : {5, 1024, 3000}) {
    const Floats x = about(-3, 0.01, 40 * n);
    std::vector<std::vector<Floats>> runs;
    for (int threads : {1, 2, 7})
      for (bool fuse : {true, false}) {
        graph::set_fusion(fuse);
        const Device device = Device::open("cpu", threads);
        const Tensor t = Tensor::from<float>(x, {40, n}, device);
        const Tensor w = ones({n}, DType::f32, device);
        runs.push_back({softmax(t).to_vector<float>(), log_softmax(t).to_vector<float>(), logsumexp(t).to_vector<float>(),
                        var(t, {1}).to_vector<float>(), layer_norm(t, w, w).to_vector<float>()});
        graph::set_fusion(true);
        ASSERT_EQ(runs.back(), runs.front()) << n << " fused " << fuse << " threads " << threads;
      }
  }
}

TEST(OnePassKernels, ReductionsOfOneArgumentShareAPass) {
  const modes::InLowerMode tuned(graph::LowerMode::tuned);
  const Device d = Device::open("cpu");
  const Tensor x = Tensor::from<float>(Floats(128, 1), {2, 64}, d), w = ones({64}, DType::f32, d);
  const Tensor targets = Tensor::from<int32_t>({1, 2}, {2}, d);
  CrossEntropyOptions per_row;
  per_row.reduction = Reduction::none;
  const std::vector<std::pair<Tensor, size_t>> made = {{softmax(x), 2}, {log_softmax(x), 2}, {logsumexp(x), 1}, {var(x, {1}), 1}, {layer_norm(x, w, w), 2},
                                                       {cross_entropy(x, targets, per_row), 1}};
  for (size_t i = 0; i < made.size(); ++i) {
    const auto plan = graph::plan_for(std::vector<graph::NodeRef>{graph::node_of(made[i].first)});
    ASSERT_EQ(plan->launches(), 1) << i;
    const auto program = cpu::make_program(plan->steps.at(0).desc);
    size_t passes = 0;
    for (const cpu::ProgramStage& s : program->stages) passes += !s.blocks.empty() || !s.reduces.empty();
    EXPECT_EQ(passes, made[i].second) << i;
  }
}

}  // namespace
}  // namespace tenon
