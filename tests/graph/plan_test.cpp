// What plans look like: how many launches, which memory, which limits. On the cpu device, and on null devices for the
// limits of others.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/cat.h"
#include "graph/evaluate.h"
#include "graph/handles.h"
#include "graph/mode.h"
#include "support/lowering.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using F = std::function<Tensor(const Tensor&)>;

std::shared_ptr<const Plan> plan_of(std::initializer_list<Tensor> roots) {
  std::vector<graph::NodeRef> nodes;
  for (const Tensor& t : roots) nodes.push_back(graph::node_of(t));
  return graph::plan_for(nodes);
}
int64_t launches(const Tensor& t) { return plan_of({t})->launches(); }

// A leaf: a tensor with memory of its own (zeros() alone is a constant).
Tensor leaf(Shape shape, const Device& d, DType t = DType::f32) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return Tensor::from_bytes(std::vector<std::byte>(size_t(n * block_bytes(t))), t, std::move(shape), d);
}
Tensor counting(Shape shape, const Device& d) {
  std::vector<float> v;
  for (int64_t n = zeros(shape, DType::f32, d).size(), i = 0; i < n; ++i) v.push_back(float(i));
  return Tensor::from<float>(v, std::move(shape), d);
}

class Plans : public ::testing::TestWithParam<const char*> {
 protected:
  Device d = Device::open(GetParam());
  modes::InLowerMode tuned{modes::LowerMode::tuned};  // launches are counted: no other mode's
};
INSTANTIATE_TEST_SUITE_P(Devices, Plans, ::testing::Values("cpu", "null:roomy", "null:webgpu", "null:cuda"), [](const auto& p) {
  std::string name = p.param;
  for (char& c : name)
    if (c == ':') c = '_';
  return name;
});

// ------------------------------------------------------------------------------------------------------- launches

struct Row {
  const char* name;
  F f;
};
CrossEntropyOptions per_row() {
  CrossEntropyOptions o;
  o.reduction = Reduction::none;
  return o;
}
std::vector<Row> row_ops(const Device& d, int64_t rows, int64_t columns) {
  const Tensor w = leaf({columns}, d), b = leaf({columns}, d), targets = leaf({rows}, d, DType::i32);
  return {{"softmax", [](const Tensor& x) { return softmax(x); }},
          {"log_softmax", [](const Tensor& x) { return log_softmax(x); }},
          {"logsumexp", [](const Tensor& x) { return logsumexp(x); }},
          {"layer_norm", [=](const Tensor& x) { return layer_norm(x, w, b); }},
          {"rms_norm", [=](const Tensor& x) { return rms_norm(x, w); }},
          {"group_norm", [=](const Tensor& x) { return group_norm(x, x.dim(1) % 2 == 0 ? 2 : 1, w, b); }},
          {"var", [](const Tensor& x) { return var(x, {-1}, 1); }},
          {"vector_norm", [](const Tensor& x) { return vector_norm(x, {-1}); }},
          {"cross_entropy", [=](const Tensor& x) { return cross_entropy(x, targets, per_row()); }},
          {"cross_entropy with weights", [=](const Tensor& x) {
             CrossEntropyOptions o = per_row();
             o.weight = w;
             return cross_entropy(x, targets, o);
           }},
          {"cross_entropy with smoothing", [=](const Tensor& x) {
             CrossEntropyOptions o = per_row();
             o.label_smoothing = 0.1;
             return cross_entropy(x, targets, o);
           }}};
}

TEST_P(Plans, RowOpsAreOneLaunch) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{4, 64}, {1, 2049}, {33, 1}, {128, 151936}})
    for (const Row& r : row_ops(d, rows, columns)) EXPECT_EQ(launches(r.f(leaf({rows, columns}, d))), 1) << r.name << " " << columns;
}

TEST_P(Plans, RowOpsAreOneLaunchForHalfInputs) {
  for (DType t : {DType::f16, DType::bf16})
    for (const Row& r : row_ops(d, 4, 64)) {
      EXPECT_EQ(launches(r.f(leaf({4, 64}, d, t))), 1) << r.name;
      EXPECT_EQ(launches(r.f(cast(leaf({4, 64}, d), t))), 1) << r.name << " after a cast";
    }
}

