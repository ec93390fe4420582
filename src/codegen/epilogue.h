// An anchor's epilogue as a function of kernels' text.
#pragma once
#include "codegen/program.h"

namespace tenon::codegen {

// `inline void finish(const Buffers& B, const Params& p, int64_t at, float result)`: takes the anchor's result for the
// element with the row-major number `at` of its output and stores what the description's program makes of it.
void emit_epilogue(Code& code, const KernelDesc& desc, const ProgramText& text);

// `inline float load_<name>(const Buffers& B, int64_t element)`: an element of one of the anchor's own operands.
void emit_load(Code& code, const KernelDesc& desc, const char* name, int operand);
// That, and `inline void chunk_<name>(const Buffers& B, int64_t element, int count, float (&out)[width])`: `count`
// neighbours, the rest of `out` 0. Of floats; `width` is in scope.
void emit_chunked_load(Code& code, const KernelDesc& desc, const char* name, int operand);
// An operand's memory and what its elements mean: `<prefix>Storage`, `<name>_elements(B)`, `<name>_value(x)`.
void emit_elements(Code& code, const KernelDesc& desc, const char* name, const char* prefix, int operand);

}  // namespace tenon::codegen
