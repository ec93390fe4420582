// Random graphs: fused equals unfused bit for bit, for any number of threads, step by step or at once, on cpu; equal to
// the host within rounding; and every plan keeps the limits of small devices. A share of the seeds runs in the other
// modes of lowering.
// TENON_TEST_ALL=1 runs thousands; TENON_GRAPH_SEED=n runs one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "graph/evaluate.h"
#include "graph/handles.h"
#include "graph/mode.h"
#include "graph/random_graph_build.h"
#include "support/faulty_backend.h"
#include "support/lowering.h"

namespace tenon::testing_graphs {
namespace {

using Bytes = std::vector<std::byte>;

struct Unfused {
  Unfused() { graph::set_fusion(false); }
  ~Unfused() { graph::set_fusion(true); }
};

std::vector<Bytes> read_roots(const Graph& g, const std::vector<Tensor>& t) {
  std::vector<Tensor> roots;
  for (int r : g.roots) roots.push_back(t[size_t(r)]);
  eval(roots);
  std::vector<Bytes> out;
  for (const Tensor& r : roots) out.push_back(r.to_bytes());
  return out;
}
std::vector<Bytes> at_once(const Graph& g, const Device& d) { return read_roots(g, build(g, d)); }
std::vector<Bytes> unfused(const Graph& g, const Device& d) {
  Unfused mode;
  return at_once(g, d);
}
std::vector<Bytes> step_by_step(const Graph& g, const Device& d) {
  std::vector<Tensor> built(g.steps.size());
  const std::vector<bool> need = needed(g);
  for (size_t i = 0; i < g.steps.size(); ++i) {
    if (!need[i]) continue;
    built[i] = make(g.steps[i], built, d);
    eval(built[i]);
  }
  return read_roots(g, built);
}

double value(DType t, const Bytes& bytes, int64_t i) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + i * block_bytes(t), size_t(block_bytes(t)));
  switch (t) {
    case DType::f64: return std::bit_cast<double>(word);
    case DType::i64: return double(int64_t(word));
    case DType::i8: return double(int8_t(word));
    case DType::f32: return double(std::bit_cast<float>(uint32_t(word)));
    case DType::f16: return double(f32_from_f16(uint16_t(word)));
    case DType::bf16: return double(f32_from_bf16(uint16_t(word)));
    case DType::i32: return double(int32_t(word));
    default: return double(word);
  }
}

// Empty, or where the two differ; NaNs are alike whatever their payload.
std::string bit_difference(const Graph& g, const std::vector<Bytes>& a, const std::vector<Bytes>& b) {
  for (size_t r = 0; r < a.size(); ++r) {
    const Step& s = g.steps[size_t(g.roots[r])];
    if (a[r].size() != b[r].size()) return cat("root t", g.roots[r], ": ", int64_t(a[r].size()), " and ", int64_t(b[r].size()), " bytes");
    const int64_t size = block_bytes(s.dtype);
    for (int64_t i = 0; i < int64_t(a[r].size()) / size; ++i) {
      if (std::memcmp(a[r].data() + i * size, b[r].data() + i * size, size_t(size)) == 0) continue;
      const double x = value(s.dtype, a[r], i), y = value(s.dtype, b[r], i);
      if (is_float(s.dtype) && std::isnan(x) && std::isnan(y)) continue;
      return cat("root t", g.roots[r], " element ", i, ": ", x, " and ", y);
    }
  }
  return {};
}

// ---- against the host: steps whose value may differ by rounding, and by how much of the largest value on the way

struct Spread {
  double tolerance = 0;  // relative to `largest`
  double largest = 0;
  bool comparable = true;
};

bool is_exact(const std::string& op) {
  for (const char* name : {"leaf", "full", "arange", "random_bits", "negative", "abs", "relu", "logical_not", "transpose", "square",
                           "sqrt", "scale", "add", "subtract", "multiply", "minimum", "maximum", "equal", "not_equal", "less",
                           "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "bitwise_and", "bitwise_or",
                           "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "divide", "raw_divide", "where", "cast",
                           "reshape", "permute", "expand_dims", "squeeze", "broadcast_to", "flip", "slice", "concat", "take",
                           "dynamic_slice", "update", "max", "argmax", "min", "argmin", "any", "roll", "pad", "repeat", "tril", "take_along_axis", "cummax",
                           "sort", "argsort", "index_set", "index_max", "scatter_set", "scatter_max",
                           "floor", "ceil", "trunc", "round", "bitwise_invert", "sign", "isnan", "isfinite", "floor_divide", "remainder", "fma"})
    if (op == name) return true;
  return false;
}

