// Element types. Plain dtypes hold one element each; quantised dtypes hold blocks of elements along the last axis.
#pragma once
#include <cstdint>
#include <string>

namespace tenon {

enum class DType : uint8_t {
  f32,
  f16,   // IEEE 754 binary16
  bf16,  // the upper half of an f32
  i32,
  u32,
  bool_,  // one byte, 0 or 1
  u8,
  i8,
  f64,  // f64 and i64: on devices with 8-byte lanes (cpu and host)
  i64,
  // Quantised storage (layout as in GGUF); read-only, logical elements are f32.
  q8_0,  // 32 elements: f16 scale d, 32 x i8;               x = d*q
  q4_0,  // 32 elements: f16 scale d, 16 bytes of nibbles;    x = d*(q-8)
  q4_1,  // 32 elements: f16 d, f16 m, 16 bytes of nibbles;   x = d*q + m
};
inline constexpr int dtype_count = 13;

// "f32", "bool", "q4_1".
const char* to_string(DType t);

constexpr bool is_quantised(DType t) { return t >= DType::q8_0; }
constexpr bool is_float(DType t) { return t == DType::f32 || t == DType::f16 || t == DType::bf16 || t == DType::f64; }
constexpr bool is_signed_integer(DType t) { return t == DType::i32 || t == DType::i8 || t == DType::i64; }
constexpr bool is_integer(DType t) { return is_signed_integer(t) || t == DType::u32 || t == DType::u8; }
constexpr bool is_wide(DType t) { return t == DType::f64 || t == DType::i64; }

// Elements in one block (1 for plain dtypes) and bytes of one block.
constexpr int64_t block_elements(DType t) { return is_quantised(t) ? 32 : 1; }
constexpr int64_t block_bytes(DType t) {
  switch (t) {
    case DType::f64: case DType::i64: return 8;
    case DType::f32: case DType::i32: case DType::u32: return 4;
    case DType::f16: case DType::bf16: return 2;
    case DType::bool_: case DType::u8: case DType::i8: return 1;
    case DType::q8_0: return 34;
    case DType::q4_0: return 18;
    case DType::q4_1: return 20;
  }
  return 0;
}

}  // namespace tenon
