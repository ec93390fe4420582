#include <algorithm>

#include "base/cat.h"
#include "codegen/entry.h"
#include "codegen/prelude.h"
#include "codegen/sorting.h"
#include "codegen/texts.h"

namespace tenon::codegen {
namespace {

constexpr int threads = 256;
constexpr int64_t tile = 2048, digits = 256;  // as in sort.cuda.h

// Bits of infinity in a float dtype.
const char* infinity_bits(DType t) {
  switch (t) {
    case DType::f16: return "0x7c00u";
    case DType::bf16: return "0x7f80u";
    case DType::f32: return "0x7f800000u";
    case DType::f64: return "0x7ff0000000000000ull";
    default: return "0u";
  }
}

const char* unsigned_type(int bytes) {
  switch (bytes) {
    case 1: return "uint8_t";
    case 2: return "uint16_t";
    case 4: return "uint32_t";
    default: return "uint64_t";
  }
}

int64_t key_storage(int bytes) { return bytes == 8 ? 8 : 4; }

// What room_of() in sort.cuda.h takes.
int64_t scratch_bytes(int bytes, int64_t rows, int64_t n, int64_t tiles) {
  const int64_t arrays = std::min(bytes - 1, 2);
  return arrays * rows * n * (key_storage(bytes) + 4) + rows * digits * (tiles + 1) * 4;
}

}  // namespace

// Phases: short rows; for each byte of a key: counts, their sums, moves.
Source emit_sort(const KernelDesc& d) {
  const DType t = d.operands[0].dtype;
  if (is_quantised(t)) return {};
  const int bytes = storage_bytes(t);
  const ProgramText text(d);
  Code code;
  code.raw(text.buffers_struct());
  code.line("typedef ", unsigned_type(bytes), " Pattern;");
  code.line("typedef ", unsigned_type(int(key_storage(bytes))), " Key;");
  code.line("constexpr int key_bytes = ", bytes, ";");
  code.line("constexpr bool is_real = ", is_float(t), ", is_signed = ", is_signed_integer(t),
            ", descending = ", d.attributes[0] != 0, ";");
  code.line("constexpr Key infinity_bits = ", infinity_bits(t), ";");
  code.raw(texts::sort);
  const std::string name = kernel_name(d);
  std::vector<Phase> phases;
  const auto entry = [&](const std::string& suffix, const std::string& call) {
    phases.push_back({name + suffix, threads, 0});
    emit_entry(code, text, phases.back().entry, threads, Scratch::yes, call);
  };
  entry("_short", "sort_short(B, p.sort)");
  for (int pass = 0; pass < bytes; ++pass) {
    entry(cat("_count", pass), cat("count_digits<", pass, ">(B, p.sort, scratch)"));
    if (pass == 0) entry("_sum", "add_up_counts(p.sort, scratch)");
    else phases.push_back({name + "_sum", threads, 0});
    entry(cat("_move", pass), cat("move_items<", pass, ">(B, p.sort, scratch)"));
  }
  return finished(d, code.text(), std::move(phases), true);
}

Extent sort_extent(const KernelDesc& d, const Params& params) {
  const SortParams& p = params.sort;
  const int bytes = storage_bytes(d.operands[0].dtype);
  const int64_t n = p.n, rows = p.outer * p.rows, tiles = (n + tile - 1) / tile;
  Extent out{std::vector<int64_t>(size_t(1 + 3 * bytes), 0), 0};
  if (n == 0) return out;
  if (n <= tile) {
    int64_t size = 1;
    while (size < n) size *= 2;
    out.groups[0] = (rows + tile / size - 1) / (tile / size);
    return out;
  }
  for (size_t pass = 0; pass < size_t(bytes); ++pass) {
    out.groups[1 + 3 * pass] = out.groups[3 + 3 * pass] = rows * tiles;
    out.groups[2 + 3 * pass] = rows * digits / 8;
  }
  out.scratch_bytes = scratch_bytes(bytes, rows, n, tiles);
  return out;
}

}  // namespace tenon::codegen