// Ops that turn a small difference of a float into a large one.
bool jumps_inside(const std::string& op) {
  for (const char* name : {"raw_divide", "raw_log", "raw_exp", "floor", "ceil", "trunc", "round", "floor_divide", "remainder", "sign", "tan", "expm1"})
    if (op == name) return true;
  return false;
}

std::vector<Spread> spreads(const Graph& g, const std::vector<Tensor>& host) {
  std::vector<Spread> all(g.steps.size());
  const std::vector<bool> need = needed(g);
  for (size_t i = 0; i < g.steps.size(); ++i) {
    if (!need[i]) continue;
    const Step& s = g.steps[i];
    Spread& out = all[i];
    for (int j : s.in) {
      const Spread& in = all[size_t(j)];
      out.tolerance = std::max(out.tolerance, in.tolerance);
      out.largest = std::max(out.largest, in.largest);
      out.comparable = out.comparable && in.comparable;
      // What jumps (a comparison, an index, an integer) turns a rounding difference into another value.
      const bool by_index = s.op.starts_with("take") || s.op.starts_with("index_") || s.op.starts_with("scatter_");
      const bool jumps = !is_float(s.dtype) || by_index;
      if (in.tolerance > 0 && (jumps || jumps_inside(s.op))) out.comparable = false;
    }
    const double unit = s.dtype == DType::bf16 ? 2e-2 : s.dtype == DType::f16 ? 3e-3 : s.dtype == DType::f64 ? 1e-12 : 1e-4;
    const bool product = s.op == "prod" || s.op == "matmul" || s.op == "linear" || s.op == "gram";
    const bool integer_sum = (product || s.op.ends_with("sum") || s.op.ends_with("_add")) && !is_float(s.dtype);
    if (!is_exact(s.op) && !integer_sum) out.tolerance = std::max(out.tolerance, unit);
    else if (out.tolerance > 0) out.tolerance = std::max(out.tolerance, unit);
    const Bytes bytes = host[i].to_bytes();
    for (int64_t k = 0; k < host[i].size(); ++k) {
      const double v = std::abs(value(s.dtype, bytes, k));
      if (!std::isfinite(v)) out.comparable = out.comparable && out.tolerance == 0;
      else out.largest = std::max(out.largest, v);
    }
  }
  return all;
}

