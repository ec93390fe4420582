// Kernels of matrix products: matmul and quant_matmul.
#pragma once
#include "codegen/codegen.h"

namespace tenon::codegen {

// No phases where the dtypes have no kernel.
Source emit_matmul(const KernelDesc& desc);
Extent matmul_extent(const KernelDesc& desc, const Params& params);

Source emit_quant_matmul(const KernelDesc& desc);
Extent quant_matmul_extent(const KernelDesc& desc, const Params& params);

}  // namespace tenon::codegen
