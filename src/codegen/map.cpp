// Maps: each thread computes one chunk of the last axis.
#include <algorithm>

#include "codegen/chunk.h"
#include "codegen/entry.h"
#include "codegen/prelude.h"
#include "codegen/region.h"

namespace tenon::codegen {
namespace {

constexpr int threads = 256;

int64_t chunks(const KernelDesc& d, const Params& p) {
  int64_t n = 1;
  for (int a = 0; a + 1 < d.outer_rank; ++a) n *= p.region.dims[a];
  if (d.outer_rank == 0) return n;
  const int64_t w = chunk_width(d, 0, d.outer_rank), last = p.region.dims[d.outer_rank - 1];
  return n * ((last + w - 1) / w);
}

}  // namespace

int chunk_width(const KernelDesc& desc, int begin, int end) {
  if (begin == end) return 1;
  int widest = 0;
  for (const Operand& o : desc.operands) {
    if (o.kind != Operand::Kind::buffer || is_quantised(o.dtype)) continue;
    const bool contiguous = o.stride_class[size_t(end - 1)] == 1;
    if (o.access != Access::in && !contiguous && o.stride_class[size_t(end - 1)] != 0) return 1;
    if (contiguous && !o.gathered) widest = std::max(widest, storage_bytes(o.dtype));
  }
  return widest == 0 ? 1 : std::min(8, 16 / widest);
}

namespace {

void emit_chunk(Code& code, const KernelDesc& d, const ProgramText& text) {
  const int rank = d.outer_rank, width = chunk_width(d, 0, rank);
  code.line("const int64_t at = group_index() * ", threads, " + threadIdx.x;");
  if (rank == 0) {
    code.line("if (at > 0) return;");
  } else {
    // The last axis is counted in chunks.
    code.line("const int64_t last = p.region.dims[", rank - 1, "], chunks = round_up_quotient(last, ", width, ");");
    code.line("int64_t all = chunks;");
    for (int a = 0; a + 1 < rank; ++a) code.line("all *= int64_t(p.region.dims[", a, "]);");
    code.line("if (at >= all) return;");
    if (rank == 1) {
      code.line("const int64_t c0 = at * ", width, ";");
    } else {
      code.line("const Quotient chunk = divide(at, chunks);");
      code.line("const int64_t c", rank - 1, " = chunk.rest * ", width, ";");
      text.coordinates(code, "chunk.quotient", 0, rank - 1);
    }
    if (width > 1) code.line("const int count = int(smaller(", width, ", last - c", rank - 1, "));");
  }
  for (int o = d.anchor_operands; o < int(d.operands.size()); ++o) code.line("const int64_t o", o, " = ", text.offset_base(o), ";");
  std::vector<size_t> values, stores;
  for (size_t k = 0; k < d.program.size(); ++k) (d.program[k].kind == Instr::Kind::store ? stores : values).push_back(k);
  ChunkCode{d, text, 0, rank, width}.emit(code, values, stores, {});
}

}  // namespace

Source emit_map(const KernelDesc& d) {
  const ProgramText text(d);
  Code code;
  code.raw(text.buffers_struct());
  emit_entry(code, text, kernel_name(d), threads, Scratch::no, [&] { emit_chunk(code, d, text); });
  return finished(d, code.text(), {{kernel_name(d), threads, 0}}, false);
}

Extent map_extent(const KernelDesc& d, const Params& p) { return {{(chunks(d, p) + threads - 1) / threads}, 0}; }

}  // namespace tenon::codegen