TEST_P(Plans, RowOpsTakeElementwiseWorkBeforeAndAfter) {
  const Tensor y = leaf({4, 64}, d);
  for (const Row& r : row_ops(d, 4, 64)) {
    const Tensor x = leaf({4, 64}, d);
    EXPECT_EQ(launches(r.f(x * y + 1)), 1) << r.name << " after work";
    EXPECT_EQ(launches(r.f(tanh(cast(x * 0.3, DType::f16)))), 1) << r.name << " after work in f16";
    EXPECT_EQ(launches(exp(cast(r.f(x), DType::f16)) * 2), 1) << r.name << " before work";
    EXPECT_EQ(launches(cast(relu(r.f(x + y)), DType::bf16)), 1) << r.name << " in the middle";
  }
}

TEST_P(Plans, SoftmaxOverAnyAxisIsOneLaunch) {
  for (int64_t axis : {0, 1, 2}) EXPECT_EQ(launches(softmax(leaf({3, 5, 7}, d), axis)), 1) << axis;
  EXPECT_EQ(launches(softmax(transpose(leaf({33, 65}, d)))), 1);
  EXPECT_EQ(launches(softmax(slice(leaf({33, 65}, d), 1, 1, {}, 2))), 1);
}

TEST_P(Plans, CrossEntropyWithEverythingIsTwoLaunches) {
  CrossEntropyOptions o = per_row();
  o.weight = leaf({64}, d);
  o.label_smoothing = 0.1;
  EXPECT_LE(launches(cross_entropy(leaf({4, 64}, d), leaf({4}, d, DType::i32), o)), 2);
}

TEST_P(Plans, AReductionOverRowResultsKeepsTheRowsTogether) {
  const Tensor x = leaf({33, 65}, d), targets = leaf({33}, d, DType::i32);
  EXPECT_EQ(launches(mean(cross_entropy(x, targets, per_row()))), 2);
  EXPECT_EQ(launches(sum(logsumexp(x) * 0.3)), 2);
  EXPECT_EQ(launches(max(cast(mean(x, {1}), DType::f16))), 2);
}

// Of zeros.
Tensor blocks(DType t, int64_t rows, int64_t columns, const Device& d) {
  return Tensor::from_bytes(std::vector<std::byte>(size_t(rows * columns / 32 * block_bytes(t))), t, {rows, columns}, d);
}

TEST_P(Plans, AnchorsTakeWhatComesAfter) {
  const Tensor x = leaf({33, 65}, d), w = leaf({65, 17}, d), b = leaf({17}, d), r = leaf({33, 17}, d);
  EXPECT_EQ(launches(gelu(matmul(x, w) + b) + r), 1);
  EXPECT_EQ(launches(linear(x, leaf({17, 65}, d), b)), 1);
  EXPECT_EQ(launches(cast(silu(linear(x, leaf({17, 65}, d))), DType::f16)), 1);
  EXPECT_EQ(launches(matmul(transpose(leaf({65, 33}, d)), w)), 1);
  for (int64_t m : {1, 4, 33}) {
    const Tensor to = leaf({96, 34}, d), quantised = blocks(DType::q8_0, 17, 64, d);
    EXPECT_EQ(launches(gelu(linear(leaf({m, 64}, d), quantised, b)) + leaf({m, 17}, d)), 1) << m;
    EXPECT_EQ(launches(gelu(linear(leaf({m, 34}, d), to, leaf({96}, d))) + leaf({m, 96}, d)), 1) << m;
  }
  // Over two axes, with two axes of features.
  const Tensor heads = leaf({3, 5, 4, 8}, d), to = leaf({4, 8, 2, 6}, d), to_bias = leaf({2, 6}, d);
  EXPECT_EQ(launches(gelu(linear_general(heads, to, {-2, -1}, to_bias))), 1);
}

