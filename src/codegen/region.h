// Kernels of map and row regions.
#pragma once
#include "codegen/codegen.h"

namespace tenon::codegen {

Source emit_map(const KernelDesc& desc);
Extent map_extent(const KernelDesc& desc, const Params& params);

Source emit_row(const KernelDesc& desc);
Extent row_extent(const KernelDesc& desc, const Params& params);

// Elements along the last of the axes [begin, end) that one thread takes at once, so that its contiguous operands move
// 16 bytes: 1 where the outputs are not contiguous there.
int chunk_width(const KernelDesc& desc, int begin, int end);

}  // namespace tenon::codegen
