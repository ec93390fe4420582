#include "codegen/codegen.h"

#include "codegen/region.h"

namespace tenon::codegen {

Source emit(const KernelDesc& desc, const Target&) {
  if (desc.family == "map") return emit_map(desc);
  if (desc.family == "row") return emit_row(desc);
  return {};
}

Extent extent(const KernelDesc& desc, const Target&, const Params& params) {
  return desc.family == "map" ? map_extent(desc, params) : row_extent(desc, params);
}

}  // namespace tenon::codegen
