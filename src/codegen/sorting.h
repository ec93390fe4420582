// Kernels of the anchors that put elements in order or go along one: scan, sort, scatter, sample.
#pragma once
#include "codegen/codegen.h"

namespace tenon::codegen {

// No phases where the dtype has no kernel.
Source emit_scan(const KernelDesc& desc);
Extent scan_extent(const KernelDesc& desc, const Params& params);

Source emit_sort(const KernelDesc& desc);
Extent sort_extent(const KernelDesc& desc, const Params& params);

Source emit_scatter(const KernelDesc& desc);
Extent scatter_extent(const KernelDesc& desc, const Params& params);

Source emit_sample(const KernelDesc& desc);
Extent sample_extent(const KernelDesc& desc, const Params& params);

}  // namespace tenon::codegen
