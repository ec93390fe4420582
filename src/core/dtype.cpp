#include "tenon/dtype.h"

namespace tenon {
const char* to_string(DType t) {
  switch (t) {
    case DType::f32: return "f32";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::i32: return "i32";
    case DType::u32: return "u32";
    case DType::bool_: return "bool";
    case DType::u8: return "u8";
    case DType::i8: return "i8";
    case DType::f64: return "f64";
    case DType::i64: return "i64";
    case DType::q8_0: return "q8_0";
    case DType::q4_0: return "q4_0";
    case DType::q4_1: return "q4_1";
  }
  return "unknown";
}
}  // namespace tenon
