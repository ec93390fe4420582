#include "graph/prologue.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

namespace tenon::graph {
namespace {

using Kind = Instr::Kind;

// The rows of x that a product reads, where they can be made by a prologue: dense, in one batch.
struct Rows {
  int64_t m = 0, k = 0;
};

std::optional<Rows> rows_of(const PlanStep& s) {
  if (s.desc.family == "quant_matmul") {
    const QuantMatmulParams& p = s.params.quant_matmul;
    if (p.m > 1 && p.x_row != p.k) return {};
    return Rows{p.m, p.k};
  }
  if (s.desc.family != "matmul") return {};
  const MatmulParams& p = s.params.matmul;
  const bool one_batch = p.batch[0] * p.batch[1] * p.batch[2] == 1;
  if (!one_batch || p.n == 1 || p.a_col != 1 || (p.m > 1 && p.a_row != p.k)) return {};
  return Rows{p.m, p.k};
}

// What a row or map launch reads and does, as a prologue has it; empty where it cannot be one.
struct Prologue {
  std::vector<Operand> operands;
  std::vector<PlanView> views;
  PrologueParams params;
};

bool plain_read(const Operand& o) {
  return o.kind == Operand::Kind::buffer && o.access == Access::in && !o.gathered && !o.dynamic && !is_quantised(o.dtype);
}

std::optional<Prologue> prologue_of(const PlanStep& s, const Rows& x, DType dtype) {
  const KernelDesc& d = s.desc;
  const bool map_of_one_row = d.family == "map" && d.outer_rank == 1 && x.m == 1;
  const bool rows = d.family == "row" && d.inner_rank == 1 && d.outer_rank == (x.m == 1 ? 0 : 1);
  if (!map_of_one_row && !rows) return {};
  const int inner = d.outer_rank + d.inner_rank - 1;  // the axis along a row
  const RegionParams& region = s.params.region;
  if (region.dims[inner] != x.k || (x.m > 1 && region.dims[0] != x.m)) return {};
  const size_t reads = d.operands.size() - 1;
  if (reads == 0 || reads > size_t(prologue_max_operands) || d.operands.back().access != Access::out || d.operands.back().dtype != dtype) return {};
  Prologue p;
  for (size_t i = 0; i <= reads; ++i) {
    if (region.operands[i].base != 0) return {};
    const int64_t along = region.operands[i].strides[inner], next = x.m > 1 ? int64_t(region.operands[i].strides[0]) : 0;
    if (i == reads) {
      if (along != 1 || (x.m > 1 && next != x.k) || s.views[i].offset != 0) return {};
      break;
    }
    Operand o = d.operands[i];
    if (!plain_read(o) || (along != 0 && along != 1)) return {};
    o.stride_class = {};
    o.stride_class[0] = next == 0 ? 0 : next == 1 ? 1 : 2;
    o.stride_class[1] = uint8_t(along);
    p.operands.push_back(o);
    p.views.push_back(s.views[i]);
    p.params.row_stride[i] = next;
  }
  for (const Instr& i : d.program) {
    if (i.kind != Kind::scalar) continue;
    if (i.bits >= uint64_t(prologue_max_scalars)) return {};
    p.params.scalar_slots[i.bits] = region.scalar_slots[i.bits];
  }
  return p;
}

bool names_operand(const Instr& i) {
  return i.kind == Kind::load || i.kind == Kind::gather || i.kind == Kind::index || i.kind == Kind::store;
}

// The product with `p` in place of its first operand.
PlanStep joined(const PlanStep& rows, const PlanStep& product, Prologue p) {
  PlanStep s = product;
  const int own = s.desc.anchor_operands, added = int(p.operands.size());
  s.desc.operands[0].kind = Operand::Kind::computed;
  s.desc.operands.insert(s.desc.operands.begin() + own, p.operands.begin(), p.operands.end());
  s.desc.anchor_operands = own + added;
  s.desc.prologue_operands = added;
  s.desc.prologue = rows.desc.program;
  for (Instr& i : s.desc.program)
    if (names_operand(i)) i.operand = uint16_t(i.operand + added);
  s.views.erase(s.views.begin());
  s.views.insert(s.views.begin() + (own - 1), p.views.begin(), p.views.end());
  (s.desc.family == "matmul" ? s.params.matmul.prologue : s.params.quant_matmul.prologue) = p.params;
  s.scalars = s.scalars || rows.scalars;
  return s;
}

bool within(const PlanStep& s, const Limits& limits) {
  std::set<int> buffers;
  for (const PlanView& v : s.views) buffers.insert(v.buffer);
  return int(buffers.size()) + (s.scalars ? 1 : 0) <= limits.max_bindings &&
         int(s.desc.program.size() + s.desc.prologue.size()) <= limits.max_instructions;
}

// The product's first operand is its whole buffer.
bool at_start(const PlanStep& product) { return product.views[0].offset == 0 && product.params.anchor_base[0] == 0; }

class Joiner {
 public:
  Joiner(Plan& plan, std::span<const int> kept, Backend& backend, KernelChoice choice) : plan_(plan), backend_(backend), choice_(choice) {
    for (int b : kept) uses_[b].others = true;
    for (size_t i = 0; i < plan.steps.size(); ++i)
      for (const PlanView& v : plan.steps[i].views) count(uses_[v.buffer], v, i);
  }

  void run() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) join(i);
    std::vector<PlanStep> left;
    for (size_t i = 0; i < plan_.steps.size(); ++i)
      if (!gone_.contains(i)) left.push_back(std::move(plan_.steps[i]));
    plan_.steps = std::move(left);
  }

 private:
  struct Uses {
    int reads = 0, writes = 0;
    size_t writer = 0;
    bool others = false;  // that a prologue cannot serve
  };
  static void count(Uses& u, const PlanView& v, size_t step) {
    u.reads += v.access == Access::in;
    u.writes += v.access == Access::out;
    u.others = u.others || v.access == Access::inout;
    if (v.access == Access::out) u.writer = step;
  }

  void join(size_t i) {
    PlanStep& product = plan_.steps[i];
    if (product.kind != PlanStep::Kind::launch) return;
    const auto x = rows_of(product);
    const Limits& limits = backend_.limits();
    if (!x || x->m > limits.prologue_rows || x->k > limits.prologue_elements || !at_start(product)) return;
    const Uses& u = uses_[product.views[0].buffer];
    if (u.others || u.reads != 1 || u.writes != 1) return;
    const PlanStep& rows = plan_.steps[u.writer];
    if (rows.kind != PlanStep::Kind::launch) return;
    auto p = prologue_of(rows, *x, product.desc.operands[0].dtype);
    if (!p) return;
    PlanStep s = joined(rows, product, std::move(*p));
    if (!within(s, limits) || !(s.kernel = backend_.kernel(s.desc, choice_))) return;
    s.grid = backend_.grid(*s.kernel, s.params);
    gone_.insert(u.writer);
    product = std::move(s);
  }

  Plan& plan_;
  Backend& backend_;
  KernelChoice choice_;
  std::unordered_map<int, Uses> uses_;
  std::set<size_t> gone_;
};

}  // namespace

void join_prologues(Plan& plan, std::span<const int> kept, Backend& backend, KernelChoice choice) {
  if (backend.limits().prologue_rows > 0) Joiner(plan, kept, backend, choice).run();
}

}  // namespace tenon::graph
