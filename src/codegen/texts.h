// Texts that kernels are put together from: files of this tree, compiled into the library (see CMakeLists.txt).
#pragma once

namespace tenon::codegen::texts {
extern const char* const params;             // src/runtime/params.h
extern const char* const half;               // src/core/half.h
extern const char* const math;               // src/kernels/scalar/math.cpu.h
extern const char* const wide_math;          // src/kernels/scalar/wide_math.cpu.h
extern const char* const rounding;           // src/kernels/scalar/rounding.cpu.h
extern const char* const scalar_instructions;       // src/kernels/scalar/instructions.cpu.h
extern const char* const wide_scalar_instructions;  // src/kernels/scalar/wide_instructions.cpu.h
extern const char* const f64_functions;             // src/kernels/scalar/f64_functions.cpu.h
extern const char* const prelude;            // src/codegen/*.cuda.h
extern const char* const instructions;
extern const char* const wide_instructions;
extern const char* const reduce;
extern const char* const products;
extern const char* const quant_products;
extern const char* const vector_products;
extern const char* const dense_vectors;
extern const char* const quant_vectors;
extern const char* const attention;
extern const char* const attention_decode;
extern const char* const scan;
extern const char* const sort;
extern const char* const scatter;
extern const char* const sample;
extern const char* const mma;
}  // namespace tenon::codegen::texts
