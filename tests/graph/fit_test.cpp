// Launches made to fit: bindings that start where a device wants them, grids cut into parts. The values are those of the
// cpu without limits, on a cpu that refuses what does not fit.
#include "graph/fit.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/compare.h"
#include "support/faulty_backend.h"
#include "support/lowering.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

using Floats = std::vector<float>;

TEST(GridDimensions, HoldAllGroupsAndFewMore) {
  const int64_t max = 65535;
  for (int64_t n : {int64_t(1), max, max + 1, int64_t(65537), max * max - 1, max * max, max * max + 1, (int64_t(1) << 32) + 5,
                    max * max * max - 1, max * max * max}) {
    const auto g = grid_dimensions(n, max);
    ASSERT_TRUE(g) << n;
    for (int64_t side : {g->x, g->y, g->z}) EXPECT_TRUE(side >= 1 && side <= max) << n;
    const int64_t all = g->x * g->y * g->z;
    EXPECT_GE(all, n);
    EXPECT_LE(all - n, g->y * g->z) << n;
    EXPECT_EQ(g->y * g->z == 1, n <= max) << n;
  }
  EXPECT_FALSE(grid_dimensions(max * max * max + 1, max));
  EXPECT_TRUE(grid_dimensions(int64_t(1) << 62, int64_t(1) << 62));
  EXPECT_FALSE(grid_dimensions(9, 2));
  EXPECT_TRUE(grid_dimensions(8, 2));
}

Device narrow(int64_t alignment, int64_t groups, int bindings = 32, const char* inner = "cpu") {
  auto faults = std::make_shared<Faults>();
  faults->view_alignment = alignment;
  faults->max_groups = groups;
  faults->max_bindings = bindings;
  return faulty_device(inner, faults);
}

