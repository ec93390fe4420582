#include "codegen/attention.h"

#include <algorithm>

#include "base/cat.h"
#include "codegen/entry.h"
#include "codegen/epilogue.h"
#include "codegen/prelude.h"
#include "codegen/texts.h"

namespace tenon::codegen {
namespace {

constexpr int threads = 128;
constexpr int64_t row_tile = 16, column_tile = 128, part_keys = 64;  // as in attention.cuda.h
constexpr int64_t part_bytes = row_tile * (2 + column_tile) * 4;

// Structure, in the order of the anchor's attributes.
enum Flag : size_t { causal, windowed, capped, masked, biased };
bool has(const KernelDesc& d, Flag f) { return d.attributes.size() > f && d.attributes[f] != 0; }

bool takes(const KernelDesc& d) {
  for (int i = 0; i < d.anchor_operands; ++i) {
    const DType t = d.operands[size_t(i)].dtype;
    const bool mask = i == 3 && has(d, masked);
    if (mask ? t != DType::bool_ : !is_float(t) || is_wide(t)) return false;
  }
  return true;
}

struct Tiles {
  int64_t rows, columns, groups, parts;
};
Tiles tiles_of(const AttentionParams& p) {
  Tiles t{};
  if (p.g == 0 || p.d == 0) return t;
  const int64_t rows = p.h / p.g * p.t;
  t.rows = (rows + row_tile - 1) / row_tile;
  t.columns = (p.d + column_tile - 1) / column_tile;
  t.groups = p.b * p.g * t.rows * t.columns;
  // Few rows over many keys, as in decoding: parts of the keys keep the device busy.
  t.parts = rows <= 4 * row_tile && p.s > part_keys ? (p.s + part_keys - 1) / part_keys : 0;
  return t;
}

}  // namespace

// Phases: all keys by one group; parts, and their merging.
Source emit_attention(const KernelDesc& d) {
  if (!takes(d)) return {};
  const ProgramText text(d);
  Code code;
  code.raw(text.buffers_struct());
  emit_epilogue(code, d, text);
  for (auto [name, f] : {std::pair{"causal", causal}, {"windowed", windowed}, {"capped", capped}, {"masked", masked}, {"biased", biased}})
    code.line("constexpr bool ", name, " = ", has(d, f), ";");
  emit_load(code, d, "q", 0);
  emit_load(code, d, "k", 1);
  emit_load(code, d, "v", 2);
  const auto option = [&](const char* name, bool there, int operand) {
    if (there) emit_load(code, d, name, operand);
    else code.line("inline float load_", name, "(const Buffers&, int64_t) { return 0.0f; }");
  };
  option("mask", has(d, masked), 3);
  option("bias", has(d, biased), has(d, masked) ? 4 : 3);
  code.raw(texts::attention);
  const std::string name = kernel_name(d);
  const auto entry = [&](const char* suffix, const char* call) { emit_entry(code, text, name + suffix, threads, Scratch::yes, call); };
  entry("_whole", "whole_attention(B, p)");
  entry("_part", "part_attention(B, p, reinterpret_cast<float*>(scratch))");
  entry("_merge", "merge_attention(B, p, reinterpret_cast<const float*>(scratch))");
  return finished(d, code.text(), {{name + "_whole", threads, 0}, {name + "_part", threads, 0}, {name + "_merge", threads, 0}}, true);
}

Extent attention_extent(const KernelDesc&, const Params& params) {
  const Tiles t = tiles_of(params.attention);
  if (t.parts == 0) return {{t.groups, 0, 0}, 0};
  return {{0, t.groups * t.parts, t.groups * row_tile}, t.groups * t.parts * part_bytes};
}

}  // namespace tenon::codegen