TEST_P(Plans, QuantisedWeightsSideBySideAreOneLaunch) {
  for (int64_t m : {1, 9}) {
    const Tensor x = leaf({1, m, 64}, d);
    const std::vector<Tensor> qkv = {blocks(DType::q4_1, 64, 64, d), blocks(DType::q8_0, 32, 64, d), blocks(DType::q4_0, 32, 64, d)};
    EXPECT_EQ(launches(linear(x, qkv, leaf({128}, d))), 1) << m;
    const Qkv heads = qkv_projection(x, qkv, 4, 2, leaf({128}, d));
    const auto p = plan_of({heads.q * 2, heads.k * 2, heads.v * 2});  // views of one result
    EXPECT_EQ(p->launches(), 4) << m;
    EXPECT_LE(p->max_bindings(), 6) << m;
    EXPECT_EQ(launches(linear(x, {qkv[0], qkv[1], qkv[2], qkv[0], qkv[1]})), 5) << "more than one launch takes";
    EXPECT_EQ(launches(linear(x, {leaf({8, 64}, d), leaf({5, 64}, d)})), 2) << "plain ones write their own parts";
  }
}

// What attention can be asked for; heads are read where a projection left them.
std::vector<std::pair<const char*, AttentionOptions>> attention_options(const Device& d, int64_t T, int64_t S) {
  std::vector<std::pair<const char*, AttentionOptions>> all{{"plain", {}}};
  const auto add = [&](const char* name, const std::function<void(AttentionOptions&)>& set) {
    AttentionOptions o;
    set(o);
    all.push_back({name, o});
  };
  const auto cache = [&](AttentionOptions& o) { o.causal = true, o.kv_len = Scalar(uint32_t(1), d), o.q_start = Scalar(uint32_t(0), d); };
  const auto mask = [&](AttentionOptions& o) { o.mask = leaf({T, S}, d, DType::bool_); };
  const auto bias = [&](AttentionOptions& o) { o.bias = leaf({4, 1, S}, d, DType::f16); };
  add("cache", cache);
  add("window", [](auto& o) { o.window = 3; });
  add("soft cap", [](auto& o) { o.soft_cap = 30; });
  add("mask", mask);
  add("bias", bias);
  add("everything", [&](auto& o) { cache(o), mask(o), bias(o), o.window = 3, o.soft_cap = 30; });
  return all;
}
Tensor attention_over(const Device& d, int64_t T, const AttentionOptions& o) {
  const Tensor q = permute(reshape(leaf({T, 64}, d), {1, T, 4, 16}), {0, 2, 1, 3});
  return attention(q, leaf({1, 2, 9, 16}, d, DType::f16), leaf({1, 2, 9, 16}, d, DType::f16), o);
}

TEST_P(Plans, AttentionIsOneLaunchWithAnyOption) {
  for (int64_t T : {1, 5})
    for (const auto& [name, o] : attention_options(d, T, 9)) {
      EXPECT_EQ(launches(attention_over(d, T, o)), 1) << name;
      EXPECT_EQ(launches(cast(attention_over(d, T, o) * 0.5, DType::f16)), 1) << name;
    }
}

TEST_P(Plans, EinsumIsOneMatmulPerPair) {
  EXPECT_EQ(launches(einsum("ij,jk->ik", {leaf({3, 5}, d), leaf({5, 7}, d)})), 1);
  EXPECT_EQ(launches(einsum("bhtd,bhsd->bhts", {leaf({2, 3, 5, 8}, d), leaf({2, 3, 7, 8}, d)})), 1);
  EXPECT_EQ(launches(einsum("ij,jk,kl->il", {leaf({3, 5}, d), leaf({5, 7}, d), leaf({7, 2}, d)})), 2);
  EXPECT_EQ(launches(einsum("ii->", {leaf({5, 5}, d)})), 1);
  EXPECT_EQ(launches(einsum("i,j->ij", {leaf({5}, d), leaf({7}, d)})), 1);
  const Qkv p = qkv_projection(leaf({2, 9, 32}, d), leaf({64, 32}, d), 4, 2, leaf({64}, d));
  EXPECT_EQ(launches(attention(p.q, p.k, p.v)), 2);
}

