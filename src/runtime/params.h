// The parameters of a launch: sizes, strides and slots, never structure. Plain structs of 4-byte fields, at most 1 KiB.
// This text is also what generated kernels see (src/codegen), so it includes nothing but <cstdint> and uses no library.
#pragma once
#include <cstdint>

namespace tenon {

inline constexpr int region_max_rank = 6;
inline constexpr int region_max_operands = 8;
inline constexpr int region_max_scalars = 8;
inline constexpr int anchor_max_operands = 8;

// A 64-bit integer as two 4-byte fields.
struct I64 {
  uint32_t lo = 0, hi = 0;
  I64() = default;
  I64(int64_t v) : lo(uint32_t(uint64_t(v))), hi(uint32_t(uint64_t(v) >> 32)) {}
  operator int64_t() const { return int64_t(uint64_t(hi) << 32 | lo); }
};

inline constexpr uint32_t no_slot = 0xffffffffu;

struct RegionOperandParams {
  I64 strides[region_max_rank];  // elements, per iteration axis; outer axes first
  I64 base;                      // elements from the view's start to the origin; index operands: the value there
  I64 gather_stride;             // elements per index
  I64 gather_extent;             // valid indices are 0 <= i < extent
  I64 dynamic_stride;            // elements per unit of the run-time scalar
  uint32_t dynamic_max = 0;      // the scalar is clamped to 0 <= s <= max
  uint32_t dynamic_slot = no_slot;
};
struct RegionParams {
  I64 dims[region_max_rank];  // outer axes, then inner axes
  RegionOperandParams operands[region_max_operands];
  uint32_t scalar_slots[region_max_scalars] = {};  // first word of each scalar in the plan's scalar block
};
inline constexpr int prologue_max_operands = 4;
inline constexpr int prologue_max_scalars = 4;

// What an anchor's prologue reads to compute a row of the anchor's first operand; rows themselves are dense, or one value.
struct PrologueParams {
  I64 row_stride[prologue_max_operands] = {};  // elements from a row to the next, 0 where all rows read the same
  uint32_t scalar_slots[prologue_max_scalars] = {};
};
// Products of one batch: out[b,m,n] = sum over k of a[b,m,k] * b[b,k,n]. Strides in elements, any sign.
struct MatmulParams {
  I64 m, n, k;
  I64 batch[3];  // 1 where unused; strides below are 0 where an operand is broadcast
  I64 a_batch[3], b_batch[3];
  I64 a_row, a_col, b_row, b_col;
  PrologueParams prologue = {};
};
// out[m,n] = sum over k of x[m,k] * w[n,k]; w is quantised, its rows dense blocks along k. Up to four weights lie side by
// side: the n rows are those of the first one, then those of the next.
inline constexpr int quant_matmul_max_weights = 4;
struct QuantMatmulParams {
  I64 m, n, k;
  I64 x_row;                                    // x: column stride 1
  I64 rows[quant_matmul_max_weights - 1] = {};  // of each weight but the last one
  PrologueParams prologue = {};
};
// q: [B,H,T,D], k: [B,G,S,D], v: [B,G,S,D] by strides (elements; that of D is 1), then the mask and the bias if there
// are; out: [B,H,T,D] dense. The score of a query and a key is scale * (q . k), then cap * tanh(score / cap), then plus
// the bias.
struct AttentionParams {
  I64 b, h, g, t, s, d;
  I64 q_b, q_h, q_t;
  I64 k_b, k_g, k_s;
  I64 v_b, v_g, v_s;
  I64 mask[4], bias[4];             // strides over [B,H,T,S], 0 where broadcast
  I64 window;                       // a query sees keys s with position - window < s <= position
  float scale = 1, soft_cap = 0;
  uint32_t kv_len_slot = no_slot;   // run-time scalar: keys that are valid; absent: S
  uint32_t q_start_slot = no_slot;  // run-time scalar: position of query 0 (causal, window); absent: kv_len - T
};
// logits: [N, V] dense f32 in, tokens: u32 [N] out. Slots of run-time scalars; see ops.h, sample().
struct SampleParams {
  I64 n, v;
  uint32_t temperature, top_k, top_p, min_p, seed_lo, seed_hi, position;
};
// Running values along the rows of x: [outer, rows, n] by strides (elements, any sign), out: the same shape, dense. They
// start anew at each multiple of `block` along a row. Attribute: a ScanOp.
struct ScanParams {
  I64 outer, rows, n, block;
  I64 x_outer, x_row, x_step;
};
enum class ScanOp : uint8_t { sum, prod, max, logsumexp };

// Positions (u32) that sort each row of x: [outer, rows, n] by strides, stable, out: the same shape, dense. NaN is the
// greatest value, both zeros are equal. Attribute: 1 for descending, where equal values keep their order too.
struct SortParams {
  I64 outer, rows, n;
  I64 x_outer, x_row, x_step;
};

// out[o,d,i] = x[o,d,i] with source[o, order[k], i] for all k with keys[k] = d, in the order of k. x: [outer, size,
// inner] and source: [outer, n, inner] by strides; keys (ascending) and order: u32 [n] dense; out dense. Attribute: a
// ScatterOp.
struct ScatterParams {
  I64 outer, size, inner, n;
  I64 x[3], source[3];
};
enum class ScatterOp : uint8_t {
  set,  // the last one stays
  add,  // x first, then sums over chunks of scatter_chunk
  max,  // NaN wins
};
inline constexpr int64_t scatter_chunk = 256;

struct Params {
  RegionParams region;
  uint32_t anchor_base[anchor_max_operands] = {};  // elements from the view's start to an anchor's own operand
  union {
    MatmulParams matmul;
    QuantMatmulParams quant_matmul;
    AttentionParams attention;
    SampleParams sample;
    ScanParams scan;
    SortParams sort;
    ScatterParams scatter;
  };
  Params() : region(), matmul() {}
};
static_assert(sizeof(Params) <= 1024, "parameters are at most 1 KiB");

}  // namespace tenon
