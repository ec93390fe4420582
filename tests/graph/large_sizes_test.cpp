// Hazard I3 and its kind: sizes past 2^31 and 2^32 on devices that only plan. Products, offsets, strides, grids and the
// parameters that kernels get are 64-bit; nothing here needs the memory that it speaks of.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/cat.h"
#include "graph/evaluate.h"
#include "graph/handles.h"
#include "support/faulty_backend.h"
#include "support/lowering.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr int64_t two31 = int64_t(1) << 31, two32 = int64_t(1) << 32;

class LargeSizes : public ::testing::Test {
 protected:
  Device d = Device::open("null:roomy");
  modes::InLowerMode tuned{modes::LowerMode::tuned};

  Tensor one(DType t = DType::f32) { return Tensor::from_bytes(std::vector<std::byte>(size_t(block_bytes(t))), t, {}, d); }
  // A leaf of this shape that is one element, everywhere.
  Tensor everywhere(const Shape& shape, DType t = DType::f32) {
    Tensor x = broadcast_to(one(t), shape);
    eval(x);
    return x;
  }
  // A value in memory of its own.
  Tensor whole(const Shape& shape, DType t = DType::f32) {
    Tensor x = tanh(everywhere(shape, t));
    eval(x);
    return x;
  }
  std::shared_ptr<const Plan> plan(const Tensor& t) {
    const graph::NodeRef root = graph::node_of(t);
    return graph::plan_for({&root, 1});
  }
  // The last operand that the first launch reads.
  const RegionOperandParams& operand(const Plan& p, int i) { return p.steps.at(0).params.region.operands[i]; }
};

TEST_F(LargeSizes, ElementWise) {
  for (int64_t n : {two31 - 1, two31, two31 + 1, two32, two32 + 5}) {
    const auto p = plan(everywhere({n}) + everywhere({n}));
    EXPECT_EQ(p->launches(), 1);
    EXPECT_EQ(p->output_bytes, 4 * n);
    EXPECT_EQ(int64_t(p->steps[0].params.region.dims[0]), n);
    EXPECT_EQ(p->steps[0].grid.groups, (n + 255) / 256);
  }
}

TEST_F(LargeSizes, StridesAndOffsetsOfViews) {
  const int64_t n = two31 + 3;
  const auto transposed = plan(transpose(whole({n, 2})) * 2.0);
  EXPECT_EQ(transposed->output_bytes, 8 * n);
  const auto reversed = plan(flip(whole({n}), 0) * 2.0);
  EXPECT_EQ(int64_t(operand(*reversed, 0).strides[0]), -1);
  EXPECT_EQ(int64_t(operand(*reversed, 0).base), n - 1);
  const auto late = plan(slice(whole({two32 + 9}), 0, two32 + 1, {}) * 2.0);
  EXPECT_EQ(late->steps[0].views[0].offset + late->steps[0].views[1].offset, 4 * (two32 + 1));
  const auto stepped = plan(slice(whole({3, two32}), 0, {}, {}, 2) + everywhere({2, two32}));
  EXPECT_EQ(stepped->output_bytes, 8 * two32);
  EXPECT_NE(to_string(*stepped).find(cat("[2,", two32, "]")), std::string::npos) << to_string(*stepped);
}

TEST_F(LargeSizes, Reductions) {
  const int64_t n = two32 + 5;
  const auto columns = plan(sum(everywhere({3, n}), {1}));
  EXPECT_EQ(columns->steps[0].grid.groups, 3);
  EXPECT_EQ(int64_t(columns->steps[0].params.region.dims[1]), n);
  EXPECT_EQ(columns->output_bytes, 12);
  const auto rows = plan(max(everywhere({n, 3}), {1}));
  EXPECT_EQ(rows->steps[0].grid.groups, n);
  EXPECT_EQ(rows->output_bytes, 4 * n);
  EXPECT_EQ(plan(mean(everywhere({65536, 65537})))->output_bytes, 4);
}

TEST_F(LargeSizes, Products) {
  const int64_t n = two31 + 1;
  const auto long_sum = plan(matmul(everywhere({1, n}), everywhere({n, 1})));
  EXPECT_EQ(int64_t(long_sum->steps.back().params.matmul.k), n);
  const auto tall = plan(matmul(everywhere({n, 4}), everywhere({4, 3})));
  EXPECT_EQ(int64_t(tall->steps.back().params.matmul.m), n);
  EXPECT_EQ(tall->output_bytes, 12 * n);
  const auto batches = plan(matmul(everywhere({n, 2, 3}), everywhere({n, 3, 2})));
  const I64(&batch)[3] = batches->steps.back().params.matmul.batch;
  EXPECT_EQ(batch[0] * batch[1] * batch[2], n);
  const auto wide = plan(matmul(everywhere({3, 5}), whole({5, n})));
  EXPECT_EQ(int64_t(wide->steps.back().params.matmul.b_row), n);
}

