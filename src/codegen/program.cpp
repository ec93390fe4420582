#include "codegen/program.h"

#include "base/check.h"
#include "tenon/dtype.h"

namespace tenon::codegen {

const char* lane_type(Lane lane) {
  switch (lane) {
    case Lane::f32: return "float";
    case Lane::i32: return "int32_t";
    case Lane::u32: return "uint32_t";
    case Lane::f64: return "double";
    case Lane::i64: return "int64_t";
  }
  return "";
}

const char* storage_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return "float";
    case DType::f16: case DType::bf16: return "uint16_t";
    case DType::i32: return "int32_t";
    case DType::u32: return "uint32_t";
    case DType::i8: return "int8_t";
    case DType::f64: return "double";
    case DType::i64: return "int64_t";
    default: return "uint8_t";  // bool, u8, quantised blocks
  }
}

int storage_bytes(DType dtype) { return is_quantised(dtype) ? 0 : int(block_bytes(dtype)); }

// ------------------------------------------------------------------------------------------------------- buffers

std::string ProgramText::buffer(int operand) const { return cat("B.b", operand); }
std::string ProgramText::params(int operand) const { return cat("p.region.operands[", region_operand(operand), "]"); }

namespace {
std::string declared(const Operand& o, size_t i) {
  return cat(o.access == Access::in ? "const " : "", storage_type(o.dtype), "* b", i);
}
}  // namespace

std::string ProgramText::buffers_struct() const {
  std::string out = "struct Buffers { ";
  for (size_t i = 0; i < d_.operands.size(); ++i)
    if (is_buffer(int(i))) out += declared(d_.operands[i], i) + "; ";
  return out + "const uint32_t* scalars; };\n";
}

std::string ProgramText::entry_parameters() const {
  std::string out;
  for (size_t i = 0; i < d_.operands.size(); ++i)
    if (is_buffer(int(i))) out += declared(d_.operands[i], i) + ", ";
  return out + "const uint32_t* scalars, const Params p";
}

std::string ProgramText::make_buffers() const {
  std::string out = "const Buffers B = {";
  for (size_t i = 0; i < d_.operands.size(); ++i)
    if (is_buffer(int(i))) out += cat("b", i, ", ");
  return out + "scalars};";
}

// ------------------------------------------------------------------------------------------------------- offsets

std::string ProgramText::offset_terms(int operand, int begin, int end) const {
  const Operand& o = d_.operands[size_t(operand)];
  std::string out;
  for (int a = begin; a < end; ++a) {
    const uint8_t stride = o.stride_class[size_t(a)];
    if (stride == 0) continue;
    if (!out.empty()) out += " + ";
    out += stride == 1 ? cat("c", a) : cat("c", a, " * int64_t(", params(operand), ".strides[", a, "])");
  }
  return out.empty() ? "0" : out;
}

std::string ProgramText::offset_base(int operand) const {
  std::string out = cat("int64_t(", params(operand), ".base)");
  if (d_.operands[size_t(operand)].dynamic)
    out += cat(" + moved(B.scalars[", params(operand), ".dynamic_slot], ", params(operand), ".dynamic_max, ", params(operand), ".dynamic_stride)");
  return out;
}

void ProgramText::coordinates(Code& code, const std::string& at, int begin, int end) const {
  if (begin == end) return;
  if (begin + 1 == end) return code.line("const int64_t c", begin, " = ", at, ";");
  code.line("int64_t rest", begin, " = ", at, ";");
  for (int a = end - 1; a > begin; --a) {
    code.line("const Quotient q", a, " = divide(rest", begin, ", p.region.dims[", a, "]);");
    code.line("const int64_t c", a, " = q", a, ".rest;");
    code.line("rest", begin, " = q", a, ".quotient;");
  }
  code.line("const int64_t c", begin, " = rest", begin, ";");
}

// -------------------------------------------------------------------------------------------------- instructions

