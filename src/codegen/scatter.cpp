#include "base/cat.h"
#include "codegen/entry.h"
#include "codegen/prelude.h"
#include "codegen/sorting.h"
#include "codegen/texts.h"

namespace tenon::codegen {
namespace {

constexpr int threads = 256;

bool takes(DType t, ScatterOp op) {
  return !is_quantised(t) && (op == ScatterOp::set || is_integer(t) || t == DType::f32 || t == DType::f64);
}

const char* joined(DType t, ScatterOp op) {
  if (op == ScatterOp::set) return "b";
  if (op == ScatterOp::max) return "a != a || a > b ? a : b";
  if (is_float(t)) return "a + b";
  return storage_bytes(t) == 8 ? "Element(uint64_t(a) + uint64_t(b))" : "Element(uint32_t(a) + uint32_t(b))";
}

int64_t groups(int64_t elements) { return (elements + threads - 1) / threads; }

}  // namespace

// Phases: sums over chunks (not of `set`), elements.
Source emit_scatter(const KernelDesc& d) {
  const DType t = d.operands[0].dtype;
  const ScatterOp op = ScatterOp(d.attributes[0]);
  if (!takes(t, op)) return {};
  const ProgramText text(d);
  Code code;
  code.raw(text.buffers_struct());
  code.line("typedef ", storage_type(t), " Element;");
  code.line("constexpr bool only_last = ", op == ScatterOp::set, ";");
  code.line("inline Element joined(Element a, Element b) { return ", joined(t, op), "; }");
  code.raw(texts::scatter);
  const std::string name = kernel_name(d);
  emit_entry(code, text, name + "_parts", threads, Scratch::yes,
             "join_parts(B, p.scatter, reinterpret_cast<Element*>(scratch))");
  emit_entry(code, text, name + "_elements", threads, Scratch::yes,
             "scatter_elements(B, p.scatter, reinterpret_cast<const Element*>(scratch))");
  return finished(d, code.text(), {{name + "_parts", threads, 0}, {name + "_elements", threads, 0}}, true);
}

Extent scatter_extent(const KernelDesc& d, const Params& params) {
  const ScatterParams& p = params.scatter;
  const int64_t slice = p.outer * p.inner;
  Extent out{{0, groups(slice * p.size)}, 0};
  if (p.n > scatter_chunk && ScatterOp(d.attributes[0]) != ScatterOp::set) {
    const int64_t parts = 2 * ((p.n + scatter_chunk - 1) / scatter_chunk) * slice;
    out.groups[0] = groups(parts);
    out.scratch_bytes = parts * storage_bytes(d.operands[0].dtype);
  }
  return out;
}

}  // namespace tenon::codegen