TEST_P(Plans, MovesAreReadThroughViews) {
  const Tensor x = leaf({6, 8}, d);
  for (const Tensor& v : {split(x, 4, 1)[1], meshgrid({leaf({3}, d), leaf({5}, d)})[0]}) EXPECT_EQ(launches(v), 0);
  EXPECT_EQ(launches(diagonal(x, 1) * 2), 1);
  EXPECT_EQ(launches(tile(x, {2, 3}) * leaf({12, 24}, d)), 1);
  EXPECT_EQ(launches(repeat(x, 3, 0) * leaf({18, 8}, d)), 1);
  EXPECT_EQ(launches(exp(take_along_axis(x, leaf({6, 3}, d, DType::i32)) * 2)), 1);
  EXPECT_EQ(launches(tril(x) + one_hot(leaf({6}, d, DType::i32), 8, DType::f32) + eye(6, 8, 0, DType::f32, d)), 1);
  EXPECT_EQ(launches(pad(exp(x), {{0, 0}, {2, 1}}, PadMode::reflect)), 3);
  EXPECT_EQ(launches(roll(tanh(x), 3, 1)), 2);
}

TEST_P(Plans, RopeIsOneLaunch) {
  const Tensor cos = leaf({9, 32}, d), sin = leaf({9, 32}, d);
  for (RopePairing p : {RopePairing::half, RopePairing::interleaved}) {
    EXPECT_EQ(launches(rope(leaf({1, 4, 9, 64}, d), cos, sin, p)), 1);
    // Heads split from a projection, transposed, and cast on the way to a cache.
    const Tensor heads = permute(reshape(leaf({9, 256}, d), {1, 9, 4, 64}), {0, 2, 1, 3});
    EXPECT_EQ(launches(cast(rope(heads, cos, sin, p), DType::f16)), 1);
  }
}

TEST_P(Plans, ViewsCostNothing) {
  const Tensor x = leaf({6, 35}, d);
  for (const Tensor& v : {transpose(x), flip(x, 0), slice(x, 1, 1, 30, 3), reshape(x, {2, 3, 5, 7}), broadcast_to(x, {4, 6, 35}),
                          reshape(transpose(reshape(x, {6, 5, 7}), 0, 1), {5, 6, 7}), expand_dims(x, 1), slice(flip(transpose(x), 1), 0, 3, {})}) {
    const auto p = plan_of({v});
    EXPECT_EQ(p->steps.size(), 0u) << to_string(*p);
    EXPECT_EQ(p->arena_bytes + p->output_bytes, 0);
  }
  EXPECT_EQ(launches(transpose(flip(slice(x, 1, 1, 30, 3), 0)) + 1), 1);
}

TEST_P(Plans, EmptyResultsCostNothing) {
  EXPECT_EQ(launches(leaf({0, 3}, d) + 1), 0);
  EXPECT_EQ(launches(sum(leaf({0, 3}, d), {0})), 1);  // the zeros have to be written
  EXPECT_EQ(launches(concat({leaf({0, 3}, d), leaf({2, 3}, d)})), 1);
}

TEST_P(Plans, SharedWorkIsDoneOnce) {
  const Tensor x = leaf({33, 65}, d), e = softmax(x);  // not cheap to compute twice
  const auto p = plan_of({sum(e * 2), max(e)});
  EXPECT_LE(p->launches(), 3) << to_string(*p);
}

TEST_P(Plans, MemoryIsReused) {
  Tensor x = leaf({64, 64}, d);
  const Tensor w = leaf({64, 64}, d);
  for (int i = 0; i < 20; ++i) x = matmul(x, w);
  const auto p = plan_of({x});
  EXPECT_EQ(p->launches(), 20);
  EXPECT_EQ(p->output_bytes, 64 * 64 * 4);
  EXPECT_LE(p->arena_bytes, 2 * 64 * 64 * 4);
}

// --------------------------------------------------------------------------------------------- states and compile()