Tensor counting(Shape shape, const Device& d, DType t = DType::f32) {
  Floats v(size_t(element_count(shape)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = float(int(i * 7 % 23) - 11) / 4;
  return cast(Tensor::from<float>(v, std::move(shape), d), t);
}
// A leaf that begins inside its storage.
Tensor evaluated(Tensor t) {
  eval(t);
  return t;
}
Tensor part(Shape shape, int64_t skip, const Device& d, DType t = DType::f32) {
  const int64_t n = element_count(shape);
  return evaluated(reshape(slice(evaluated(counting({n + skip}, d, t)), 0, skip, {}), std::move(shape)));
}

Tensor above(const Tensor& x, double least) { return greater(x, full({}, least, x.dtype(), x.device())); }

struct Graph {
  const char* name;
  std::function<Tensor(const Device&)> make;
};

Tensor quantised(const Device& d) {
  std::vector<std::byte> bytes;
  for (int block = 0; block < 2 * 1300; ++block) {  // [1300, 64] q8_0, d = 1/4
    bytes.push_back(std::byte(0x00));
    bytes.push_back(std::byte(0x34));
    for (int i = 0; i < 32; ++i) bytes.push_back(std::byte((i * 5 + block * 3) % 13));
  }
  return Tensor::from_bytes(bytes, DType::q8_0, {1300, 64}, d);
}

const std::vector<Graph>& graphs() {
  static const std::vector<Graph> all = {
      {"map of parts", [](const Device& d) { return part({33, 65}, 3, d) * part({33, 65}, 5, d, DType::f16) + part({65}, 1, d, DType::bf16); }},
      {"slices in a graph", [](const Device& d) { const Tensor x = counting({7, 130}, d); return slice(x, 1, 3, 60) + slice(x, 1, 64, 121); }},
      {"reversed", [](const Device& d) { return flip(slice(counting({301}, d), 0, 7, {}), 0) * 2.0; }},
      {"odd bytes", [](const Device& d) { return where(evaluated(slice(evaluated(above(counting({130}, d), 0)), 0, 1, {})), counting({129}, d), part({129}, 3, d)); }},
      {"rows", [](const Device& d) { return softmax(part({5, 70}, 9, d)) * part({5, 70}, 2, d); }},
      {"a long map", [](const Device& d) { return part({30000}, 7, d) + part({3, 30000}, 1, d) * 0.5; }},
      {"many rows", [](const Device& d) { return sum(transpose(part({65, 1300}, 3, d)), {1}, true) - part({1300, 65}, 11, d); }},
      {"a map with coordinates", [](const Device& d) { return tril(part({300, 310}, 3, d)) + eye(300, 310, 1, DType::f32, d); }},
      {"concat", [](const Device& d) { return concat({part({3, 5}, 1, d), part({3, 7}, 2, d), part({3, 2}, 3, d)}, 1); }},
      {"pad", [](const Device& d) { return pad(part({5, 33}, 3, d), {{1, 2}, {3, 1}}, PadMode::constant, 7); }},
      {"gather", [](const Device& d) { return take(part({9, 33}, 5, d), Tensor::from<int32_t>({3, 8, 0, 9}, {4}, d), 0) + 1.0; }},
      {"a long gather", [](const Device& d) { return take(part({9, 33}, 5, d), remainder(arange(0, 2600, 1, DType::i32, d), 9), 0) * 2.0; }},
      {"a quantised table", [](const Device& d) { return embedding(quantised(d), Tensor::from<int32_t>({1299, 1}, {2}, d)); }},
      {"quantised rows", [](const Device& d) { return slice(cast(quantised(d), DType::f32), 0, 9, 1290) * 2.0; }},
      {"matmul", [](const Device& d) { return relu(matmul(part({33, 40}, 3, d), part({40, 17}, 5, d)) + part({17}, 7, d)) + part({33, 17}, 9, d); }},
      {"matmul of a row", [](const Device& d) { return matmul(part({1, 40}, 3, d, DType::f16), transpose(part({50, 40}, 1, d, DType::f16))); }},
      {"matmul of slices", [](const Device& d) { const Tensor x = counting({40, 100}, d); return matmul(slice(x, 1, 1, 41), slice(x, 1, 57, 90)); }},
      {"reversed quantised rows", [](const Device& d) { return flip(flip(cast(quantised(d), DType::f32), 0), 1) * 2.0; }},
      {"matmul backwards", [](const Device& d) { return matmul(flip(part({9, 40}, 3, d), 1), flip(flip(part({40, 17}, 5, d), 0), 1)); }},
      {"linear of quantised rows", [](const Device& d) { return linear(part({3, 64}, 5, d), quantised(d)); }},
      {"attention", [](const Device& d) {
         AttentionOptions o;
         o.mask = evaluated(slice(evaluated(above(counting({5, 10}, d), -2)), 1, 1, {}));
         o.bias = part({4, 1, 9}, 3, d, DType::f16);
         return attention(part({1, 4, 5, 16}, 3, d), part({1, 2, 9, 16}, 5, d, DType::f16), part({1, 2, 9, 16}, 7, d, DType::f16), o);
       }},
      {"sample", [](const Device& d) { return cast(sample(part({4, 33}, 3, d), SampleSettings(d)), DType::f32); }},
      {"update", [](const Device& d) { return update(part({9, 5}, 3, d), part({2, 5}, 1, d), Scalar(uint32_t(4), d), 0); }},
      {"dynamic slice", [](const Device& d) { return dynamic_slice(part({19, 33}, 3, d), Scalar(uint32_t(5), d), 0, 7) * 3.0; }},
      {"many inputs", [](const Device& d) {
         Tensor s = part({130}, 1, d);
         for (int i = 2; i < 12; ++i) s = s + part({130}, i, d);
         return s;
       }},
  };
  return all;
}

class Fit : public ::testing::TestWithParam<const char*> {
 protected:
  // Bits on the device equal those on the same device without limits.
  void compare(const Device& d, bool exact = true) {
    const Device plain = Device::open(GetParam(), 1);
    for (const Graph& g : graphs()) {
      try {
        const Values want = read(g.make(plain)), got = read(g.make(d));
        const Tolerance within{.relative = exact ? 0 : 2e-3, .absolute = exact ? 0 : 2e-3, .nan_equal = true, .zero_sign = exact};
        EXPECT_EQ(difference(want, got, within), "") << g.name;
      } catch (const std::exception& e) {
        ADD_FAILURE() << g.name << " threw: " << e.what();
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Inner, Fit, ::testing::Values("cpu", "host"), [](const auto& p) { return std::string(p.param); });

TEST_P(Fit, AlignedBindingsGiveTheSameBits) {
  for (modes::LowerMode mode : {modes::LowerMode::tuned, modes::LowerMode::generated}) {
    const modes::InLowerMode in(mode);
    for (int64_t alignment : {16, 256}) compare(narrow(alignment, int64_t(1) << 62, 32, GetParam()));
  }
}

TEST_P(Fit, AFewBindingsAndAlignment) { compare(narrow(256, int64_t(1) << 62, 4, GetParam()), false); }

// On the host an anchor has a group for each row, and the host has no other way to run it.
TEST_P(Fit, GridsAreCut) {
  const int64_t most = std::string(GetParam()) == "cpu" ? 2 : 8;
  compare(narrow(256, most, 32, GetParam()));
}

TEST_P(Fit, LeavesThatBeginElsewhereHaveAnotherPlan) {
  const Device d = narrow(256, int64_t(1) << 62, 32, GetParam());
  const Floats all = counting({80}, d).to_vector<float>();
  for (int64_t skip : {0, 1, 3, 64, 65}) {
    const Tensor x = evaluated(slice(evaluated(counting({80}, d)), 0, skip, skip + 9));
    const int64_t plans = d.counters().plans;
    const Floats got = (x * 2.0).to_vector<float>();
    EXPECT_EQ(d.counters().plans - plans, skip < 64) << skip << ": 64 elements are the alignment";
    for (int64_t i = 0; i < 9; ++i) EXPECT_EQ(got[size_t(i)], all[size_t(skip + i)] * 2) << skip;
  }
}

TEST_P(Fit, CompiledFunctionsTakeInputsThatBeginAnywhere) {
  const Device d = narrow(256, 4, 32, GetParam());
  State s(part({9}, 3, d));
  const Scalar at(uint32_t(2), d);
  const Compiled f = compile(
      [&](const std::vector<Tensor>& in) {
        s.set(update(s.value(), in[0], at, 0));
        return std::vector<Tensor>{s.value() * 2.0 + sum(in[1])};
      },
      {zeros({2}, DType::f32, d), zeros({3, 5}, DType::f32, d)}, d);
  const Tensor values = counting({9}, d), two = part({2}, 5, d), square = part({3, 5}, 7, d);
  Floats want = part({9}, 3, d).to_vector<float>(), put = two.to_vector<float>();
  std::copy(put.begin(), put.end(), want.begin() + 2);
  float total = 0;
  for (float v : square.to_vector<float>()) total += v;
  for (float& v : want) v = v * 2 + total;
  EXPECT_EQ(f({two, square})[0].to_vector<float>(), want);
  EXPECT_EQ(f({two, square})[0].to_vector<float>(), want);
}

TEST(FitLaunches, AnAnchorWithTooManyGroupsIsAnError) {
  const modes::InLowerMode tuned(modes::LowerMode::tuned);
  const Device d = narrow(1, 1, 32, "host");
  try {
    matmul(counting({3, 4}, d), counting({4, 5}, d)).to_vector<float>();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    for (const char* part : {"matmul", "3 groups", "1 in each of three", "another device"})
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(FitLaunches, ViewsStartAtTheAlignmentAndTheRestIsAParameter) {
  graph::Launch l;
  l.desc.family = "map";
  l.desc.outer_rank = 1;
  l.desc.operands.resize(3);
  l.desc.operands[1].dtype = DType::f16;
  l.desc.operands[2].dtype = DType::q4_0;
  l.params.region.operands[2].base = 32 * 200 + 5;
  l.views = {{0, 1000, Access::in}, {1, 30, Access::in}, {2, 0, Access::in}};
  graph::align_views(l, 256, [](int buffer) { return buffer == 1 ? int64_t(254) : 0; });
  EXPECT_EQ(l.views[0].offset, 768);
  EXPECT_EQ(int64_t(l.params.region.operands[0].base), 58);
  EXPECT_EQ(l.views[1].offset, 2);  // 256 bytes into the storage, where the buffer has begun at 254
  EXPECT_EQ(int64_t(l.params.region.operands[1].base), 14);
  EXPECT_EQ(l.views[2].offset, 2304);  // both a multiple of 256 and a whole number of blocks of 18 bytes
  EXPECT_EQ(int64_t(l.params.region.operands[2].base), 72 * 32 + 5);
}

}  // namespace
}  // namespace tenon::testing
