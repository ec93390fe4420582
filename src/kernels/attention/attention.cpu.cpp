// Attention in one pass over the keys with a running maximum and sum (Dao et al., FlashAttention, 2022). Query head h
// reads key head h / (H / G) in place. Query t has position q_start + t; key s takes part if s < kv_len and, if causal,
// s <= position. What does not take part is never multiplied, so it may hold NaN; a row without keys gives 0.
//
// One query (decoding): a group takes all heads that share a key head, so keys and values come from memory once.
// Several: a group takes a block of queries of one head, and both products go through matmul's register tile.
#include "kernels/attention/attention.cpu.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/cpu_features.h"
#include "kernels/attention/attention_loops.cpu.h"
#include "kernels/matmul/matmul_loops.cpu.h"
#include "kernels/matmul/scratch.cpu.h"
#include "kernels/region/epilogue.cpu.h"

namespace tenon::cpu {
namespace {

constexpr int64_t query_block = common_mr;
constexpr int64_t key_block = 128;

struct Problem {
  int64_t b, h, g, t, d, heads_per_key;
  int64_t kv_len, q_start;
  bool causal;
  float scale;
  DType q_type, k_type, v_type;
  bool one_query() const { return t == 1; }
  int64_t blocks() const { return (t + query_block - 1) / query_block; }
  int64_t groups() const { return one_query() ? b * g : b * h * blocks(); }
  // How many keys a query sees; they are the first ones.
  int64_t keys_of(int64_t query) const {
    return causal ? std::clamp<int64_t>(q_start + query + 1, 0, kv_len) : kv_len;
  }
};

Problem problem_of(const KernelDesc& desc, const AttentionParams& p, const uint32_t* scalars) {
  Problem r{};
  r.b = p.b, r.h = p.h, r.g = p.g, r.t = p.t, r.d = p.d;
  r.heads_per_key = r.g > 0 ? r.h / r.g : 0;
  r.causal = !desc.attributes.empty() && desc.attributes[0] != 0;
  r.scale = p.scale;
  r.q_type = desc.operands[0].dtype, r.k_type = desc.operands[1].dtype, r.v_type = desc.operands[2].dtype;
  r.kv_len = p.s;
  if (scalars && p.kv_len_slot != no_slot) r.kv_len = std::min<int64_t>(scalars[p.kv_len_slot], p.s);
  r.q_start = r.kv_len - r.t;
  if (scalars && p.q_start_slot != no_slot) r.q_start = scalars[p.q_start_slot];
  return r;
}

// Keys or values of one head.
struct Rows {
  DType dtype;
  const std::byte* data;
  int64_t stride;  // elements
  const std::byte* at(int64_t row) const { return data + row * stride * block_bytes(dtype); }
};

Rows rows_at(DType dtype, const std::byte* base, int64_t element, int64_t stride) {
  return {dtype, base + element * block_bytes(dtype), stride};
}

void start(RunningSoftmax* rows, int64_t n) {
  std::fill(rows, rows + n, RunningSoftmax{-std::numeric_limits<float>::infinity(), 0.0f});
}

// Divides by the sums and hands the rows on; `first` is the first one's index among [B, H, T].
void finish(const KernelArgs& args, const AttentionLoops& loops, int64_t first, int64_t n, int64_t d, float* o,
            int64_t o_row, const RunningSoftmax* rows, std::byte* epilogue) {
  for (int64_t i = 0; i < n; i++) {
    const float sum = rows[i].sum;
    if (sum == 0)
      std::fill(o + i * o_row, o + i * o_row + d, 0.0f);
    else
      loops.scale(o + i * o_row, d, 1.0f / sum);
    if (o_row != d) run_epilogue(args, (first + i) * d, d, o + i * o_row, epilogue);
  }
  if (o_row == d) run_epilogue(args, first * d, n * d, o, epilogue);
}

// ------------------------------------------------------------------------------------------------------ one query

struct OneQueryScratch {
  float *q, *o, *scores;
  RunningSoftmax* rows;
  std::byte* epilogue;
  int64_t bytes;
  OneQueryScratch(const KernelDesc& desc, const Problem& p, std::byte* from) {
    ScratchCutter cut(from);
    q = cut.take(p.heads_per_key * p.d);
    o = cut.take(p.heads_per_key * p.d);
    scores = cut.take(key_block);
    rows = cut.take<RunningSoftmax>(p.heads_per_key);
    epilogue = cut.take<std::byte>(epilogue_scratch_bytes(desc));
    bytes = cut.bytes();
  }
};

template <const MatmulLoops& loops, const AttentionLoops& attention>
void run_one_query(const KernelArgs& args, const Problem& p, int64_t group, std::byte* scratch) {
  const AttentionParams& a = args.params->attention;
  const OneQueryScratch s(*args.desc, p, scratch);
  const int64_t batch = group / p.g, g = group % p.g, heads = p.heads_per_key;
  const Rows q = rows_at(p.q_type, args.buffers[0], batch * a.q_b + g * heads * a.q_h, a.q_h);
  const Rows k = rows_at(p.k_type, args.buffers[1], batch * a.k_b + g * a.k_g, a.k_s);
  const Rows v = rows_at(p.v_type, args.buffers[2], batch * a.v_b + g * a.v_g, a.v_s);
  for (int64_t h = 0; h < heads; h++) loops.convert(q.dtype, q.at(h), 1, p.d, s.q + h * p.d);
  std::fill(s.o, s.o + heads * p.d, 0.0f);
  start(s.rows, heads);
  const int64_t keys = p.keys_of(0);
  for (int64_t k0 = 0; k0 < keys; k0 += key_block) {
    const int64_t n = std::min(key_block, keys - k0);
    for (int64_t h = 0; h < heads; h++) {
      float* o = s.o + h * p.d;
      std::fill(s.scores, s.scores + n, 0.0f);
      loops.dots(k.dtype, k.at(k0), k.stride, n, s.q + h * p.d, p.d, s.scores);
      const float before = attention.softmax_piece(s.scores, n, p.scale, s.rows[h]);
      if (before != 1.0f) attention.scale(o, p.d, before);
      loops.axpys(v.dtype, v.at(k0), v.stride, p.d, s.scores, n, o);
    }
  }
  finish(args, attention, batch * p.h + g * heads, heads, p.d, s.o, p.d, s.rows, s.epilogue);
}

// -------------------------------------------------------------------------------------------------- several queries

struct BlockScratch {
  float *q, *k, *v, *scores, *weights, *o;
  RunningSoftmax* rows;
  std::byte* epilogue;
  int64_t bytes, o_row;
  BlockScratch(const KernelDesc& desc, const Problem& p, const MatmulLoops& loops, std::byte* from) {
    ScratchCutter cut(from);
    const int64_t rows_up = round_up(std::min(p.t, query_block), loops.mr);
    o_row = round_up(p.d, loops.nr);
    q = cut.take(rows_up * p.d + panel_slack);
    k = cut.take(key_block * p.d + panel_slack);
    v = cut.take(key_block * o_row + panel_slack);
    scores = cut.take(rows_up * key_block);
    weights = cut.take(rows_up * key_block + panel_slack);
    o = cut.take(rows_up * o_row);
    rows = cut.take<RunningSoftmax>(rows_up);
    epilogue = cut.take<std::byte>(epilogue_scratch_bytes(desc));
    bytes = cut.bytes();
  }
};

bool all_finite(const float* x, int64_t n) {
  uint32_t special = 0;
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    std::memcpy(&bits, x + i, sizeof bits);
    special |= (bits & 0x7f800000u) == 0x7f800000u;
  }
  return special == 0;
}

// o += weights times values, row i over its first seen[i] keys only.
template <const MatmulLoops& loops>
void add_values(const Problem& p, const BlockScratch& s, const Rows& v, int64_t k0, int64_t n, int64_t m,
                const int64_t* seen) {
  loops.pack(v.dtype, v.at(k0), 1, v.stride, p.d, n, loops.nr, s.v);
  const bool cut = std::any_of(seen, seen + m, [&](int64_t keys) { return keys < n; });
  if (!cut || all_finite(s.v, n * s.o_row)) {
    const std::byte* weights = reinterpret_cast<const std::byte*>(s.scores);
    loops.pack(DType::f32, weights, key_block, 1, m, n, loops.mr, s.weights);
    loops.multiply(m, p.d, n, s.weights, s.v, s.o, s.o_row, true);
    return;
  }
  for (int64_t i = 0; i < m; i++)  // a weight of 0 times infinity would be NaN
    loops.axpys(v.dtype, v.at(k0), v.stride, p.d, s.scores + i * key_block, seen[i], s.o + i * s.o_row);
}

template <const MatmulLoops& loops, const AttentionLoops& attention>
void run_block(const KernelArgs& args, const Problem& p, int64_t group, std::byte* scratch) {
  const AttentionParams& a = args.params->attention;
  const BlockScratch s(*args.desc, p, loops, scratch);
  const int64_t t0 = group % p.blocks() * query_block, head = group / p.blocks();
  const int64_t batch = head / p.h, h = head % p.h, g = h / p.heads_per_key;
  const int64_t m = std::min(query_block, p.t - t0);
  const Rows q = rows_at(p.q_type, args.buffers[0], batch * a.q_b + h * a.q_h + t0 * a.q_t, a.q_t);
  const Rows k = rows_at(p.k_type, args.buffers[1], batch * a.k_b + g * a.k_g, a.k_s);
  const Rows v = rows_at(p.v_type, args.buffers[2], batch * a.v_b + g * a.v_g, a.v_s);
  loops.pack(q.dtype, q.data, q.stride, 1, m, p.d, loops.mr, s.q);
  std::fill(s.o, s.o + m * s.o_row, 0.0f);
  start(s.rows, m);
  const int64_t keys = p.keys_of(t0 + m - 1);  // the last query sees the most
  for (int64_t k0 = 0; k0 < keys; k0 += key_block) {
    const int64_t n = std::min(key_block, keys - k0);
    int64_t seen[query_block];
    loops.pack(k.dtype, k.at(k0), k.stride, 1, n, p.d, loops.nr, s.k);
    loops.multiply(m, n, p.d, s.q, s.k, s.scores, key_block, false);
    for (int64_t i = 0; i < m; i++) {
      float* row = s.scores + i * key_block;
      seen[i] = std::clamp<int64_t>(p.keys_of(t0 + i) - k0, 0, n);
      std::fill(row + seen[i], row + n, 0.0f);
      if (seen[i] == 0) continue;
      const float before = attention.softmax_piece(row, seen[i], p.scale, s.rows[i]);
      if (before != 1.0f) attention.scale(s.o + i * s.o_row, p.d, before);
    }
    add_values<loops>(p, s, v, k0, n, m, seen);
  }
  finish(args, attention, head * p.t + t0, m, p.d, s.o, s.o_row, s.rows, s.epilogue);
}

// ------------------------------------------------------------------------------------------------------------ rows

template <const MatmulLoops& loops, const AttentionLoops& attention>
void run(const KernelArgs& args, int64_t group, std::byte* scratch) {
  const Problem p = problem_of(*args.desc, args.params->attention, args.scalars);
  p.one_query() ? run_one_query<loops, attention>(args, p, group, scratch)
                : run_block<loops, attention>(args, p, group, scratch);
}

template <const MatmulLoops& loops>
Grid grid(const KernelDesc& desc, const Params& params) {
  const Problem p = problem_of(desc, params.attention, nullptr);
  if (p.d == 0 || p.g == 0) return {};
  return {p.groups(), p.one_query() ? OneQueryScratch(desc, p, nullptr).bytes
                                    : BlockScratch(desc, p, loops, nullptr).bytes};
}

template <Isa isa>
bool applies(const KernelDesc& desc) {
  return cpu_isa() >= isa && desc.anchor_operands == 3 && is_float(desc.operands[0].dtype) &&
         is_float(desc.operands[1].dtype) && is_float(desc.operands[2].dtype);
}

template <Isa isa, const MatmulLoops& loops, const AttentionLoops& attention>
constexpr NativeKernel row(const char* name) {
  return {"attention", name, applies<isa>, grid<loops>, prepare_epilogue, run<loops, attention>};
}

}  // namespace

std::span<const NativeKernel> attention_kernels() {
  static constexpr NativeKernel rows[] = {
#if defined(__x86_64__)
      row<Isa::avx512, matmul_loops_avx512, attention_loops_avx512>("attention_flash_avx512"),
      row<Isa::avx2, matmul_loops_avx2, attention_loops_avx2>("attention_flash_avx2"),
#endif
      row<Isa::baseline, matmul_loops_baseline, attention_loops_baseline>("attention_flash"),
  };
  return rows;
}

}  // namespace tenon::cpu
