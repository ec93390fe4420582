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
constexpr int64_t few_rows = 8, few_depth = 256, most_decode_rows = 16, decode_bytes = few_rows * (2 + few_depth) * 4;  // as in attention_decode.cuda.h

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

// As decode_part_keys() of attention_decode.cuda.h.
int64_t decode_part_keys(int64_t s) { return std::clamp<int64_t>((s + 1023) / 1024 * 16, 16, 256); }

// Keys and values in 16-byte accesses.
int width_of(const KernelDesc& d) { return 16 / std::max(storage_bytes(d.operands[1].dtype), storage_bytes(d.operands[2].dtype)); }

// Few rows over many keys, as in decoding; at most a warp shares a key.
bool decodes(const KernelDesc& d, const AttentionParams& p) {
  return p.g > 0 && p.d > 0 && p.d <= std::min<int64_t>(few_depth, 32 * width_of(d)) && p.h / p.g * p.t <= most_decode_rows && p.s > part_keys;
}

Extent decode_extent(const AttentionParams& p) {
  const int64_t rows = p.h / p.g * p.t, groups = p.b * p.g * ((rows + few_rows - 1) / few_rows), part = decode_part_keys(p.s);
  const int64_t parts = (p.s + part - 1) / part;
  return {{0, 0, 0, groups * parts, groups * few_rows}, groups * parts * decode_bytes};
}

}  // namespace

// Phases: all keys by one group; parts, and their merging; parts of few rows, and their merging.
Source emit_attention(const KernelDesc& d) {
  if (!takes(d)) return {};
  const ProgramText text(d);
  Code code;
  code.raw(text.buffers_struct());
  emit_epilogue(code, d, text);
  for (auto [name, f] : {std::pair{"causal", causal}, {"windowed", windowed}, {"capped", capped}, {"masked", masked}, {"biased", biased}})
    code.line("constexpr bool ", name, " = ", has(d, f), ";");
  emit_load(code, d, "q", 0);
  code.line("constexpr int width = ", width_of(d), ";");
  emit_load(code, d, "k", 1);
  emit_load(code, d, "v", 2);
  emit_elements(code, d, "q", "Q", 0);
  emit_elements(code, d, "k", "K", 1);
  emit_elements(code, d, "v", "V", 2);
  const auto option = [&](const char* name, bool there, int operand) {
    if (there) emit_load(code, d, name, operand);
    else code.line("inline float load_", name, "(const Buffers&, int64_t) { return 0.0f; }");
  };
  option("mask", has(d, masked), 3);
  option("bias", has(d, biased), has(d, masked) ? 4 : 3);
  code.raw(texts::attention);
  code.raw(texts::attention_decode);
  const std::string name = kernel_name(d);
  const auto entry = [&](const char* suffix, const char* call) { emit_entry(code, text, name + suffix, threads, Scratch::yes, call); };
  entry("_whole", "whole_attention(B, p)");
  entry("_part", "part_attention(B, p, reinterpret_cast<float*>(scratch))");
  entry("_merge", "merge_attention(B, p, reinterpret_cast<const float*>(scratch))");
  entry("_decode_part", "decode_part(B, p, reinterpret_cast<float*>(scratch))");
  entry("_decode_merge", "decode_merge(B, p, reinterpret_cast<const float*>(scratch))");
  std::vector<Phase> phases;
  for (const char* suffix : {"_whole", "_part", "_merge", "_decode_part", "_decode_merge"}) phases.push_back({name + suffix, threads, 0});
  return finished(d, code.text(), std::move(phases), true);
}

Extent attention_extent(const KernelDesc& d, const Params& params) {
  if (decodes(d, params.attention)) return decode_extent(params.attention);
  const Tiles t = tiles_of(params.attention);
  if (t.parts == 0) return {{t.groups, 0, 0, 0, 0}, 0};
  return {{0, t.groups * t.parts, t.groups * row_tile, 0, 0}, t.groups * t.parts * part_bytes};
}

}  // namespace tenon::codegen
