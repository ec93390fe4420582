// Kernels of attention.
#pragma once
#include "codegen/codegen.h"

namespace tenon::codegen {
Source emit_attention(const KernelDesc& desc);
Extent attention_extent(const KernelDesc& desc, const Params& params);
}  // namespace tenon::codegen
