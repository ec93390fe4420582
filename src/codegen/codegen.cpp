#include "codegen/codegen.h"

#include "codegen/attention.h"
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

Source emit(const KernelDesc& desc, const Target&) {
  const Family* f = find(desc);
  return f ? f->emit(desc) : Source();
}

Extent extent(const KernelDesc& desc, const Source& source, const Params& params) {
  Extent out = find(desc)->extent(desc, params);
  out.groups.resize(source.phases.size());  // phases that a family leaves out do not run
  return out;
}

}  // namespace tenon::codegen
