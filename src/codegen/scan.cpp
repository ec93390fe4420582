#include <algorithm>

#include "base/cat.h"
#include "codegen/entry.h"
#include "codegen/prelude.h"
#include "codegen/sorting.h"
#include "codegen/texts.h"

namespace tenon::codegen {
namespace {

constexpr int threads = 256;
constexpr int64_t most_by_thread = 16, most_by_warp = 256;  // elements of a line

bool takes(DType t, ScanOp op) {
  if (t == DType::f32 || t == DType::f64) return true;
  return (t == DType::i32 || t == DType::u32 || t == DType::i64) && op != ScanOp::logsumexp;
}

const char* state(DType t, ScanOp op) {
  switch (op) {
    case ScanOp::sum: return is_float(t) ? "FloatSum" : "IntegerSum";
    case ScanOp::prod: return is_float(t) ? "FloatProduct" : "IntegerProduct";
    case ScanOp::max: return "Largest";
    case ScanOp::logsumexp: return "LogSumExp";
  }
  return "";
}

const char* least(DType t) {
  switch (t) {
    case DType::i32: return "Element(0x80000000u)";
    case DType::i64: return "Element(0x8000000000000000ull)";
    case DType::u32: return "0u";
    default: return "-infinity";
  }
}

}  // namespace

// Phases: lines by threads, by warps, by groups.
Source emit_scan(const KernelDesc& d) {
  const DType t = d.operands[0].dtype;
  const ScanOp op = ScanOp(d.attributes[0]);
  if (!takes(t, op)) return {};
  const ProgramText text(d);
  Code code;
  code.raw(text.buffers_struct());
  code.line("typedef ", storage_type(t), " Element;");
  code.line("typedef ", storage_bytes(t) == 8 ? "uint64_t" : "uint32_t", " Wrapping;");
  code.line("constexpr Element least = ", least(t), ";");
  code.raw(texts::scan);
  std::vector<Phase> phases;
  for (const char* by : {"thread", "warp", "group"}) {
    phases.push_back({cat(kernel_name(d), "_", by), threads, 0});
    emit_entry(code, text, phases.back().entry, threads, Scratch::no,
               cat("scan_by_", by, "<", state(t, op), ">(B, p.scan)"));
  }
  return finished(d, code.text(), std::move(phases), false);
}

Extent scan_extent(const KernelDesc&, const Params& params) {
  const ScanParams& p = params.scan;
  if (p.n == 0) return {{0, 0, 0}, 0};
  const int64_t length = std::min<int64_t>(p.n, p.block), lines = p.outer * p.rows * ((p.n + p.block - 1) / p.block);
  if (length <= most_by_thread) return {{(lines + threads - 1) / threads, 0, 0}, 0};
  if (length <= most_by_warp) return {{0, (lines + 7) / 8, 0}, 0};
  return {{0, 0, lines}, 0};
}

}  // namespace tenon::codegen
