// Runs tests/ops/cases.def: every row for its dtypes, shapes and memory layouts, on host and on the tested device in all
// modes of lowering, against the row's plain reference; then that device against host, and the modes against each other.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "base/cat.h"
#include "base/fnv.h"
#include "ops/reference.h"
#include "ops/reference_order.h"
#include "runtime/device_context.h"
#include "support/lowering.h"
#include "support/sample.h"
#include "support/tested_device.h"
#include "tenon/kernel_cache.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

using namespace ref;
using Tensors = std::vector<Tensor>;
using Types = std::vector<DType>;
using Shapes = std::vector<Shape>;

// ------------------------------------------------------------------------------------------ the table's vocabulary

const Types floats{DType::f32, DType::f16, DType::bf16, DType::f64}, just_f32{DType::f32}, just_f64{DType::f64}, narrow_floats{DType::f32, DType::f16, DType::bf16},
    f32_and_f64{DType::f32, DType::f64}, just_i64{DType::i64},
    integers{DType::i32, DType::u32, DType::u8, DType::i8, DType::i64}, signed_integers{DType::i32, DType::i8, DType::i64},
    bytes{DType::u8, DType::i8}, just_u32{DType::u32}, just_bool{DType::bool_},
    range_types{DType::i32, DType::u32, DType::f32, DType::f64, DType::i64},
    signed_range_types{DType::i32, DType::f32, DType::f64, DType::i64};
