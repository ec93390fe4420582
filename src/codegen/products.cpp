#include "codegen/products.h"

#include <algorithm>

#include "base/cat.h"
#include "codegen/entry.h"
#include "codegen/epilogue.h"
#include "codegen/prelude.h"
#include "codegen/texts.h"

namespace tenon::codegen {
namespace {

constexpr int threads = 256;
constexpr int64_t tile = 64;
constexpr int64_t few_rows = 8;

bool is_narrow_float(DType t) { return is_float(t) && !is_wide(t); }

// What stands before products.cuda.h; `width`: elements in a chunk of b.
void emit_loads(Code& code, const KernelDesc& d, int width) {
  code.line("constexpr int width = ", width, ";");
  for (int operand : {0, 1}) {
    const char* name = operand == 0 ? "a" : "b";
    const DType t = d.operands[size_t(operand)].dtype;
    emit_load(code, d, name, operand);
    if (is_quantised(t)) continue;
    code.line("inline void chunk_", name, "(const Buffers& B, int64_t i, int count, float (&out)[width]) {");
    code.line(storage_type(t), " raw[width];");
    code.line("load_chunk<width>(B.b", operand, " + i, count, raw);");
    code.line("#pragma unroll");
    code.line("for (int e = 0; e < width; ++e) out[e] = from_", to_string(t), "(raw[e]);");
    code.line("}");
  }
}

Code beginning(const KernelDesc& d, const ProgramText& text, int width) {
  Code code;
  code.raw(text.buffers_struct());
  emit_epilogue(code, d, text);
  emit_loads(code, d, width);
  return code;
}

int64_t tiles(int64_t n) { return (n + tile - 1) / tile; }

// Declares f, the factors of the product with number `batch`.
void emit_matmul_factors(Code& code) {
  code.line("const MatmulParams& q = p.matmul;");
  code.line("Factors f = {q.m, q.n, q.k, 0, q.a_row, q.a_col, 0, q.b_row, q.b_col, batch * q.m * q.n};");
  code.line("int64_t rest = batch;");
  code.line("for (int i = 2; i >= 0; --i) {");
  code.line("const Quotient place = divide(rest, q.batch[i]);");
  code.line("f.a += place.rest * q.a_batch[i];");
  code.line("f.b += place.rest * q.b_batch[i];");
  code.line("rest = place.quotient;");
  code.line("}");
}

}  // namespace

// Phases: tiles; by columns with one row, with up to eight; side by side with one row, with up to eight.
Source emit_matmul(const KernelDesc& d) {
  if (d.anchor_operands != 2 || !is_narrow_float(d.operands[0].dtype) || !is_narrow_float(d.operands[1].dtype)) return {};
  const ProgramText text(d);
  const int widest = std::max(storage_bytes(d.operands[0].dtype), storage_bytes(d.operands[1].dtype));
  Code code = beginning(d, text, 16 / widest);
  code.raw(texts::products);
  const std::string name = kernel_name(d);
  emit_entry(code, text, name + "_tiles", threads, Scratch::no, [&] {
    code.line("const int64_t columns = round_up_quotient(p.matmul.n, 64), rows = round_up_quotient(p.matmul.m, 64);");
    code.line("const Quotient x = divide(group_index(), columns), y = divide(x.quotient, rows);");
    code.line("const int64_t batch = y.quotient;");
    emit_matmul_factors(code);
    code.line("tile_product(B, p, f, y.rest * 64, x.rest * 64);");
  });
  for (int rows : {1, int(few_rows)})
    emit_entry(code, text, cat(name, "_column", rows), threads, Scratch::no, [&] {
      code.line("const Quotient x = divide(group_index() * 8 + threadIdx.x / 32, p.matmul.n);");
      code.line("const int64_t batch = x.quotient;");
      code.line("if (batch >= int64_t(p.matmul.batch[0]) * p.matmul.batch[1] * p.matmul.batch[2]) return;");
      emit_matmul_factors(code);
      code.line("column_product<", rows, ">(B, p, f, x.rest);");
    });
  for (int rows : {1, int(few_rows)})
    emit_entry(code, text, cat(name, "_side", rows), threads, Scratch::no, [&] {
      code.line("const Quotient x = divide(group_index(), round_up_quotient(p.matmul.n, 32));");
      code.line("const int64_t batch = x.quotient;");
      emit_matmul_factors(code);
      code.line("side_product<", rows, ">(B, p, f, x.rest * 32);");
    });
  std::vector<Phase> phases;
  for (const char* suffix : {"_tiles", "_column1", "_column8", "_side1", "_side8"}) phases.push_back({name + suffix, threads, 0});
  return finished(d, code.text(), std::move(phases), false);
}

Extent matmul_extent(const KernelDesc&, const Params& params) {
  const MatmulParams& p = params.matmul;
  const int64_t batch = p.batch[0] * p.batch[1] * p.batch[2];
  Extent out{{0, 0, 0, 0, 0}, 0};
  if (p.m == 0 || p.n == 0) return out;
  const size_t one = p.m == 1 ? 0 : 1;
  if (p.m <= few_rows && p.b_row == 1) out.groups[1 + one] = (batch * p.n + 7) / 8;
  else if (p.m <= few_rows && p.b_col == 1) out.groups[3 + one] = batch * ((p.n + 31) / 32);
  else out.groups[0] = batch * tiles(p.m) * tiles(p.n);
  return out;
}

// Phases: tiles; by columns with one row, with up to eight.
Source emit_quant_matmul(const KernelDesc& d) {
  const DType t = d.operands[1].dtype;
  if (d.anchor_operands != 2) return {};  // several weights are products of their own
  if (!is_narrow_float(d.operands[0].dtype) || (t != DType::q8_0 && t != DType::q4_0 && t != DType::q4_1)) return {};
  const ProgramText text(d);
  Code code = beginning(d, text, 4);
  // chunk_b: four weights side by side, for the texts of both; the columns have code of their own.
  code.line("inline void chunk_b(const Buffers& B, int64_t i, int count, float (&out)[width]) {");
  code.line("for (int e = 0; e < width; ++e) out[e] = e < count ? load_b(B, i + e) : 0.0f;");
  code.line("}");
  code.raw(texts::products);
  code.line("constexpr int format = ", t == DType::q8_0 ? 80 : t == DType::q4_0 ? 40 : 41, ";");
  code.raw(texts::quant_products);
  const std::string name = kernel_name(d);
  emit_entry(code, text, name + "_tiles", threads, Scratch::no, [&] {
    code.line("const QuantMatmulParams& q = p.quant_matmul;");
    code.line("const Factors f = {q.m, q.n, q.k, 0, q.x_row, 1, 0, 1, q.k, 0};");
    code.line("const Quotient x = divide(group_index(), round_up_quotient(q.n, 64));");
    code.line("tile_product(B, p, f, x.quotient * 64, x.rest * 64);");
  });
  for (int rows : {1, int(few_rows)})
    emit_entry(code, text, cat(name, "_column", rows), threads, Scratch::no, [&] {
      code.line("const int64_t n = group_index() * 8 + threadIdx.x / 32;");
      code.line("if (n < int64_t(p.quant_matmul.n)) quant_column<", rows, ">(B, p, n);");
    });
  std::vector<Phase> phases;
  for (const char* suffix : {"_tiles", "_column1", "_column8"}) phases.push_back({name + suffix, threads, 0});
  return finished(d, code.text(), std::move(phases), false);
}

Extent quant_matmul_extent(const KernelDesc&, const Params& params) {
  const QuantMatmulParams& p = params.quant_matmul;
  Extent out{{0, 0, 0}, 0};
  if (p.m == 0 || p.n == 0) return out;
  if (p.m <= few_rows) out.groups[p.m == 1 ? 1 : 2] = (p.n + 7) / 8;
  else out.groups[0] = tiles(p.m) * tiles(p.n);
  return out;
}

}  // namespace tenon::codegen
