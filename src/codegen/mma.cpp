#include "codegen/mma.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/cat.h"
#include "codegen/entry.h"
#include "codegen/texts.h"

namespace tenon::codegen {
namespace {

constexpr int threads = 256;
constexpr int64_t few_rows = 8;          // have kernels of their own
constexpr int64_t enough_groups = 160;   // fewer large tiles than this leave multiprocessors idle
constexpr int64_t shared_bytes = 64 << 10;
constexpr int64_t most_k = int64_t(1) << 30;

// Which elements lie side by side, those along k or those along the other axis, and the size of a tile.
struct Variant {
  const char* suffix;
  bool a_by_k, b_by_k;
  int size;
};
constexpr Variant variants[] = {
    {"_mma_kk128", true, true, 128},
    {"_mma_kk64", true, true, 64},
    {"_mma_kn128", true, false, 128},
    {"_mma_mn128", false, false, 128},
};
constexpr int quant_variants = 2;  // rows of weights are dense along k

bool is_16_bit(DType t) { return t == DType::f16 || t == DType::bf16; }
bool is_factor(DType t) { return is_16_bit(t) || t == DType::f32; }

bool is_quant(const KernelDesc& d) { return d.family == "quant_matmul"; }
int weights_of(const KernelDesc& d) { return d.anchor_operands - 1; }
DType dtype_of(const KernelDesc& d, int operand) { return d.operands[size_t(operand)].dtype; }

bool takes(const KernelDesc& d) {
  if (is_quant(d)) return is_factor(dtype_of(d, 0));
  return d.family == "matmul" && is_factor(dtype_of(d, 0)) && is_factor(dtype_of(d, 1)) &&
         (is_16_bit(dtype_of(d, 0)) || is_16_bit(dtype_of(d, 1)));
}

bool multiplies_f16(const KernelDesc& d) { return !is_quant(d) && dtype_of(d, 0) == DType::f16 && dtype_of(d, 1) == DType::f16; }

// Whether an operand's elements are what the units multiply.
bool is_raw(const KernelDesc& d, int operand) { return dtype_of(d, operand) == (multiplies_f16(d) ? DType::f16 : DType::bf16); }

// The type through which mma.cuda.h reads an operand.
void emit_factor(Code& code, const KernelDesc& d, const std::string& name, int operand) {
  const DType t = dtype_of(d, operand);
  const std::string b = cat("B.b", operand);
  const bool raw = is_raw(d, operand);
  code.line("struct ", name, " {");
  code.line("static constexpr int parts = ", raw ? 1 : 2, ";");
  if (raw) {
    code.line("static const uint16_t* raw(const Buffers& B) { return ", b, "; }");
  } else {
    code.line("static void fetch(const Buffers& B, int64_t i, int count, float (&out)[8]) {");
    if (is_quantised(t)) code.line("fetch_quantised<", t == DType::q8_0 ? 80 : t == DType::q4_0 ? 40 : 41, ">(", b, ", i, count, out);");
    else code.line("fetch_elements(", b, " + i, count, out, [](", storage_type(t), " x) { return from_", to_string(t), "(x); });");
    code.line("}");
  }
  code.line("};");
}

void emit_factors(Code& code, const KernelDesc& d) {
  code.line("constexpr bool is_f16 = ", multiplies_f16(d) ? "true" : "false", ";");
  code.raw(texts::mma);
  code.line("namespace mma {");
  emit_factor(code, d, "A", 0);
  for (int i = 0; i < weights_of(d); ++i) emit_factor(code, d, cat("W", i), i + 1);
  code.line("}");
}

std::string call(const Variant& v, int weight) {
  return cat("mma::product<mma::A, ", v.a_by_k ? "true" : "false", ", mma::W", weight, ", ", v.b_by_k ? "true" : "false", ", ", v.size, ">");
}

void emit_matmul_body(Code& code, const Variant& v) {
  code.line("const MatmulParams& q = p.matmul;");
  code.line("const Quotient x = divide(group_index(), round_up_quotient(q.n, ", v.size, "));");
  code.line("const Quotient y = divide(x.quotient, round_up_quotient(q.m, ", v.size, "));");
  code.line("if (y.quotient >= int64_t(q.batch[0]) * q.batch[1] * q.batch[2]) return;");
  code.line("mma::Matrix a = {q.m, q.k, 0, q.", v.a_by_k ? "a_row" : "a_col", "}, b = {q.n, q.k, 0, q.", v.b_by_k ? "b_col" : "b_row", "};");
  code.line("mma::move_to_batch(q, y.quotient, a, b);");
  code.line(call(v, 0), "(B, p, a, b, y.rest * ", v.size, ", x.rest * ", v.size, ", y.quotient * q.m * q.n, q.n);");
}

void emit_quant_body(Code& code, const KernelDesc& d, const Variant& v) {
  const int weights = weights_of(d);
  code.line("const QuantMatmulParams& q = p.quant_matmul;");
  code.line("const mma::Matrix a = {q.m, q.k, 0, q.x_row};");
  code.line("const int64_t rows = round_up_quotient(q.m, ", v.size, ");");
  code.line("const Quotient x = divide(group_index(), rows);");  // groups side by side share weights, which cost more to make
  code.line("int64_t first = 0, at = x.quotient;");
  for (int i = 0; i < weights; ++i) {
    code.line("{");
    if (i + 1 < weights) code.line("const int64_t n = q.rows[", i, "];");
    else code.line("const int64_t n = q.n - first;");
    code.line("const int64_t tiles = round_up_quotient(n, ", v.size, ");");
    code.line("if (at < tiles) {");
    code.line("const mma::Matrix b = {n, q.k, 0, q.k};");
    code.line(call(v, i), "(B, p, a, b, x.rest * ", v.size, ", at * ", v.size, ", first, q.n);");
    code.line("return;");
    code.line("}");
    code.line("at -= tiles;");
    code.line("first += n;");
    code.line("}");
  }
}

int64_t tiles(int64_t n, int64_t size) { return (n + size - 1) / size; }

int64_t matmul_groups(const MatmulParams& p, int64_t size) {
  return p.batch[0] * p.batch[1] * p.batch[2] * tiles(p.m, size) * tiles(p.n, size);
}

int64_t quant_groups(const KernelDesc& d, const QuantMatmulParams& p, int64_t size) {
  int64_t columns = 0, first = 0;
  for (int i = 0; i < weights_of(d); ++i) {
    const int64_t n = i + 1 < weights_of(d) ? int64_t(p.rows[i]) : p.n - first;
    columns += tiles(n, size);
    first += n;
  }
  return tiles(p.m, size) * columns;
}

}  // namespace

void add_mma(const KernelDesc& d, const Target& target, Source& source) {
  if (source.phases.empty() || target.plain || target.capability < 80 || target.shared_bytes < shared_bytes || !takes(d)) return;
  const ProgramText text(d);
  Code code;
  emit_factors(code, d);
  const int count = is_quant(d) ? quant_variants : int(std::size(variants));
  for (const Variant& v : std::span(variants, size_t(count))) {
    const std::string name = kernel_name(d) + v.suffix;
    // Two groups to a multiprocessor, where their registers fit.
    const bool two = v.size == 64 || (is_raw(d, 0) && is_raw(d, 1));
    emit_entry(code, text, name, Bounds(threads, two ? 2 : 1), Scratch::no, [&] { is_quant(d) ? emit_quant_body(code, d, v) : emit_matmul_body(code, v); });
    source.phases.push_back({name, threads, shared_bytes});
  }
  source.text += cat("\nnamespace tenon {\nnamespace gpu {\n", code.text(), "}  // namespace gpu\n}  // namespace tenon\n");
}

void choose_mma(const KernelDesc& d, const Source& source, const Params& params, Extent& extent) {
  const int count = is_quant(d) ? quant_variants : int(std::size(variants));
  const auto begin = std::find_if(source.phases.begin(), source.phases.end(), [](const Phase& p) { return p.entry.find("_mma_") != p.entry.npos; });
  if (begin == source.phases.end()) return;
  const int64_t m = is_quant(d) ? int64_t(params.quant_matmul.m) : int64_t(params.matmul.m);
  const int64_t k = is_quant(d) ? int64_t(params.quant_matmul.k) : int64_t(params.matmul.k);
  if (m <= few_rows || k > most_k || std::all_of(extent.groups.begin(), extent.groups.end(), [](int64_t g) { return g == 0; })) return;
  bool a_by_k = true, b_by_k = true;
  if (!is_quant(d)) {
    const MatmulParams& p = params.matmul;
    a_by_k = p.a_col == 1, b_by_k = p.b_row == 1;
    if ((!a_by_k && p.a_row != 1) || (!b_by_k && p.b_col != 1)) return;
  }
  const auto groups = [&](int64_t size) { return is_quant(d) ? quant_groups(d, params.quant_matmul, size) : matmul_groups(params.matmul, size); };
  const bool small = a_by_k && b_by_k && groups(128) < enough_groups;
  for (int i = 0; i < count; ++i) {
    const Variant& v = variants[i];
    if (v.a_by_k != a_by_k || v.b_by_k != b_by_k || (v.size == 64) != small) continue;
    std::fill(extent.groups.begin(), extent.groups.end(), 0);
    extent.groups[size_t(begin - source.phases.begin()) + size_t(i)] = groups(v.size);
    return;
  }
}

}  // namespace tenon::codegen
