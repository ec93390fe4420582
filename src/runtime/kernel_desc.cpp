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
  void add(const std::vector<Instr>& program) {
    for (const Instr& i : program) {
      add(uint64_t(i.kind) | uint64_t(i.lane) << 8 | uint64_t(i.arg_lane) << 16 | uint64_t(i.op) << 24 |
          uint64_t(i.reduce) << 32 | uint64_t(i.row) << 40);
      add(i.operand);
      add(i.bits);
      for (uint16_t a : i.args) add(a);
    }
  }
};

// Instructions that only bring a value back to its dtype.
bool returns_to_dtype(ScalarOp op) {
  return op == ScalarOp::round_f16 || op == ScalarOp::round_bf16 || op == ScalarOp::wrap_u8 || op == ScalarOp::wrap_i8;
}

// The first few operations of a program: "_mul_sum_rsqrt".
std::string words(const std::vector<Instr>& program) {
  std::string out;
  int shown = 0;
  for (const Instr& i : program) {
    const char* word = nullptr;
    if (i.kind == Instr::Kind::op && !returns_to_dtype(i.op)) word = info(i.op).name;
    if (i.kind == Instr::Kind::reduce) word = to_string(i.reduce);
    if (i.kind == Instr::Kind::gather) word = "gather";
    if (word && shown++ < 6) out += cat("_", word);
  }
  return out;
}

}  // namespace

uint64_t hash(const KernelDesc& d) {
  Hasher h;
  for (char c : d.family) h.add(uint64_t(c));
  h.add(uint64_t(d.outer_rank));
  h.add(uint64_t(d.inner_rank));
  h.add(uint64_t(d.anchor_operands) | uint64_t(d.prologue_operands) << 32);
  for (const Operand& o : d.operands) {
    h.add(uint64_t(o.kind) | uint64_t(o.access) << 8 | uint64_t(o.dtype) << 16 | uint64_t(o.gathered) << 24 |
          uint64_t(o.dynamic) << 25);
    for (uint8_t c : o.stride_class) h.add(c);
  }
  h.add(d.program);
  if (!d.prologue.empty()) h.add(d.prologue);
  for (int64_t a : d.attributes) h.add(uint64_t(a));
  return h.state;
}

std::string kernel_name(const KernelDesc& d) {
  const std::string own = words(d.program);
  std::string name = d.family + own;
  if (!d.prologue.empty()) name += "_of" + words(d.prologue);
  if (own.empty() && d.family == "map") name += "_copy";
  for (const Operand& o : d.operands)
    if (o.access != Access::in) name += cat("_", to_string(o.dtype));
  static const char digits[] = "0123456789abcdef";
  const uint64_t h = hash(d);
  name += "_";
  for (int i = 0; i < 16; ++i) name += digits[(h >> (4 * i)) & 15];
  return name;
}

}  // namespace tenon