TEST_P(Plans, KeyIntoCacheIsOneLaunchInPlace) {
  State cache(leaf({1, 4, 128, 64}, d, DType::f16));
  const Scalar at(uint32_t(0), d);
  const Compiled step = compile(
      [&](const std::vector<Tensor>& in) {
        const Tensor key = rope(permute(reshape(in[0], {1, 2, 4, 64}), {0, 2, 1, 3}), in[1], in[2], RopePairing::half);
        cache.set(update(cache.value(), cast(key, DType::f16), at, 2));
        return std::vector<Tensor>{};
      },
      {leaf({2, 256}, d), leaf({2, 32}, d), leaf({2, 32}, d)}, d);
  EXPECT_EQ(step.launches(), 1) << step.plan_text();
  EXPECT_EQ(step.copies(), 0) << step.plan_text();
}

// ---------------------------------------------------------------------------------------------------------- limits

std::vector<std::pair<const char*, std::vector<Tensor>>> graphs(const Device& d) {
  const Tensor x = leaf({33, 65}, d), y = leaf({33, 65}, d), c = leaf({33, 65}, d, DType::bool_);
  Tensor many = leaf({33, 65}, d);
  for (int i = 2; i <= 12; ++i) many = many + leaf({33, 65}, d) * double(i);
  Tensor selected = x;
  for (int i = 0; i < 6; ++i) selected = where(leaf({33, 65}, d, DType::bool_), selected, leaf({33, 65}, d));
  std::vector<Tensor> parts;
  for (int i = 0; i < 11; ++i) parts.push_back(leaf({3, 5}, d));
  const Tensor w = leaf({65}, d), b = leaf({65}, d);
  return {{"sum of 12", {many}},
          {"selections", {selected}},
          {"concat of 11", {concat(parts)}},
          {"norm with residual", {layer_norm(x + y * leaf({33, 65}, d), w, b) + leaf({33, 65}, d)}},
          {"several roots", {x + y, x * y, where(c, x, y), softmax(x + y)}},
          {"epilogue", {gelu(matmul(x, leaf({65, 17}, d)) + leaf({17}, d)) * leaf({33, 17}, d) + leaf({33, 17}, d)}},
          {"dynamic", {where(c, dynamic_slice(leaf({99, 65}, d), Scalar(uint32_t(3), d), 0, 33), y) * 0.3}},
          {"rope and update", {update(leaf({2, 9, 64}, d), rope(leaf({2, 3, 64}, d), leaf({3, 32}, d), leaf({3, 32}, d), RopePairing::half), Scalar(uint32_t(1), d), 1)}},
          {"gather", {embedding(leaf({99, 65}, d), leaf({33}, d, DType::i32)) * x + y}}};
}

TEST(PlanLimits, BindingsStayWithinTheDevice) {
  for (const auto& [name, most] : {std::pair<const char*, int>{"null:webgpu", 8}, {"null:tiny", 4}}) {
    const Device d = Device::open(name);
    for (const auto& [what, roots] : graphs(d)) {
      std::vector<graph::NodeRef> nodes;
      for (const Tensor& t : roots) nodes.push_back(graph::node_of(t));
      const auto p = graph::plan_for(nodes);
      EXPECT_LE(p->max_bindings(), most) << name << ": " << what << "\n" << to_string(*p);
    }
  }
}

bool runs(const Plan& p, const char* family) {
  return std::any_of(p.steps.begin(), p.steps.end(), [&](const PlanStep& s) { return s.desc.family == family; });
}