Types joined(Types a, const Types& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
const Types number_types = joined(floats, integers), all_types = joined(number_types, just_bool);

std::vector<Shapes> lists(std::vector<Shapes> all) { return all; }
const std::vector<Shapes> alone{{{3, 5, 7}}, {{1025}}, {{}}, {{0}}, {{2, 0, 3}}};
const std::vector<Shapes> single{{{3, 5, 7}}, {{33, 65}}, {{1023}}, {{1025}}, {{2049}}, {{}}, {{0}}, {{2, 0, 3}}};
const std::vector<Shapes> pairs{{{3, 5, 7}, {3, 5, 7}}, {{33, 65}, {65}}, {{5, 1, 7}, {3, 1}}, {{1025}, {}}, {{}, {33}},
                                {{2049}, {2049}}, {{0, 3}, {3}}, {{}, {}}};
const std::vector<Shapes> triples{{{3, 5, 7}, {3, 5, 7}, {3, 5, 7}}, {{65}, {33, 1}, {1, 65}}, {{}, {1025}, {}}, {{0, 2}, {2}, {}}};
const std::vector<Shapes> rows{{{3, 5, 7}}, {{33, 65}}, {{1025}}, {{2, 2049}}, {{7, 1}}, {{0, 3}}, {{3, 2, 0}}};
const std::vector<Shapes> rows_not_empty{{{3, 5, 7}}, {{33, 65}}, {{1025}}, {{2, 2049}}, {{7, 1}}};
const std::vector<Shapes> scans{{{3, 5, 7}}, {{33, 65}}, {{1025}}, {{2, 2049}}, {{2500, 3}}, {{7, 1}}, {{}}, {{0, 3}}, {{3, 2, 0}}};
const std::vector<Shapes> sorts{{{3, 5, 7}}, {{33, 65}}, {{1025}}, {{7, 1}}, {{}}, {{0, 3}}, {{3, 2, 0}}};
const std::vector<Shapes> rows_or_0d{{{3, 5, 7}}, {{33, 65}}, {{2, 1025}}, {{}}, {{0, 3}}, {{2, 0}}};

struct Fill {
  enum class Kind { numbers, wide, positive, special, indices, near_one, few_ones, probabilities } kind;
  std::optional<DType> dtype = {};
  int64_t low = 0, high = 0;
};
const Fill numbers{Fill::Kind::numbers}, wide{Fill::Kind::wide}, positive{Fill::Kind::positive}, special{Fill::Kind::special},
    near_one{Fill::Kind::near_one}, few_ones{Fill::Kind::few_ones}, probabilities{Fill::Kind::probabilities}, bools{Fill::Kind::numbers, DType::bool_}, f32_numbers{Fill::Kind::numbers, DType::f32};
Fill indices(int64_t low, int64_t high) { return {Fill::Kind::indices, DType::i32, low, high}; }
Fill unsigned_indices(int64_t high) { return {Fill::Kind::indices, DType::u32, 0, high}; }
template <class... F>
std::vector<Fill> fills(const F&... f) { return {f...}; }

struct Within {
  int64_t f32_ulp = 0, half_ulp = 0;
  double relative = 0, absolute = 0;
  bool zero_sign = false;
  Tolerance of(DType t, double factor = 1) const {
    // The reference's own rounding, to 64 bits, may move an f64 by its last place; functions of f64 are within 4.
    if (t == DType::f64) return {relative * factor * 0x1p-26, absolute * factor * 0x1p-26, f32_ulp > 0 ? std::max<int64_t>(4, f32_ulp) : 1, true, zero_sign};
    return {relative * factor, absolute * factor, int64_t(factor) * (t == DType::f32 ? f32_ulp : half_ulp), true, zero_sign};
  }
};
const Within exact{.zero_sign = true}, value{};
Within ulps(int64_t f32, int64_t half) { return {f32, half}; }
Within close(double relative, double absolute) { return {0, 1, relative, absolute}; }

Shape with_one(Shape s, size_t axis) {
  s.insert(s.begin() + int64_t(axis), 1);
  return s;
}
R r_without_last(R r) {
  r.pop_back();
  return r;
}
CrossEntropyOptions per_row() {
  CrossEntropyOptions o;
  o.reduction = Reduction::none;
  o.ignore_index = {};
  return o;
}
Shape broadcast_target(const Shape& s) {
  Shape out{2};
  for (int64_t d : s) out.push_back(d == 1 ? 5 : d);
  return out;
}
AttentionOptions causal() {
  AttentionOptions o;
  o.causal = true;
  return o;
}
AttentionOptions cached(const Device& d) {
  AttentionOptions o;
  o.causal = true;
  o.scale = 0.5f;
  o.kv_len = Scalar(uint32_t(9), d);
  o.q_start = Scalar(uint32_t(7), d);
  return o;
}
AttentionOptions windowed(int64_t window) {
  AttentionOptions o;
  o.window = window;
  return o;
}
AttentionOptions capped(float cap, float scale) {
  AttentionOptions o;
  o.soft_cap = cap;
  o.scale = scale;
  return o;
}
AttentionOptions masked(const Tensor& mask) {
  AttentionOptions o;
  o.mask = mask;
  return o;
}
AttentionOptions biased(const Tensor& bias) {
  AttentionOptions o;
  o.bias = bias;
  return o;
}
// Every option at once: mask t[3], bias t[4].
AttentionOptions everything(const Tensors& t, const Device& d) {
  AttentionOptions o = cached(d);
  o.window = 5;
  o.soft_cap = 1.5f;
  o.mask = t[3];
  o.bias = t[4];
  return o;
}
SampleSettings settings(const Device& d, float temperature) {
  SampleSettings s(d);
  s.temperature.set(temperature);
  s.seed_low.set(uint32_t(99));
  s.position.set(uint32_t(5));
  return s;
}
uint32_t philox_word(uint64_t i, uint64_t seed, uint32_t stream) {
  return philox({uint32_t(i / 4), uint32_t(i / 4 >> 32), stream, 0}, {uint32_t(seed), uint32_t(seed >> 32)})[i % 4];
}
Values random_words(const Shape& shape, uint64_t seed, uint32_t stream) {
  return build(DType::u32, shape, [&](const Index& i) { return Real(philox_word(uint64_t(flat(shape, i)), seed, stream)); });
}
// Gumbel-max over each row, the noise of element (n, v) from word n * V + v.
Values gumbel_choice(const Values& logits, double temperature, uint64_t seed, uint32_t position) {
  uint64_t i = 0;
  return fold(DType::i32, logits, {-1}, false, [&](const Row& r) {
    Row noisy;
    for (Real l : r) {
      const Real u = (Real(philox_word(i++, seed, position) >> 9) + 0.5) * 0x1p-23;
      noisy.push_back(l / temperature - std::log(-std::log(u)));
    }
    return arg_largest(noisy);
  });
}

struct Case {
  const char* op;
  const char* name;
  Types dtypes;
  std::vector<Shapes> shapes;
  std::vector<Fill> inputs;
  Within within;
  Tensor (*make)(const Tensors& t, const Device& d, DType T, const Shape& S);
  Values (*reference)(const R& r, DType T, const Shape& S);
};

const std::vector<Case>& all_cases() {
  static const std::vector<Case> table = {
#define CASE(op, name, dtypes, shapes, fills, within, expression, reference)                                       \
  {#op, #name, dtypes, shapes, fills, within,                                                                      \
   []([[maybe_unused]] const Tensors& t, [[maybe_unused]] const Device& d, [[maybe_unused]] DType T,               \
      [[maybe_unused]] const Shape& S) -> Tensor { return expression; },                                           \
   []([[maybe_unused]] const R& r, [[maybe_unused]] DType T, [[maybe_unused]] const Shape& S) -> Values { return reference; }},
#include "ops/cases.def"
#undef CASE
  };
  return table;
}

// ----------------------------------------------------------------------------------------------------- input values

class Source {
 public:
  explicit Source(uint64_t seed) : state_(seed * 2 + 1) {}
  uint32_t word() {  // a linear congruential generator (Knuth, MMIX)
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return uint32_t(state_ >> 32);
  }
  double real(double low, double high) { return low + (high - low) * double(word()) * 0x1p-32; }
  int64_t between(int64_t low, int64_t high) { return low + int64_t(word() % uint64_t(high - low + 1)); }

 private:
  uint64_t state_;
};

template <size_t n>
Real any_of(const Real (&values)[n], Source& s) {
  return values[s.word() % n];
}
std::optional<Real> odd_wide_value(DType t, Source& s) {
  static const Real odd_f64[] = {1e-310, -5e-324, 1.7e308, -1.7e308, 9007199254740993.0L, 9007199254740992.0, 1e300, -1e-300, 9223372036854775808.0L, -9223372036854775808.0L, 709.5, 1e10, 18446744073709551616.0L, 0.1};
  static const Real odd_i64[] = {Real(INT64_MIN), Real(INT64_MAX), 0, -1, 1, 31, 32, 63, 64, 65, -64, 9007199254740993.0L, 4294967296.0, -2147483649.0};
  static const Real odd_i8[] = {-128, 127, 0, -1, 1, 7, 8, 9, -8, 64};
  static const Real odd_u8[] = {255, 128, 0, 1, 7, 8, 9, 127};
  switch (t) {
    case DType::f64: return s.word() % 2 ? std::optional(any_of(odd_f64, s)) : std::nullopt;
    case DType::i64: return any_of(odd_i64, s);
    case DType::i8: return any_of(odd_i8, s);
    case DType::u8: return any_of(odd_u8, s);
    default: return {};
  }
}

Real fill_value(const Fill& f, DType t, Source& s) {
  static const Real odd_floats[] = {nan, inf, -inf, 0.0, -0.0, 1e-40, -1e-45, 3.4e38, -3.4e38, 65504, 5.97e-8, 1, -1, 88.5, -103, 2147483648.0, -4294967296.0, 0.5};
  static const Real odd_i32[] = {-2147483648.0, 2147483647.0, 0, -1, 1, 31, 32, 33, -32, 65536};
  static const Real odd_u32[] = {4294967295.0, 2147483648.0, 0, 1, 31, 32, 33, 65536};
  if (f.kind == Fill::Kind::few_ones) return double(s.word() % 50 == 0);
  if (t == DType::bool_) return double(s.word() >> 31);
  if (f.kind == Fill::Kind::indices) return Real(s.between(f.low, f.high));
  const bool odd = f.kind == Fill::Kind::special && s.word() % 3 == 0;
  if (odd)
    if (const std::optional<Real> v = odd_wide_value(t, s)) return *v;
  if (t == DType::i8 || t == DType::i64) return Real(s.between(-9, 9));
  if (t == DType::u8) return Real(s.between(0, 40));
  if (t == DType::i32) return odd ? odd_i32[s.word() % 10] : double(s.between(-9, 9));
  if (t == DType::u32) return odd ? odd_u32[s.word() % 8] : double(s.between(0, 40));
  if (odd) return odd_floats[s.word() % 18];
  const Real fine = t == DType::f64 ? Real(s.word()) * 0x1p-66L : 0;  // bits that an f32 does not have
  switch (f.kind) {
    case Fill::Kind::wide: return s.real(-20, 20) + fine;
    case Fill::Kind::positive: return s.real(1e-3, 30) + fine;
    case Fill::Kind::probabilities: return s.word() % 9 == 0 ? double(s.word() % 2) : s.real(0, 1);
    case Fill::Kind::near_one: return (s.word() % 2 ? -1 : 1) * s.real(0.96, 1.04);
    default: return s.real(-2, 2) + fine;
  }
}

enum class Layout { dense, transposed, sliced, reversed, shifted, broadcast };
constexpr int layouts = 6;
const char* const layout_names[] = {"dense", "transposed", "sliced", "reversed", "shifted", "broadcast"};

Values make_values(const Fill& f, DType t, const Shape& shape, Layout layout, uint64_t seed) {
  Source s(seed);
  const DType own = f.dtype.value_or(t);
  const auto any = [&](const Index&) { return fill_value(f, own, s); };
  if (layout != Layout::broadcast || shape.empty() || element_count(shape) == 0) return build(own, shape, any);
  Shape one = shape;
  one[0] = 1;
  return broadcast_to(build(own, one, any), shape);
}

// The values in a tensor that lies in memory in another way. `strided`: as a leaf with those strides, not a lazy view.
Tensor in_layout(const Values& v, Layout layout, bool strided, const Device& d) {
  const size_t rank = v.shape.size();
  if (rank == 0 || v.data.empty()) return tensor(v, d);
  std::vector<int64_t> back;
  for (size_t i = 0; i < rank; ++i) back.push_back(int64_t(rank - 1 - i));
  const int64_t last = int64_t(rank) - 1;
  Shape wider = v.shape;
  Tensor t;
  switch (layout) {
    case Layout::dense: return tensor(v, d);
    case Layout::transposed: t = tenon::permute(tensor(ref::permute(v, back), d), back); break;
    case Layout::sliced:
      wider.back() *= 2;
      t = tenon::slice(tensor(build(v.dtype, wider, [&](Index i) { return i.back() /= 2, get(v, i); }), d), last, {}, {}, 2);
      break;
    case Layout::reversed: t = tenon::flip(tensor(ref::flip(v, rank - 1), d), last); break;
    case Layout::shifted:
      wider.back() += 1;
      t = tenon::slice(tensor(build(v.dtype, wider, [&](Index i) { return i.back() = std::max<int64_t>(i.back() - 1, 0), get(v, i); }), d), last, 1, {});
      break;
    case Layout::broadcast: t = tenon::broadcast_to(tensor(ref::slice(v, 0, 0, 1, 1), d), v.shape); break;
  }
  if (strided) eval(t);
  return t;
}

// ----------------------------------------------------------------------------------------------------------- running

const Device& reference_device() {
  static const Device device = Device::open("host");
  return device;
}

// One run of a case: its dtype, shapes and memory layout.
struct Variant {
  DType dtype;
  const Shapes* shapes;
  int layout;
  uint64_t seed;
};

Layout layout_of(const Variant& v, size_t input) { return Layout(v.layout < layouts ? v.layout : (int(input) + 1) % layouts); }

std::string about(const Variant& v) {
  std::string out = cat(to_string(v.dtype), " ", v.layout < layouts ? layout_names[v.layout] : "mixed");
  for (const Shape& s : *v.shapes) out += tenon::to_string(s);
  return out;
}

// TENON_TEST_SAMPLE=n: of each case and dtype the first variant and, by their hashes, every n-th of the rest.
struct Sample {
  uint64_t every = 1;
  int64_t chosen = 0, all = 0;
  bool takes(const Case& c, const Variant& v) {
    ++all;
    const std::string name = cat(c.op, " ", c.name, " ", about(v));
    const bool taken = (v.layout == 0 && v.shapes == &c.shapes[0]) || fnv(std::as_bytes(std::span(name))) % every == 0;
    chosen += taken;
    return taken;
  }
};

Sample sample_from_environment() { return {sample_every()}; }

std::vector<Variant> variants(const Case& c, Sample& sample) {
  std::vector<Variant> out;
  uint64_t seed = 1;
  for (DType t : c.dtypes)
    for (const Shapes& shapes : c.shapes)
      for (int layout = 0; layout < (c.inputs.empty() ? 1 : layouts + (c.inputs.size() > 1)); ++layout)
        if (const Variant v{t, &shapes, layout, ++seed}; sample.takes(c, v)) out.push_back(v);
  return out;
}

R values_of(const Case& c, const Variant& v) {
  R r;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    r.push_back(make_values(c.inputs[i], v.dtype, (*v.shapes)[i], layout_of(v, i), v.seed * 31 + i));
  return r;
}

Tensor made(const Case& c, const R& r, const Variant& v, const Device& d) {
  Tensors in;
  for (size_t i = 0; i < r.size(); ++i) in.push_back(in_layout(r[i], layout_of(v, i), v.seed % 2 == 0, d));
  return c.make(in, d, v.dtype, (*v.shapes)[0]);
}

// The largest error against host by dtype, of the larger of one and the value.
using Errors = std::map<DType, Real>;
void note_error(Errors& errors, DType t, const Values& host, const Values& got) {
  Real& largest = errors.try_emplace(t, 0).first->second;
  for (size_t i = 0; i < host.data.size() && i < got.data.size(); ++i) {
    const Real a = host.data[i], error = std::abs(got.data[i] - a) / std::max<Real>(1, std::abs(a));
    if (std::isfinite(error)) largest = std::max(largest, error);
  }
}

void check(const Case& c, const Variant& v, Errors& errors) {
  const R r = values_of(c, v);
  try {
    const Values want = c.reference(r, v.dtype, (*v.shapes)[0]);
    const Values host = read(made(c, r, v, reference_device()));
    EXPECT_EQ(difference(want, host, c.within.of(want.dtype)), "") << "host " << about(v);
    std::optional<Values> tuned;
    for (modes::LowerMode mode : modes::lower_modes) {
      const modes::InLowerMode in(mode);
      const std::string where = cat(tested_device_name(), " ", modes::name_of(mode), " ", about(v));
      tested_device().reset_census();
      const Values got = read(made(c, r, v, tested_device()));
      EXPECT_EQ(modes::foreign_kernels(tested_device(), mode), "") << where;
      EXPECT_EQ(difference(want, got, c.within.of(want.dtype)), "") << where;
      EXPECT_EQ(difference(host, got, c.within.of(want.dtype, 2)), "") << where << ", against host";
      note_error(errors, want.dtype, host, got);
      if (!tuned) tuned = got;
      EXPECT_EQ(difference(*tuned, got, c.within.of(want.dtype, 2)), "") << where << ", against tuned";
    }
  } catch (const std::exception& e) {
    ADD_FAILURE() << about(v) << " threw: " << e.what();
  }
}

// Makes all plans of a case in all modes, and runs nothing: kernels that are compiled at their first launch are then
// compiled together.
void plan_only(const Case& c) {
  Sample sample = sample_from_environment();
  for (const Variant& v : variants(c, sample)) {
    const R r = values_of(c, v);
    for (modes::LowerMode mode : modes::lower_modes) {
      const modes::InLowerMode in(mode);
      plan_text({made(c, r, v, tested_device())});
    }
  }
}

class OpCases : public ::testing::TestWithParam<size_t> {
 protected:
  static inline Sample sample = sample_from_environment();

  // TENON_TEST_PLAN_FIRST=1: plans of all that will run are made before.
  static void SetUpTestSuite() {
    const char* wish = std::getenv("TENON_TEST_PLAN_FIRST");
    if (!wish || std::string(wish) != "1") return;
    const ::testing::TestSuite& suite = *::testing::UnitTest::GetInstance()->current_test_suite();
    for (int i = 0; i < suite.total_test_count(); ++i) {
      const ::testing::TestInfo& test = *suite.GetTestInfo(i);
      if (!test.should_run() || std::string(test.name()).rfind("MatchTheReference/", 0) != 0) continue;
      for (const Case& c : all_cases())
        if (test.name() == cat("MatchTheReference/", c.op, "_", c.name)) plan_only(c);
    }
  }
  static void TearDownTestSuite() {
    if (sample.every > 1) std::printf("[  SAMPLE  ] %lld of %lld variants of the cases ran\n", (long long)sample.chosen, (long long)sample.all);
  }
};

TEST_P(OpCases, MatchTheReference) {
  const Case& c = all_cases()[GetParam()];
  Errors errors;
  for (const Variant& v : variants(c, sample))
    if (!HasFailure()) check(c, v, errors);
  // Read by tools/gpu_check.
  for (const auto& [t, error] : errors) RecordProperty(cat("error_", to_string(t)), cat(double(error)));
}

DType result_dtype(const Case& c, const R& inputs, DType t, const Shape& shape) {
  const Device planner = Device::open("null:roomy");
  Tensors in;
  for (const Values& v : inputs) in.push_back(in_layout(v, Layout(0), false, planner));
  return c.make(in, planner, t, shape).dtype();
}

// What each case's plan must keep on devices with limits is checked as it is made (support/plan_checker.h).
TEST_P(OpCases, PlanWithinLimits) {
  const Case& c = all_cases()[GetParam()];
  uint64_t seed = 1;
  for (const char* name : {"null:roomy", "null:webgpu", "null:tiny", "null:cuda"})
    for (DType t : c.dtypes)
      for (const Shapes& shapes : c.shapes)
        for (int layout = 0; layout < (c.inputs.empty() ? 1 : layouts); ++layout, ++seed) {
          const Device d = Device::open(name);
          if (block_bytes(t) == 8 && !d.shared()->limits().wide_lanes) continue;  // refused: ErrorsTest
          R r;
          for (size_t i = 0; i < c.inputs.size(); ++i) r.push_back(make_values(c.inputs[i], t, shapes[i], Layout(layout), seed + i));
          Tensors in;
          for (const Values& v : r) in.push_back(in_layout(v, Layout(layout), seed % 2 == 0, d));
          const bool has_dtypes = d.shared()->limits().wide_lanes || block_bytes(result_dtype(c, r, t, shapes[0])) < 8;
          if (has_dtypes) EXPECT_NO_THROW(eval(c.make(in, d, t, shapes[0]))) << name << " " << to_string(t) << " " << layout_names[layout];
          else EXPECT_THROW(eval(c.make(in, d, t, shapes[0])), Error) << name << " " << to_string(t);
        }
}

// A device that cannot compile finds every kernel that it asks for among those that ship.
TEST_P(OpCases, NeedsNoKernelThatDoesNotShip) {
  static KernelBuild& build = *[] {
    auto* b = new KernelBuild("sm_80");
    plan_every_op(b->plain_device());
    return b;
  }();
  const int64_t before = build.kernels();
  const Device d = build.plain_device();
  const Case& c = all_cases()[GetParam()];
  uint64_t seed = 1;
  for (modes::LowerMode mode : modes::lower_modes) {
    const modes::InLowerMode in_mode(mode);
    for (DType t : c.dtypes)
      for (const Shapes& shapes : c.shapes)
        for (int layout = 0; layout < (c.inputs.empty() ? 1 : layouts); ++layout, ++seed) {
          Tensors in;
          for (size_t i = 0; i < c.inputs.size(); ++i)
            in.push_back(in_layout(make_values(c.inputs[i], t, shapes[i], Layout(layout), seed + i), Layout(layout), seed % 2 == 0, d));
          EXPECT_NO_THROW(eval(c.make(in, d, t, shapes[0]))) << to_string(t) << " " << layout_names[layout];
        }
  }
  for (int64_t i = before; i < build.kernels(); ++i) ADD_FAILURE() << "does not ship: " << build.names()[size_t(i)];
}

INSTANTIATE_TEST_SUITE_P(Table, OpCases, ::testing::Range<size_t>(0, all_cases().size()), [](const auto& row) {
  return cat(all_cases()[row.param].op, "_", all_cases()[row.param].name);
});

TEST(OpTable, EveryOpHasACaseAndEveryCaseAnOp) {
  std::set<std::string> ops, cases;
  for (const OpInfo& op : list_ops()) ops.insert(op.name);
  for (const Case& c : all_cases()) cases.insert(c.op);
  for (const std::string& op : ops) EXPECT_TRUE(cases.contains(op)) << op << " has no row in tests/ops/cases.def";
  for (const std::string& op : cases) EXPECT_TRUE(ops.contains(op)) << "tests/ops/cases.def names an unknown op: " << op;
  EXPECT_EQ(ops.size(), list_ops().size()) << "an op is listed twice";
}

// Without the number of one device among its like.
std::string kind_of(const Device& device) { return device.name().substr(0, device.name().find(':')); }

// What docs/coverage/DEVICE.json holds: each op's dtypes that give the reference's values on the device.
std::string coverage(const Device& device) {
  std::map<std::string, std::set<DType>> works;
  for (const Case& c : all_cases())
    for (DType t : c.dtypes) {
      const Variant v{t, &c.shapes[0], 0, 7};
      const R r = values_of(c, v);
      const Values want = c.reference(r, t, c.shapes[0][0]);
      if (difference(want, read(made(c, r, v, device)), c.within.of(want.dtype)).empty()) works[c.op].insert(t);
    }
  std::string out = cat("{\"device\": \"", kind_of(device), "\", \"ops\": [\n");
  for (size_t i = 0; i < list_ops().size(); ++i) {
    const OpInfo& op = list_ops()[i];
    std::string dtypes;
    for (DType t : works[op.name]) dtypes += cat(dtypes.empty() ? "" : ", ", "\"", to_string(t), "\"");
    out += cat("  {\"op\": \"", op.name, "\", \"kind\": \"", op.kind, "\", \"dtypes\": [", dtypes, "]}", i + 1 < list_ops().size() ? "," : "", "\n");
  }
  return out + "]}\n";
}

TEST(OpTable, CommittedCoverageIsWhatRuns) {
  for (const Device& device : {tested_device(), reference_device()}) {
    const std::string path = cat(TENON_TEST_DATA, "/../../docs/coverage/", kind_of(device), ".json"), now = coverage(device);
    if (std::getenv("TENON_UPDATE_COVERAGE")) std::ofstream(path) << now;
    std::ifstream file(path);
    std::string committed{std::istreambuf_iterator<char>(file), {}};
    // What tools/gpu_check adds of a run on the hardware.
    if (const size_t more = committed.find("],\n\"hardware\":"); more != committed.npos) committed.replace(more, committed.npos, "]}\n");
    EXPECT_EQ(committed, now) << path << "; if the change is meant, run once with TENON_UPDATE_COVERAGE=1, then tools/gen_ops_md.py";
  }
}

TEST(OpTable, CasesHaveDistinctNames) {
  std::set<std::string> seen;
  for (const Case& c : all_cases()) EXPECT_TRUE(seen.insert(cat(c.op, "_", c.name)).second) << c.op << " " << c.name;
}

}  // namespace
}  // namespace tenon::testing
