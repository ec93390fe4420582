#include "codegen/codegen.h"

#include <algorithm>
#include <cstdlib>

#include "codegen/attention.h"
#include "codegen/mma.h"
#include "codegen/products.h"
#include "codegen/region.h"
#include "codegen/sorting.h"

namespace tenon::codegen {
namespace {

// A family of kernels that the generator knows.
struct Family {
  const char* name;
  Source (*emit)(const KernelDesc&);
  Extent (*extent)(const KernelDesc&, const Params&);
};
constexpr Family families[] = {
    {"map", emit_map, map_extent},
    {"row", emit_row, row_extent},
    {"matmul", emit_matmul, matmul_extent},
    {"quant_matmul", emit_quant_matmul, quant_matmul_extent},
    {"attention", emit_attention, attention_extent},
    {"scan", emit_scan, scan_extent},
    {"sort", emit_sort, sort_extent},
    {"scatter", emit_scatter, scatter_extent},
    {"sample", emit_sample, sample_extent},
};

const Family* find(const KernelDesc& desc) {
  for (const Family& f : families)
    if (desc.family == f.name) return &f;
  return nullptr;
}

}  // namespace

Limits limits() {
  Limits l;
  l.max_bindings = max_bindings;
  l.wide_lanes = true;
  return l;
}

Source emit(const KernelDesc& desc, const Target& target) {
  const Family* f = find(desc);
  Source out = f ? f->emit(desc) : Source();
  add_mma(desc, target, out);
  return out;
}

int capability_of(const std::string& architecture) { return std::atoi(architecture.c_str() + (architecture.find('_') + 1)); }

Target target_of(const std::string& architecture) {
  const int capability = capability_of(architecture);
  int64_t shared = 64 << 10;  // compute capability 7.5
  if (capability == 80 || capability == 87) shared = 163 << 10;
  else if (capability >= 81 && capability < 90) shared = 99 << 10;
  else if (capability >= 90 && capability < 120) shared = 227 << 10;
  else if (capability >= 120) shared = 99 << 10;
  return {capability, 1024, shared};
}

bool ships(const KernelDesc& d) {
  if (d.family == "quant_matmul") return d.anchor_operands == 2;
  if (d.family != "attention") return true;
  // Of the options only the causal mask, the first one.
  const bool plain = std::all_of(d.attributes.begin() + 1, d.attributes.end(), [](int64_t a) { return a == 0; });
  return plain && d.operands[1].dtype == d.operands[2].dtype;
}

Extent extent(const KernelDesc& desc, const Source& source, const Params& params) {
  Extent out = find(desc)->extent(desc, params);
  out.groups.resize(source.phases.size());  // phases that a family leaves out do not run
  choose_mma(desc, source, params, out);
  return out;
}

Grid grid(const Extent& extent) {
  Grid g{0, extent.scratch_bytes};
  for (int64_t groups : extent.groups) g.groups = std::max(g.groups, groups);
  return g;
}

}  // namespace tenon::codegen
