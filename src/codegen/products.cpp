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

Code beginning(const KernelDesc& d, const ProgramText& text, int width) {
  Code code;
  code.raw(text.buffers_struct());
  emit_epilogue(code, d, text);
  code.line("constexpr int width = ", width, ";");
  emit_chunked_load(code, d, "a", 0);
  emit_chunked_load(code, d, "b", 1);
  return code;
}

int64_t tiles(int64_t n) { return (n + tile - 1) / tile; }

// How a product of one row is shared out; as in vector_products.cuda.h.
struct VectorShape {
  int columns;  // of a team of warps: kernels for 1 and 4 exist
  int warps;    // of a team
  int64_t each() const { return int64_t(8 / warps) * columns; }  // columns of a group
};
VectorShape vector_shape(int64_t n, int64_t k, int64_t unit) {
  const int64_t units = (k + unit - 1) / unit;
  int warps = 1;
  while (warps < 8 && n * warps < 4096 && units >= 8 * warps) warps *= 2;
  return {n >= 8192 ? 4 : 1, warps};
}
int64_t dense_unit(const KernelDesc& d) { return 32 * 16 / storage_bytes(d.operands[1].dtype); }
constexpr int64_t quant_unit = 256;

// Declares f, the factors of the product with number `batch`.
void emit_matmul_factors(Code& code) {
  code.line("const MatmulParams& q = p.matmul;");
  code.line("Factors f = {q.m, q.n, q.k, 0, q.a_row, q.a_col, 0, q.b_row, q.b_col, batch * q.m * q.n, q.n};");
  code.line("int64_t rest = batch;");
  code.line("for (int i = 2; i >= 0; --i) {");
  code.line("const Quotient place = divide(rest, q.batch[i]);");
  code.line("f.a += place.rest * q.a_batch[i];");
  code.line("f.b += place.rest * q.b_batch[i];");
  code.line("rest = place.quotient;");
  code.line("}");
}

void emit_dense_vectors(Code& code, const KernelDesc& d) {
  code.line("constexpr int vector_width = ", 16 / storage_bytes(d.operands[1].dtype), ";");
  emit_elements(code, d, "a", "A", 0);
  emit_elements(code, d, "b", "B", 1);
  code.raw(texts::dense_vectors);
  code.raw(texts::vector_products);
}

}  // namespace

// Phases: tiles; by columns with one row, one or four to a team, with up to eight rows; side by side with one row, with up
// to eight.
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
  emit_dense_vectors(code, d);
  for (int columns : {1, 4})
    emit_entry(code, text, cat(name, "_vector", columns), threads, Scratch::no, [&] {
      code.line("const int64_t each = 8 / warps_of_column(p.matmul.n, round_up_quotient(p.matmul.k, unit)) * ", columns, ";");
      code.line("const Quotient x = divide(group_index(), round_up_quotient(p.matmul.n, each));");
      code.line("const int64_t batch = x.quotient;");
      emit_matmul_factors(code);
      code.line("vector_product<", columns, ">(B, p, f, f.n, x.rest);");
    });
  emit_entry(code, text, name + "_column8", threads, Scratch::no, [&] {
    code.line("const Quotient x = divide(group_index() * 8 + threadIdx.x / 32, p.matmul.n);");
    code.line("const int64_t batch = x.quotient;");
    code.line("if (batch >= int64_t(p.matmul.batch[0]) * p.matmul.batch[1] * p.matmul.batch[2]) return;");
    emit_matmul_factors(code);
    code.line("column_product<8>(B, p, f, x.rest);");
  });
  for (int rows : {1, int(few_rows)})
    emit_entry(code, text, cat(name, "_side", rows), threads, Scratch::no, [&] {
      code.line("const Quotient x = divide(group_index(), round_up_quotient(p.matmul.n, 32));");
      code.line("const int64_t batch = x.quotient;");
      emit_matmul_factors(code);
      code.line("side_product<", rows, ">(B, p, f, x.rest * 32);");
    });
  std::vector<Phase> phases;
  for (const char* suffix : {"_tiles", "_vector1", "_vector4", "_column8", "_side1", "_side8"}) phases.push_back({name + suffix, threads, 0});
  return finished(d, code.text(), std::move(phases), false);
}

Extent matmul_extent(const KernelDesc& d, const Params& params) {
  const MatmulParams& p = params.matmul;
  const int64_t batch = p.batch[0] * p.batch[1] * p.batch[2];
  Extent out{{0, 0, 0, 0, 0, 0}, 0};
  if (p.m == 0 || p.n == 0) return out;
  if (p.m == 1 && p.b_row == 1) {
    const VectorShape v = vector_shape(p.n, p.k, dense_unit(d));
    out.groups[v.columns == 1 ? 1 : 2] = batch * ((p.n + v.each() - 1) / v.each());
  } else if (p.m <= few_rows && p.b_row == 1) out.groups[3] = (batch * p.n + 7) / 8;
  else if (p.m <= few_rows && p.b_col == 1) out.groups[p.m == 1 ? 4 : 5] = batch * ((p.n + 31) / 32);
  else out.groups[0] = batch * tiles(p.m) * tiles(p.n);
  return out;
}

