// Matrix products of many rows on tensor cores: further phases of the kernels of matmul and quant_matmul, on devices that
// have them (mma.sync, compute capability 8.0). Their entries have "_mma_" in their names.
//
// Factors are bf16, or f16 where both are. An operand of any other dtype (f32, f16 beside another dtype, quantised) is
// split into two bf16, which keep 16 bits of its significand; products with f32 on both sides stay off the tensor cores.
// Sums are f32, in an order that k alone decides.
#pragma once
#include "codegen/codegen.h"

namespace tenon::codegen {

// Adds the phases to what emit_matmul() or emit_quant_matmul() made, where the target and the dtypes allow.
void add_mma(const KernelDesc& desc, const Target& target, Source& source);
// Gives the work of a launch to one of them, where its sizes and strides allow.
void choose_mma(const KernelDesc& desc, const Source& source, const Params& params, Extent& extent);

}  // namespace tenon::codegen
