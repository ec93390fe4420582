#include "runtime/kernel.h"

namespace tenon {

const ScalarOpInfo& info(ScalarOp op) {
  static const ScalarOpInfo table[scalar_op_count] = {
#define SCALAR(name, arity, lanes, result) {#name, arity, lanes, result},
#include "core/scalar.def"
#undef SCALAR
  };
  return table[int(op)];
}

Lane result_lane(ScalarOp op, Lane argument) {
  switch (info(op).result) {
    case 'f': return Lane::f32;
    case 'i': return Lane::i32;
    case 'b': case 'u': return Lane::u32;
    case 'd': return Lane::f64;
    case 'l': return Lane::i64;
    default: return argument;
  }
}

int arg_count(const Instr& i) {
  switch (i.kind) {
    case Instr::Kind::op: return info(i.op).arity;
    case Instr::Kind::gather: case Instr::Kind::reduce: case Instr::Kind::store: return 1;
    default: return 0;
  }
}

const char* to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return "sum";
    case ReduceOp::prod: return "prod";
    case ReduceOp::max: return "max";
    case ReduceOp::argmax: return "argmax";
    case ReduceOp::sum_exp: return "sum_exp";
    case ReduceOp::sum_sq_dev: return "sum_sq_dev";
  }
  return "unknown";
}

char lane_letter(Lane lane) {
  switch (lane) {
    case Lane::f32: return 'f';
    case Lane::i32: return 'i';
    case Lane::u32: return 'u';
    case Lane::f64: return 'd';
    case Lane::i64: return 'l';
  }
  return 0;
}

}  // namespace tenon