namespace {

int format_number(DType t) { return t == DType::q8_0 ? 80 : t == DType::q4_0 ? 40 : t == DType::q4_1 ? 41 : 0; }

int weights_of(const KernelDesc& d) { return d.anchor_operands - 1; }

// The products with one weight, in a namespace of their own: formats differ.
void emit_weight(Code& code, const KernelDesc& d, int weight) {
  const int operand = weight + 1;
  code.line("namespace weight", weight, " {");
  emit_load(code, d, "b", operand);
  // chunk_b: four weights side by side, for the text that both kinds of product share; columns have code of their own.
  code.line("inline void chunk_b(const Buffers& B, int64_t i, int count, float (&out)[width]) {");
  code.line("for (int e = 0; e < width; ++e) out[e] = e < count ? load_b(B, i + e) : 0.0f;");
  code.line("}");
  code.raw(texts::products);
  code.line("constexpr int format = ", format_number(d.operands[size_t(operand)].dtype), ";");
  code.line("inline const uint8_t* weights_of(const Buffers& B) { return B.b", operand, "; }");
  code.raw(texts::quant_products);
  code.raw(texts::quant_vectors);
  code.raw(texts::vector_products);
  code.line("}");
}

// Ranges of groups, one for each weight: `body` runs where `at` counts within the range of a weight of `n` rows, whose
// results begin at column `first`.
template <class Body>
void emit_ranges(Code& code, int weights, const std::string& each, Body body) {
  code.line("int64_t first = 0;");
  for (int i = 0; i < weights; ++i) {
    code.line("{");
    if (i + 1 < weights) code.line("const int64_t n = q.rows[", i, "];");
    else code.line("const int64_t n = q.n - first;");
    code.line("const int64_t groups = round_up_quotient(n, ", each, ");");
    code.line("if (at < groups) {");
    body(i);
    code.line("return;");
    code.line("}");
    code.line("at -= groups;");
    code.line("first += n;");
    code.line("}");
  }
}

int64_t ranges(int weights, const QuantMatmulParams& p, int64_t each) {
  int64_t groups = 0, first = 0;
  for (int i = 0; i < weights; ++i) {
    const int64_t n = i + 1 < weights ? int64_t(p.rows[i]) : p.n - first;
    groups += (n + each - 1) / each;
    first += n;
  }
  return groups;
}

}  // namespace

// Phases: tiles; by columns with one row, one or four to a team, with up to eight rows.
Source emit_quant_matmul(const KernelDesc& d) {
  if (!d.prologue.empty() || weights_of(d) > quant_matmul_max_weights || !is_narrow_float(d.operands[0].dtype)) return {};
  for (int i = 1; i <= weights_of(d); ++i)
    if (format_number(d.operands[size_t(i)].dtype) == 0) return {};
  const ProgramText text(d);
  Code code;
  code.raw(text.buffers_struct());
  emit_epilogue(code, d, text);
  code.line("constexpr int width = 4;");
  emit_chunked_load(code, d, "a", 0);
  emit_elements(code, d, "a", "A", 0);
  for (int i = 0; i < weights_of(d); ++i) emit_weight(code, d, i);
  const std::string name = kernel_name(d);
  emit_entry(code, text, name + "_tiles", threads, Scratch::no, [&] {
    code.line("const QuantMatmulParams& q = p.quant_matmul;");
    code.line("int64_t columns = 0, before = 0;");
    for (int i = 0; i + 1 < weights_of(d); ++i)
      code.line("columns += round_up_quotient(q.rows[", i, "], 64), before += q.rows[", i, "];");
    code.line("columns += round_up_quotient(q.n - before, 64);");
    code.line("const Quotient x = divide(group_index(), columns);");
    code.line("int64_t at = x.rest;");
    emit_ranges(code, weights_of(d), cat(tile), [&](int i) {
      code.line("const weight", i, "::Factors f = {q.m, n, q.k, 0, q.x_row, 1, 0, 1, q.k, first, q.n};");
      code.line("weight", i, "::tile_product(B, p, f, x.quotient * 64, at * 64);");
    });
  });
  for (int columns : {1, 4})
    emit_entry(code, text, cat(name, "_vector", columns), threads, Scratch::no, [&] {
      code.line("const QuantMatmulParams& q = p.quant_matmul;");
      code.line("int64_t at = group_index();");
      code.line("const int64_t each = 8 / weight0::warps_of_column(q.n, round_up_quotient(q.k, weight0::unit)) * ", columns, ";");
      emit_ranges(code, weights_of(d), "each", [&](int i) {
        code.line("const weight", i, "::Factors f = {q.m, n, q.k, 0, q.x_row, 1, 0, 1, q.k, first, q.n};");
        code.line("weight", i, "::vector_product<", columns, ">(B, p, f, q.n, at);");
      });
    });
  emit_entry(code, text, name + "_column8", threads, Scratch::no, [&] {
    code.line("const QuantMatmulParams& q = p.quant_matmul;");
    code.line("int64_t at = group_index();");
    emit_ranges(code, weights_of(d), "8", [&](int i) {
      code.line("const int64_t row = at * 8 + threadIdx.x / 32;");
      code.line("if (row < n) weight", i, "::quant_column<8>(B, p, row, first + row);");
    });
  });
  std::vector<Phase> phases;
  for (const char* suffix : {"_tiles", "_vector1", "_vector4", "_column8"}) phases.push_back({name + suffix, threads, 0});
  return finished(d, code.text(), std::move(phases), false);
}

Extent quant_matmul_extent(const KernelDesc& d, const Params& params) {
  const QuantMatmulParams& p = params.quant_matmul;
  Extent out{{0, 0, 0, 0}, 0};
  if (p.m == 0 || p.n == 0) return out;
  if (p.m == 1) {
    const VectorShape v = vector_shape(p.n, p.k, quant_unit);
    out.groups[v.columns == 1 ? 1 : 2] = ranges(weights_of(d), p, v.each());
  } else if (p.m <= few_rows) out.groups[3] = ranges(weights_of(d), p, 8);
  else out.groups[0] = tiles(p.m) * ranges(weights_of(d), p, tile);
  return out;
}

}  // namespace tenon::codegen
