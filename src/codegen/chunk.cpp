#include "codegen/chunk.h"

namespace tenon::codegen {

using Kind = Instr::Kind;

// Contiguous along the last axis, plain, and not gathered.
bool ChunkCode::at_once(int operand) const {
  const Operand& o = desc.operands[size_t(operand)];
  return width > 1 && o.kind == Operand::Kind::buffer && !o.gathered && !is_quantised(o.dtype) &&
         o.stride_class[size_t(end - 1)] == 1;
}

// Of element `d`, which is `e` where that exists.
std::string ChunkCode::offset(int operand) const {
  const Operand& o = desc.operands[size_t(operand)];
  std::string out = cat("f", operand);
  if (end > begin && width > 1) {
    const uint8_t stride = o.stride_class[size_t(end - 1)];
    if (stride == 1) out += " + d";
    if (stride == 2) out += cat(" + d * int64_t(", text.params(operand), ".strides[", end - 1, "])");
  }
  return out;
}

void ChunkCode::emit(Code& code, const std::vector<size_t>& wanted, const std::vector<size_t>& stores,
                     const std::function<void(Code&)>& each) const {
  const auto first_offset = [&](size_t k) {
    const int o = desc.program[k].operand;
    code.line("const int64_t f", o, " = o", o, " + ", text.offset_terms(o, begin, end), ";");
  };
  std::vector<bool> seen(desc.operands.size());
  for (const std::vector<size_t>* list : {&wanted, &stores})
    for (size_t k : *list) {
      const Instr& i = desc.program[k];
      const bool uses = i.kind == Kind::load || i.kind == Kind::gather || i.kind == Kind::index || i.kind == Kind::store;
      if (!uses || seen[i.operand]) continue;
      seen[i.operand] = true;
      first_offset(k);
      const DType t = desc.operands[i.operand].dtype;
      if (!at_once(i.operand)) continue;
      code.line(storage_type(t), " x", i.operand, "[", width, "];");
      if (i.kind == Kind::load) code.line("load_chunk<", width, ">(", text.buffer(i.operand), " + f", i.operand, ", count, x", i.operand, ");");
    }
  if (width > 1) code.line("#pragma unroll");
  code.line("for (int e = 0; e < ", width, "; ++e) {");
  // Elements that do not exist are computed from the last one that does: no branches, and nothing beyond the end is read.
  if (width > 1) code.line("const int d = e < count ? e : count - 1;");
  for (size_t k : wanted) {
    const Instr& i = desc.program[k];
    std::string element;
    if (i.kind == Kind::load && at_once(i.operand)) {
      const DType t = desc.operands[i.operand].dtype;
      element = cat("from_", to_string(t), "(x", i.operand, "[e])");
    }
    text.value(code, k, offset(i.operand), element);
  }
  for (size_t k : stores) {
    const Instr& i = desc.program[k];
    const std::string to = at_once(i.operand) ? cat("x", i.operand, "[e]") : cat(text.buffer(i.operand), "[", offset(i.operand), "]");
    code.line(to, " = ", text.stored(i), ";");
  }
  if (each) each(code);
  code.line("}");
  for (size_t k : stores) {
    const int o = desc.program[k].operand;
    if (at_once(o)) code.line("store_chunk<", width, ">(", text.buffer(o), " + f", o, ", count, x", o, ");");
  }
}

}  // namespace tenon::codegen
