// The scalar program of a description as code at one point of its iteration space.
#pragma once
#include <string>

#include "codegen/code.h"
#include "runtime/kernel.h"

namespace tenon::codegen {

const char* lane_type(Lane lane);       // "float"
const char* storage_type(DType dtype);  // "uint16_t" for f16
int storage_bytes(DType dtype);         // of one element; 0 for quantised dtypes

class ProgramText {
 public:
  explicit ProgramText(const KernelDesc& desc) : d_(desc) {}

  // The struct of the kernel's buffers and the parameters of an entry: "float* b0, const uint16_t* b1, …".
  std::string buffers_struct() const;
  std::string entry_parameters() const;
  std::string make_buffers() const;  // statement that fills the struct `B` from an entry's parameters

  int region_operand(int operand) const { return operand - d_.anchor_operands; }
  std::string buffer(int operand) const;  // "B.b3"
  // Parameters of an operand of the region: "p.region.operands[2]".
  std::string params(int operand) const;
  bool is_buffer(int operand) const { return d_.operands[size_t(operand)].kind == Operand::Kind::buffer; }

  // Element offset of an operand along axes [begin, end), in terms of coordinates c0, c1, …; "0" when it is constant.
  std::string offset_terms(int operand, int begin, int end) const;
  // The part of the offset that does not depend on coordinates: base and what a run-time scalar adds.
  std::string offset_base(int operand) const;
  // Declares c<begin> … c<end-1> from the row-major position `at` (an expression of type int64_t).
  void coordinates(Code& code, const std::string& at, int begin, int end) const;

  // Declares v<k>, the value of instruction k, which must not be a store, a reduction or an accumulator. `offset`: the
  // element offset of the operand of a load, gather or index here; `element`: when not empty, what was loaded already.
  void value(Code& code, size_t k, const std::string& offset, const std::string& element) const;
  // What a store writes: its value as it lies in memory.
  std::string stored(const Instr& store) const;

 private:
  std::string operation(const Instr& i) const;
  std::string loaded(const Instr& i, const std::string& offset) const;
  const KernelDesc& d_;
};

}  // namespace tenon::codegen