// Four bindings hold q, k, v and the result, but nothing more: with run-time scalars, a mask or a bias the composition
// takes the anchor's place.
TEST(PlanLimits, AnAnchorThatCannotBeBoundIsComposed) {
  const modes::InLowerMode tuned(modes::LowerMode::tuned);
  for (const auto& [device, most] : {std::pair<const char*, int>{"null:tiny", 4}, {"null:webgpu", 8}}) {
    const Device d = Device::open(device);
    for (int64_t T : {1, 5})
      for (const auto& [name, o] : attention_options(d, T, 9)) {
        const auto p = plan_of({attention_over(d, T, o)});
        const int needs = 4 + o.mask.defined() + o.bias.defined() + o.kv_len.has_value();
        EXPECT_LE(p->max_bindings(), most) << device << " " << name << "\n" << to_string(*p);
        EXPECT_EQ(runs(*p, "attention"), needs <= most) << device << " " << name << "\n" << to_string(*p);
        EXPECT_NE(runs(*p, "matmul"), needs <= most) << device << " " << name << "\n" << to_string(*p);
      }
  }
}

TEST(PlanLimits, W4_SumOfTwelveInputs) {
  const Device d = Device::open("cpu");
  Tensor s = ones({5}, DType::f32, d) * 1;
  for (int i = 2; i <= 12; ++i) s = s + cast(full({5}, i, DType::i32, d), DType::f32) * leaf({5}, d) + double(i);
  EXPECT_EQ(s.to_vector<float>(), std::vector<float>(5, 78));
  Tensor t = Tensor::from<float>({1, 1}, {2}, d);
  for (int i = 2; i <= 12; ++i) t = t + Tensor::from<float>({float(i), float(i)}, {2}, d);
  EXPECT_EQ(t.to_vector<float>(), std::vector<float>(2, 78));
}

TEST(PlanLimits, NullDevicesDoNotRun) {
  for (const char* name : {"null:roomy", "null:webgpu", "null:tiny"}) {
    const Device d = Device::open(name);
    try {
      (leaf({2}, d) + 1).to_vector<float>();
      FAIL() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unsupported);
      EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("only plans"), std::string::npos) << e.what();
    }
    EXPECT_THROW(leaf({2}, d).to_vector<float>(), Error);
  }
}

TEST(PlanLimits, I3_SizesPast32Bits) {
  const Device d = Device::open("null:roomy");
  const Tensor big = broadcast_to(leaf({1}, d, DType::bool_), {65536, 65537});
  EXPECT_EQ(reshape(big, {-1}).size(), 4295032832);
  EXPECT_EQ(reshape(big, {-1}).shape(), (Shape{4295032832}));
  EXPECT_EQ(launches(sum(cast(reshape(big, {-1}), DType::i32))), 1);
  const auto whole = plan_of({cast(big, DType::f32)});
  EXPECT_EQ(whole->output_bytes, 4 * 4295032832);
  EXPECT_EQ(whole->steps[0].grid.groups, 4295032832 / 256);
  for (int64_t n : {int64_t(1) << 31, (int64_t(1) << 31) + 1, (int64_t(1) << 32) + 5}) {
    const auto p = plan_of({softmax(broadcast_to(leaf({1, 3}, d), {n, 3}))});
    EXPECT_EQ(p->output_bytes, 12 * n);
    EXPECT_EQ(p->steps[0].grid.groups, n);
    EXPECT_NE(to_string(*p).find(cat("[", n, ",3]")), std::string::npos);
  }
}

