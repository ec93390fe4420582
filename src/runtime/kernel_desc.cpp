#include "base/cat.h"
#include "base/fnv.h"
#include "runtime/kernel.h"

namespace tenon {
namespace {

struct Hasher {
  uint64_t state = fnv_start;
  void add(uint64_t v) {
    std::byte bytes[8];  // the lowest first, on every machine
    for (int i = 0; i < 8; ++i) bytes[i] = std::byte(v >> (8 * i));
    state = fnv(bytes, state);
  }
};

// Instructions that only bring a value back to its dtype.
bool returns_to_dtype(ScalarOp op) {
  return op == ScalarOp::round_f16 || op == ScalarOp::round_bf16 || op == ScalarOp::wrap_u8 || op == ScalarOp::wrap_i8;
}

}  // namespace

uint64_t hash(const KernelDesc& d) {
  Hasher h;
  for (char c : d.family) h.add(uint64_t(c));
  h.add(uint64_t(d.outer_rank));
  h.add(uint64_t(d.inner_rank));
  h.add(uint64_t(d.anchor_operands));
  for (const Operand& o : d.operands) {
    h.add(uint64_t(o.kind) | uint64_t(o.access) << 8 | uint64_t(o.dtype) << 16 | uint64_t(o.gathered) << 24 |
          uint64_t(o.dynamic) << 25);
    for (uint8_t c : o.stride_class) h.add(c);
  }
  for (const Instr& i : d.program) {
    h.add(uint64_t(i.kind) | uint64_t(i.lane) << 8 | uint64_t(i.arg_lane) << 16 | uint64_t(i.op) << 24 |
          uint64_t(i.reduce) << 32 | uint64_t(i.row) << 40);
    h.add(i.operand);
    h.add(i.bits);
    for (uint16_t a : i.args) h.add(a);
  }
  for (int64_t a : d.attributes) h.add(uint64_t(a));
  return h.state;
}

std::string kernel_name(const KernelDesc& d) {
  std::string name = d.family;
  int shown = 0;
  for (const Instr& i : d.program) {
    const char* word = nullptr;
    if (i.kind == Instr::Kind::op && !returns_to_dtype(i.op)) word = info(i.op).name;
    if (i.kind == Instr::Kind::reduce) word = to_string(i.reduce);
    if (i.kind == Instr::Kind::gather) word = "gather";
    if (word && shown++ < 6) name += cat("_", word);
  }
  if (!shown && d.family == "map") name += "_copy";
  for (const Operand& o : d.operands)
    if (o.access != Access::in) name += cat("_", to_string(o.dtype));
  static const char digits[] = "0123456789abcdef";
  const uint64_t h = hash(d);
  name += "_";
  for (int i = 0; i < 16; ++i) name += digits[(h >> (4 * i)) & 15];
  return name;
}

}  // namespace tenon