namespace {

std::string hex(uint64_t v) {
  std::string out;
  do out.insert(out.begin(), "0123456789abcdef"[v & 15]);
  while ((v >>= 4) != 0);
  return "0x" + out;
}

// By bits: NaN and infinity need no literal.
std::string constant(Lane lane, uint64_t bits) {
  switch (lane) {
    case Lane::f32: return cat("__builtin_bit_cast(float, ", hex(uint32_t(bits)), "u)");
    case Lane::i32: return cat("int32_t(", hex(uint32_t(bits)), "u)");
    case Lane::u32: return cat(hex(uint32_t(bits)), "u");
    case Lane::f64: return cat("__builtin_bit_cast(double, uint64_t(", hex(bits), "ull))");
    case Lane::i64: return cat("int64_t(", hex(bits), "ull)");
  }
  return {};
}

std::string from_words(Lane lane, const std::string& low, const std::string& high) {
  const std::string both = cat("(uint64_t(", high, ") << 32 | ", low, ")");
  switch (lane) {
    case Lane::f32: return cat("__builtin_bit_cast(float, ", low, ")");
    case Lane::i32: return cat("int32_t(", low, ")");
    case Lane::u32: return low;
    case Lane::f64: return cat("__builtin_bit_cast(double, ", both, ")");
    case Lane::i64: return cat("int64_t(", both, ")");
  }
  return {};
}

}  // namespace

std::string ProgramText::loaded(const Instr& i, const std::string& offset) const {
  const DType t = d_.operands[i.operand].dtype;
  const char* name = to_string(t);
  if (is_quantised(t)) return cat("load_", name, "(", buffer(i.operand), ", ", offset, ")");
  return cat("from_", name, "(", buffer(i.operand), "[", offset, "])");
}

std::string ProgramText::operation(const Instr& i) const {
  std::string out = cat(info(i.op).name, "_", i.op == ScalarOp::select ? lane_letter(i.lane) : lane_letter(i.arg_lane), "(");
  for (int a = 0; a < info(i.op).arity; ++a) out += cat(a ? ", " : "", "v", i.args[size_t(a)]);
  return out + ")";
}

void ProgramText::value(Code& code, size_t k, const std::string& offset, const std::string& element) const {
  const Instr& i = d_.program[k];
  std::string v;
  switch (i.kind) {
    case Instr::Kind::constant: v = constant(i.lane, i.bits); break;
    case Instr::Kind::scalar: {
      const std::string slot = cat("p.region.scalar_slots[", i.bits, "]");
      v = from_words(i.lane, cat("B.scalars[", slot, "]"), cat("B.scalars[", slot, " + 1]"));
      break;
    }
    case Instr::Kind::load: v = element.empty() ? loaded(i, offset) : element; break;
    case Instr::Kind::index:
      if (i.lane == Lane::f64) v = cat("__builtin_bit_cast(double, int64_t(", offset, "))");
      else if (i.lane == Lane::f32) v = cat("__builtin_bit_cast(float, uint32_t(uint64_t(", offset, ")))");
      else v = i.lane == Lane::i64 ? cat("int64_t(", offset, ")")
                              : cat(lane_type(i.lane), "(uint32_t(uint64_t(", offset, ")", i.bits ? " >> 32" : "", "))");
      break;
    case Instr::Kind::gather: {
      const std::string at = cat("int64_t(v", i.args[0], ")"), p = params(i.operand);
      code.line(lane_type(i.lane), " v", k, " = ", i.lane == Lane::f32 ? constant(i.lane, 0x7fc00000u)
                : i.lane == Lane::f64 ? constant(i.lane, 0x7ff8000000000000u) : constant(i.lane, 0), ";");
      code.line("if (", at, " >= 0 && ", at, " < int64_t(", p, ".gather_extent)) v", k, " = ",
                loaded(i, cat(offset, " + ", at, " * int64_t(", p, ".gather_stride)")), ";");
      return;
    }
    case Instr::Kind::op: v = operation(i); break;
    default: TENON_CHECK(false, "an instruction without a value of its own");
  }
  code.line("const ", lane_type(i.lane), " v", k, " = ", v, ";");
}

std::string ProgramText::stored(const Instr& store) const {
  return cat("to_", to_string(d_.operands[store.operand].dtype), "(v", store.args[0], ")");
}

}  // namespace tenon::codegen