std::string host_difference(const Graph& g, const std::vector<Bytes>& cpu) {
  const std::vector<Tensor> host = build(g, Device::open("host"));
  const std::vector<Spread> all = spreads(g, host);
  for (size_t r = 0; r < g.roots.size(); ++r) {
    const Step& s = g.steps[size_t(g.roots[r])];
    const Spread& spread = all[size_t(g.roots[r])];
    if (!spread.comparable) continue;
    const Bytes want = host[size_t(g.roots[r])].to_bytes();
    if (want.size() != cpu[r].size()) return "another size than on the host";
    for (int64_t i = 0; i < element_count(s.shape); ++i) {
      const double a = value(s.dtype, want, i), b = value(s.dtype, cpu[r], i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      if (!(std::abs(a - b) <= spread.tolerance * (1 + spread.largest)))
        return cat("root t", g.roots[r], " element ", i, ": host ", a, ", cpu ", b);
    }
  }
  return {};
}

bool needs_wide_lanes(const Graph& g) {
  const std::vector<bool> need = needed(g);
  for (size_t i = 0; i < g.steps.size(); ++i)
    if (need[i] && is_wide(g.steps[i].dtype)) return true;
  return false;
}

std::string limits_difference(const Graph& g) {
  for (const auto& [name, most] : {std::pair<const char*, int>{"null:webgpu", 8}, {"null:tiny", 4}}) {
    if (needs_wide_lanes(g)) break;  // these devices have none
    const std::vector<Tensor> t = build(g, Device::open(name));
    std::vector<graph::NodeRef> roots;
    for (int r : g.roots)
      if (graph::node_of(t[size_t(r)])->kind != graph::Kind::leaf) roots.push_back(graph::node_of(t[size_t(r)]));
    if (roots.empty()) continue;
    const int used = graph::plan_for(roots)->max_bindings();
    if (used > most) return cat(name, ": ", used, " bindings in one launch");
  }
  return {};
}

const Device& cpu(int threads) {
  static const Device one = Device::open("cpu", 1), two = Device::open("cpu", 2), seven = Device::open("cpu", 7);
  return threads == 1 ? one : threads == 2 ? two : seven;
}

// A cpu that refuses bindings off the alignment, more buffers than `bindings`, and more than 8000 groups.
Device narrow_cpu(int bindings) {
  auto faults = std::make_shared<testing::Faults>();
  faults->view_alignment = 256;
  faults->max_bindings = bindings;
  faults->max_groups = 20;
  return testing::faulty_device("cpu", faults);
}
const Device& aligned_cpu() {
  static const Device d = narrow_cpu(32);
  return d;
}
const Device& narrow_cpu() {
  static const Device d = narrow_cpu(4);
  return d;
}

// Empty when all is well.
std::string problem(const Graph& g) {
  try {
    const std::vector<Bytes> fused = at_once(g, cpu(1));
    auto differs = [&](const char* what, const std::vector<Bytes>& other) {
      const std::string d = bit_difference(g, fused, other);
      return d.empty() ? d : cat(what, ": ", d);
    };
    if (auto d = differs("fused and unfused", unfused(g, cpu(1))); !d.empty()) return d;
    if (auto d = differs("at once and step by step", step_by_step(g, cpu(1))); !d.empty()) return d;
    if (auto d = differs("first and second run", at_once(g, cpu(1))); !d.empty()) return d;
    if (auto d = differs("1 and 2 threads", at_once(g, cpu(2))); !d.empty()) return d;
    if (auto d = differs("1 and 7 threads", at_once(g, cpu(7))); !d.empty()) return d;
    if (auto d = differs("any and aligned bindings", at_once(g, aligned_cpu())); !d.empty()) return d;
    if (auto d = differs("any and aligned bindings of leaves", step_by_step(g, aligned_cpu())); !d.empty()) return d;
    if (auto d = host_difference(g, fused); !d.empty()) return d;
    if (auto d = host_difference(g, at_once(g, narrow_cpu())); !d.empty()) return cat("with few bindings: ", d);
    return limits_difference(g);
  } catch (const std::exception& e) {
    return cat("threw: ", e.what());
  }
}

// The same in another mode: fused equals unfused there too, the host within rounding, and no other mode's kernels.
std::string problem_in(modes::LowerMode mode, const Graph& g) {
  const modes::InLowerMode in(mode);
  const Device& d = cpu(2);
  try {
    d.reset_census();
    const std::vector<Bytes> fused = at_once(g, d);
    if (auto other = modes::foreign_kernels(d, mode); !other.empty()) return cat("kernels of another mode: ", other);
    if (auto diff = bit_difference(g, fused, unfused(g, d)); !diff.empty()) return cat("fused and unfused: ", diff);
    return host_difference(g, fused);
  } catch (const std::exception& e) {
    return cat("threw: ", e.what());
  }
}

// The kind of a problem, so that shrinking does not wander to another one.
std::string kind_of(const std::string& problem) {
  std::string out;
  for (char c : problem.substr(0, problem.find("root")))
    if (c < '0' || c > '9') out += c;
  return out.substr(0, 40);
}

// Graphs from many seeds; `every`: of so many seeds, one.
void run_seeds(int every, const std::function<std::string(const Graph&)>& check) {
  const char* all = std::getenv("TENON_TEST_ALL");
  const char* one = std::getenv("TENON_GRAPH_SEED");
  const uint64_t first = one ? uint64_t(std::atoll(one)) : 1, count = one ? 1 : all && *all == '1' ? 5000 : 300;
  int failures = 0;
  for (uint64_t seed = first; seed < first + count && failures < 5; seed += uint64_t(every)) {
    const Graph g = random_graph(seed);
    const std::string why = check(g);
    if (why.empty()) continue;
    ++failures;
    const Graph small = shrink(g, [&](const Graph& h) { return kind_of(check(h)) == kind_of(why); });
    ADD_FAILURE() << "TENON_GRAPH_SEED=" << seed << " " << why << "\nsmallest: " << check(small) << "\n" << to_text(small);
  }
}

TEST(RandomGraphs, FusedEqualsUnfusedOnEveryThreadCountAndTheHost) { run_seeds(1, problem); }

TEST(RandomGraphs, AgreeInTheOtherModesOfLowering) {
  for (modes::LowerMode mode : {modes::LowerMode::generated, modes::LowerMode::composed}) {
    SCOPED_TRACE(modes::name_of(mode));
    run_seeds(3, [mode](const Graph& g) { return problem_in(mode, g); });
  }
}

TEST(RandomGraphs, AreTheSameForASeed) {
  EXPECT_EQ(to_text(random_graph(7)), to_text(random_graph(7)));
  EXPECT_NE(to_text(random_graph(7)), to_text(random_graph(8)));
}

}  // namespace
}  // namespace tenon::testing_graphs