TEST(PlanLimits, ATensorOverTheBindingLimitIsNamed) {
  const Device d = Device::open("null:webgpu");
  try {
    plan_of({broadcast_to(leaf({1, 896}, d, DType::f16), {151936, 896}) + 1});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    for (const char* part : {"f16[151936,896]", "272269312", "134217728", "null:webgpu"})
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
  EXPECT_EQ(launches(broadcast_to(leaf({1, 896}, d, DType::f16), {74898, 896}) + 1), 1);
}

// ----------------------------------------------------------------------------------------------------- plan cache

class PlanCache : public ::testing::Test {
 protected:
  Device d = Device::open("cpu", 1);
  int64_t plans(const std::function<void()>& f) {
    const int64_t before = d.counters().plans;
    f();
    return d.counters().plans - before;
  }
};

TEST_F(PlanCache, SecondEvaluationMakesNoPlan) {
  auto step = [&](float v) { return softmax(tanh(Tensor::from<float>({v, 2, 3}, {3}, d)) * 0.5).to_vector<float>(); };
  EXPECT_EQ(plans([&] { step(1); }), 1);
  EXPECT_EQ(plans([&] { step(5); }), 0);
}

TEST_F(PlanCache, AnotherNumberIsTheSamePlan) {
  const Tensor x = Tensor::from<float>({1, 2}, {2}, d);
  EXPECT_EQ((x * 0.25).to_vector<float>(), (std::vector<float>{.25f, .5f}));
  EXPECT_EQ(plans([&] { EXPECT_EQ((x * 0.125).to_vector<float>(), (std::vector<float>{.125f, .25f})); }), 0);
}

TEST_F(PlanCache, SharedInputsAreAnotherPlan) {
  const Tensor x = Tensor::from<float>({1, 2}, {2}, d), y = Tensor::from<float>({10, 20}, {2}, d);
  EXPECT_EQ((x + y).to_vector<float>(), (std::vector<float>{11, 22}));
  EXPECT_EQ(plans([&] { EXPECT_EQ((x + x).to_vector<float>(), (std::vector<float>{2, 4})); }), 1);
  EXPECT_EQ(plans([&] { EXPECT_EQ((y + y).to_vector<float>(), (std::vector<float>{20, 40})); }), 0);
  EXPECT_EQ(plans([&] { EXPECT_EQ((y + x).to_vector<float>(), (std::vector<float>{11, 22})); }), 0);
}

TEST_F(PlanCache, ATransposedInputIsAnotherPlan) {
  const Tensor x = counting({2, 2}, d);
  Tensor t = transpose(x);
  eval(t);  // a leaf of its own, with other strides
  EXPECT_EQ((x + 1).to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(plans([&] { EXPECT_EQ((t + 1).to_vector<float>(), (std::vector<float>{1, 3, 2, 4})); }), 1);
  EXPECT_EQ(plans([&] { EXPECT_EQ((transpose(x) + 1).to_vector<float>(), (std::vector<float>{1, 3, 2, 4})); }), 1);
}

TEST_F(PlanCache, ShapesAndDtypesAndConstantsMatter) {
  const Tensor x = counting({4}, d);
  (x + 1).to_vector<float>();
  EXPECT_EQ(plans([&] { (x + 2).to_vector<float>(); }), 1) << "2 is structure";
  EXPECT_EQ(plans([&] { (counting({5}, d) + 1).to_vector<float>(); }), 1);
  EXPECT_EQ(plans([&] { (cast(x, DType::f16) + 1).to_vector<float>(); }), 1);
  EXPECT_EQ(plans([&] { (x - 1).to_vector<float>(); }), 1);
}

TEST_F(PlanCache, FusionModeMatters) {
  const Tensor x = counting({4}, d);
  auto run = [&] { return (tanh(x) * 0.3 + 1).to_vector<float>(); };
  const std::vector<float> fused = run();
  graph::set_fusion(false);
  EXPECT_EQ(plans([&] { EXPECT_EQ(run(), fused); }), 1);
  EXPECT_EQ(launches(tanh(x) * 0.3 + 1), 3);
  graph::set_fusion(true);
  EXPECT_EQ(plans([&] { EXPECT_EQ(run(), fused); }), 0);
}

// --------------------------------------------------------------------------------------------------- golden plans

TEST(PlanCounters, NothingCrossesTheBusUnasked) {
  const Device d = Device::open("cpu", 1);
  const Tensor x = counting({33, 65}, d);
  eval(x + 1);
  const Counters before = d.counters();
  const Tensor y = softmax(x + 1);
  eval(y);
  const Counters run = d.counters() - before;
  EXPECT_EQ(run.launches, 1);
  EXPECT_EQ(run.bytes_up, 0);
  EXPECT_EQ(run.bytes_down, 0);
  EXPECT_EQ(run.waits, 0);
  y.to_vector<float>();
  EXPECT_EQ((d.counters() - before).bytes_down, 33 * 65 * 4);
  EXPECT_EQ((d.counters() - before).waits, 1);
}

}  // namespace
}  // namespace tenon