TEST_F(LargeSizes, GathersAndUpdates) {
  const int64_t rows = two31 + 7;
  const auto gathered = plan(take(everywhere({rows, 3}), everywhere({4}, DType::i32), 0) + 0.5);
  EXPECT_EQ(gathered->output_bytes, 48);
  bool found = false;
  for (int i = 0; i < 3; ++i) found = found || int64_t(operand(*gathered, i).gather_extent) == rows;
  EXPECT_TRUE(found);
  State cache(whole({rows, 3}));
  const auto appended = plan(update(cache.value(), everywhere({1, 3}), Scalar(uint32_t(3), d), 0));
  const PlanStep& store = appended->steps.back();
  const int last = int(store.desc.operands.size()) - 1;
  EXPECT_EQ(int64_t(store.params.region.operands[last].dynamic_max), rows - 1);
  // A run-time scalar has 32 bits: what it can never reach is no bound.
  State longer(whole({two32 + 9, 3}));
  const auto farther = plan(update(longer.value(), everywhere({1, 3}), Scalar(uint32_t(3), d), 0));
  EXPECT_EQ(int64_t(farther->steps.back().params.region.operands[last].dynamic_max), two32 - 1);
}

TEST_F(LargeSizes, JoinsWriteBehind32Bits) {
  const int64_t n = two31;
  const auto p = plan(concat({everywhere({n}, DType::bool_), everywhere({n}, DType::bool_), everywhere({5}, DType::bool_)}, 0));
  EXPECT_EQ(p->output_bytes, 2 * n + 5);
  std::vector<int64_t> at;
  for (const PlanStep& s : p->steps)
    for (const PlanView& v : s.views)
      if (v.access == Access::out) at.push_back(v.offset);
  std::sort(at.begin(), at.end());
  EXPECT_EQ(at, (std::vector<int64_t>{0, n, 2 * n}));
  EXPECT_EQ(plan(pad(everywhere({3, n}), {{0, 0}, {1, 2}}))->output_bytes, 12 * (n + 3));
}

TEST_F(LargeSizes, CountsAndRandomWords) {
  const auto p = plan(random_bits({two32 + 5}, 7, 0, d));
  EXPECT_EQ(p->output_bytes, 4 * (two32 + 5));
  const auto& program = p->steps[0].desc.program;
  EXPECT_TRUE(std::any_of(program.begin(), program.end(), [](const Instr& i) { return i.kind == Instr::Kind::index && i.bits == 1; }));
}

TEST_F(LargeSizes, AttentionOverALongCache) {
  const int64_t n = two31 + 1;
  const auto p = plan(attention(everywhere({1, 2, 1, 16}), everywhere({1, 1, n, 16}, DType::f16), everywhere({1, 1, n, 16}, DType::f16)));
  EXPECT_EQ(int64_t(p->steps.back().params.attention.s), n);
}

TEST_F(LargeSizes, ProductsThatDoNotFitIn64BitsAreErrors) {
  const Tensor x = one();
  for (const Shape& shape : {Shape{two32, two32}, Shape{int64_t(1) << 40, int64_t(1) << 24}, Shape{3, (int64_t(1) << 62)}}) {
    try {
      broadcast_to(x, shape);
      (broadcast_to(x, shape) + 1.0).size();
      FAIL() << to_string(shape);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(e.what()).find("does not fit in 64 bits"), std::string::npos) << e.what();
    }
  }
  // Elements that can be counted, bytes that cannot.
  EXPECT_THROW(plan(broadcast_to(x, {int64_t(1) << 61, 2}) + 1.0), Error);
  EXPECT_THROW(concat({broadcast_to(x, {int64_t(1) << 62}), broadcast_to(x, {int64_t(1) << 62}), broadcast_to(x, {int64_t(1) << 62})}, 0), Error);
}

// The row's own figure, computed: about four thousand million elements of one byte.
TEST_F(LargeSizes, SumOfMoreThan32BitsCount) {
  const char* all = std::getenv("TENON_TEST_ALL");
  if (!all || *all != '1') GTEST_SKIP() << "TENON_TEST_ALL=1 takes some seconds for it";
  const Device cpu = Device::open("cpu");
  const Tensor one_byte = Tensor::from_bytes(std::vector<std::byte>(1, std::byte(1)), DType::u8, {}, cpu);
  const Tensor many = reshape(broadcast_to(one_byte, {65536, 65537}), {-1});
  EXPECT_EQ(many.size(), 4295032832);
  EXPECT_EQ(sum(cast(many, DType::i64)).to_vector<int64_t>(), (std::vector<int64_t>{4295032832}));
}

TEST_F(LargeSizes, GridsPastThreeDimensionsAreCut) {
  auto faults = std::make_shared<testing::Faults>();
  faults->max_groups = 100;
  const Device narrow = testing::faulty_device("host", faults);
  Tensor x = broadcast_to(Tensor::from<float>({1}, {}, narrow), {two32 + 5});
  eval(x);
  const auto p = plan(x * 2.0);
  EXPECT_EQ(p->launches(), 2);
  int64_t elements = 0;
  for (const PlanStep& s : p->steps) {
    EXPECT_LE(s.grid.groups, 1000000);
    elements += s.params.region.dims[0];
  }
  EXPECT_EQ(elements, two32 + 5);
}

TEST_F(LargeSizes, TooLittleMemoryNamesTheLargestTensors) {
  auto faults = std::make_shared<testing::Faults>();
  faults->memory_bytes = int64_t(1) << 30;
  const Device small = testing::faulty_device("cpu", faults);
  Tensor x = broadcast_to(Tensor::from<float>({1}, {}, small), {1000, 1000, 300});
  eval(x);
  try {
    eval(softmax(tanh(x), 0));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
    for (const char* part : {"1073741824", "largest tensors are f32[1000,1000,300] (1200000000 bytes)", "smaller dtype"})
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
  EXPECT_EQ((Tensor::from<float>({1}, {1}, small) + 1.0).item<float>(), 2.0f);
}

}  // namespace
}  // namespace tenon
