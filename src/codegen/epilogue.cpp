#include "codegen/epilogue.h"

#include "base/cat.h"

namespace tenon::codegen {

using Kind = Instr::Kind;

void emit_epilogue(Code& code, const KernelDesc& d, const ProgramText& text) {
  code.line("inline void finish(const Buffers& B, const Params& p, int64_t at, float result) {");
  text.coordinates(code, "at", 0, d.outer_rank);
  const auto offset = [&](int o) { return cat(text.offset_base(o), " + ", text.offset_terms(o, 0, d.outer_rank)); };
  for (size_t k = 0; k < d.program.size(); ++k) {
    const Instr& i = d.program[k];
    const bool placed = i.kind == Kind::load || i.kind == Kind::gather || i.kind == Kind::index || i.kind == Kind::store;
    const std::string at = placed ? offset(i.operand) : std::string();
    if (i.kind == Kind::accumulator) code.line("const float v", k, " = result;");
    else if (i.kind == Kind::store) code.line(text.buffer(i.operand), "[", at, "] = ", text.stored(i), ";");
    else text.value(code, k, at, {});
  }
  code.line("}");
}

void emit_load(Code& code, const KernelDesc& d, const char* name, int operand) {
  const DType t = d.operands[size_t(operand)].dtype;
  const std::string from = is_quantised(t) ? cat("load_", to_string(t), "(B.b", operand, ", i)")
                           : t == DType::bool_ ? cat("float(from_bool(B.b", operand, "[i]))")
                                               : cat("from_", to_string(t), "(B.b", operand, "[i])");
  code.line("inline float load_", name, "(const Buffers& B, int64_t i) { return ", from, "; }");
}

void emit_chunked_load(Code& code, const KernelDesc& d, const char* name, int operand) {
  const DType t = d.operands[size_t(operand)].dtype;
  emit_load(code, d, name, operand);
  code.line("inline void chunk_", name, "(const Buffers& B, int64_t i, int count, float (&out)[width]) {");
  code.line(storage_type(t), " raw[width];");
  code.line("load_chunk<width>(B.b", operand, " + i, count, raw);");
  code.line("#pragma unroll");
  code.line("for (int e = 0; e < width; ++e) out[e] = from_", to_string(t), "(raw[e]);");
  code.line("}");
}

void emit_elements(Code& code, const KernelDesc& d, const char* name, const char* prefix, int operand) {
  const DType t = d.operands[size_t(operand)].dtype;
  code.line("using ", prefix, "Storage = ", storage_type(t), ";");
  code.line("inline const ", prefix, "Storage* ", name, "_elements(const Buffers& B) { return B.b", operand, "; }");
  code.line("inline float ", name, "_value(", prefix, "Storage x) { return from_", to_string(t), "(x); }");
}

}  // namespace tenon::codegen
