// Attention in one pass over the keys with a running maximum and sum (Dao et al., FlashAttention, 2022). Query head h
// reads key head h / (H / G) in place. Query t has position q_start + t; key s takes part if s < kv_len, if causal
// s <= position, with a window position - window < s, and if the mask says so. What does not take part is never
// multiplied, so it may hold NaN; a row without keys gives 0.
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
#include "kernels/scalar/loops.cpu.h"

namespace tenon::cpu {
namespace {

constexpr int64_t query_block = common_mr;
constexpr int64_t key_block = 128;

// Keys first to end - 1.
struct KeyRange {
  int64_t first, end;
};

struct Problem {
  int64_t b, h, g, t, d, heads_per_key;
  int64_t kv_len, q_start, window;  // window 0: none
  bool causal, capped, masked, biased;
  float scale;
  DType q_type, k_type, v_type, bias_type;
  bool one_query() const { return t == 1; }
  int64_t blocks() const { return (t + query_block - 1) / query_block; }
  int64_t groups() const { return one_query() ? b * g : b * h * blocks(); }
  // What a query sees but for the mask. Both ends grow with the query.
  KeyRange keys_of(int64_t query) const {
    const int64_t position = q_start + query;
    const int64_t end = causal ? std::clamp<int64_t>(position + 1, 0, kv_len) : kv_len;
    return {window > 0 ? std::clamp<int64_t>(position + 1 - window, 0, end) : 0, end};
  }
};

// Structure, see attention.cpu.h.
bool flag(const KernelDesc& desc, size_t i) { return desc.attributes.size() > i && desc.attributes[i] != 0; }

Problem problem_of(const KernelDesc& desc, const AttentionParams& p, const uint32_t* scalars) {
  Problem r{};
  r.b = p.b, r.h = p.h, r.g = p.g, r.t = p.t, r.d = p.d;
  r.heads_per_key = r.g > 0 ? r.h / r.g : 0;
  r.causal = flag(desc, 0), r.capped = flag(desc, 2), r.masked = flag(desc, 3), r.biased = flag(desc, 4);
  r.window = flag(desc, 1) ? int64_t(p.window) : 0;
  r.scale = p.scale;
  r.q_type = desc.operands[0].dtype, r.k_type = desc.operands[1].dtype, r.v_type = desc.operands[2].dtype;
  if (r.biased) r.bias_type = desc.operands[3 + r.masked].dtype;
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
  Rows from(int64_t row) const { return {dtype, at(row), stride}; }
};

Rows rows_at(DType dtype, const std::byte* base, int64_t element, int64_t stride) {
  return {dtype, base + element * block_bytes(dtype), stride};
}

// The mask of one query from some key on; data is null where there is no mask.
struct MaskRow {
  const std::byte* data;
  int64_t stride;
  bool operator[](int64_t key) const { return !data || data[key * stride] != std::byte{0}; }
};

MaskRow mask_at(const KernelArgs& args, const Problem& p, int64_t batch, int64_t h, int64_t t, int64_t key) {
  if (!p.masked) return {nullptr, 0};
  const I64* m = args.params->attention.mask;
  return {args.buffers[3] + batch * m[0] + h * m[1] + t * m[2] + key * m[3], m[3]};
}

// Applies the scale, the cap, the bias and the mask to the dot products of one query with n keys; `extra` is space for
// n values. Returns the factor that is left to apply.
float shape_scores(const KernelArgs& args, const Problem& p, const AttentionLoops& loops, int64_t batch, int64_t h,
                   int64_t t, int64_t key, int64_t n, float* scores, float* extra) {
  if (!p.capped && !p.biased && !p.masked) return p.scale;
  const AttentionParams& a = args.params->attention;
  loops.scale(scores, n, p.capped ? p.scale / a.soft_cap : p.scale);
  if (p.capped) {
    uint32_t* x = reinterpret_cast<uint32_t*>(scores);
    scalar_loop(ScalarOp::tanh, Lane::f32)(x, &x, n);
    loops.scale(scores, n, a.soft_cap);
  }
  if (p.biased) {
    const int64_t first = batch * a.bias[0] + h * a.bias[1] + t * a.bias[2] + key * a.bias[3];
    load_lanes(p.bias_type, args.buffers[3 + p.masked], first, a.bias[3], n, reinterpret_cast<uint32_t*>(extra));
    for (int64_t i = 0; i < n; i++) scores[i] += extra[i];
  }
  const MaskRow mask = mask_at(args, p, batch, h, t, key);
  for (int64_t i = 0; mask.data && i < n; i++)
    if (!mask[i]) scores[i] = -std::numeric_limits<float>::infinity();
  return 1;
}

// o += the values of keys `first` to `end - 1` of v by their weights, those that the mask hides left out.
void add_seen(const MatmulLoops& loops, const Rows& v, const MaskRow& mask, int64_t first, int64_t end, int64_t d,
              const float* weights, float* o) {
  for (int64_t i = first; i < end;) {
    int64_t run = i;
    if (!mask.data) run = end;
    while (run < end && mask[run]) run++;
    if (run > i) loops.axpys(v.dtype, v.at(i), v.stride, d, weights + i, run - i, o);
    i = run + 1;
  }
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
  float *q, *o, *scores, *extra;
  RunningSoftmax* rows;
  std::byte* epilogue;
  int64_t bytes;
  OneQueryScratch(const KernelDesc& desc, const Problem& p, std::byte* from) {
    ScratchCutter cut(from);
    q = cut.take(p.heads_per_key * p.d);
    o = cut.take(p.heads_per_key * p.d);
    scores = cut.take(key_block);
    extra = cut.take(p.biased ? key_block : 0);
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
  const KeyRange keys = p.keys_of(0);
  for (int64_t k0 = keys.first; k0 < keys.end; k0 += key_block) {
    const int64_t n = std::min(key_block, keys.end - k0);
    for (int64_t h = 0; h < heads; h++) {
      float* o = s.o + h * p.d;
      std::fill(s.scores, s.scores + n, 0.0f);
      loops.dots(k.dtype, k.at(k0), k.stride, n, s.q + h * p.d, p.d, s.scores);
      const int64_t head = g * heads + h;
      const float factor = shape_scores(args, p, attention, batch, head, 0, k0, n, s.scores, s.extra);
      const float before = attention.softmax_piece(s.scores, n, factor, s.rows[h]);
      if (before != 1.0f) attention.scale(o, p.d, before);
      add_seen(loops, v.from(k0), mask_at(args, p, batch, head, 0, k0), 0, n, p.d, s.scores, o);
    }
  }
  finish(args, attention, batch * p.h + g * heads, heads, p.d, s.o, p.d, s.rows, s.epilogue);
}

// -------------------------------------------------------------------------------------------------- several queries

struct BlockScratch {
  float *q, *k, *v, *scores, *weights, *o, *extra;
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
    extra = cut.take(p.biased ? key_block : 0);
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

// A block of queries of one head.
struct QueryBlock {
  int64_t batch, h, t0, m;
};

// o += weights times values, row i over its keys seen[i] (counted from k0) only.
template <const MatmulLoops& loops>
void add_values(const KernelArgs& args, const Problem& p, const BlockScratch& s, const QueryBlock& q, const Rows& v,
                int64_t k0, int64_t n, const KeyRange* seen) {
  loops.pack(v.dtype, v.at(k0), 1, v.stride, p.d, n, loops.nr, s.v);
  const bool cut = std::any_of(seen, seen + q.m, [&](const KeyRange& r) { return r.first > 0 || r.end < n; });
  if ((!cut && !p.masked) || all_finite(s.v, n * s.o_row)) {
    const std::byte* weights = reinterpret_cast<const std::byte*>(s.scores);
    loops.pack(DType::f32, weights, key_block, 1, q.m, n, loops.mr, s.weights);
    loops.multiply(q.m, p.d, n, s.weights, s.v, s.o, s.o_row, true);
    return;
  }
  for (int64_t i = 0; i < q.m; i++)  // a weight of 0 times infinity would be NaN
    add_seen(loops, v.from(k0), mask_at(args, p, q.batch, q.h, q.t0 + i, k0), seen[i].first, seen[i].end, p.d,
             s.scores + i * key_block, s.o + i * s.o_row);
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
  const int64_t end = p.keys_of(t0 + m - 1).end;  // the last query's are the last
  for (int64_t k0 = p.keys_of(t0).first; k0 < end; k0 += key_block) {
    const int64_t n = std::min(key_block, end - k0);
    KeyRange seen[query_block];
    loops.pack(k.dtype, k.at(k0), k.stride, 1, n, p.d, loops.nr, s.k);
    loops.multiply(m, n, p.d, s.q, s.k, s.scores, key_block, false);
    for (int64_t i = 0; i < m; i++) {
      float* row = s.scores + i * key_block;
      const KeyRange keys = p.keys_of(t0 + i);
      const int64_t to = std::clamp<int64_t>(keys.end - k0, 0, n), from = std::clamp<int64_t>(keys.first - k0, 0, to);
      seen[i] = {from, to};
      std::fill(row, row + from, 0.0f);
      std::fill(row + to, row + n, 0.0f);
      if (from == to) continue;
      const float factor = shape_scores(args, p, attention, batch, h, t0 + i, k0 + from, to - from, row + from, s.extra);
      const float before = attention.softmax_piece(row + from, to - from, factor, s.rows[i]);
      if (before != 1.0f) attention.scale(s.o + i * s.o_row, p.d, before);
    }
    add_values<loops>(args, p, s, {batch, h, t0, m}, v, k0, n, seen);
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

bool takes_dtypes(const KernelDesc& desc) {
  const bool masked = flag(desc, 3), biased = flag(desc, 4);
  if (desc.anchor_operands != 3 + masked + biased || (masked && desc.operands[3].dtype != DType::bool_)) return false;
  for (int i = 0; i < desc.anchor_operands; i++)
    if (const DType t = desc.operands[size_t(i)].dtype; !(masked && i == 3) && (!is_float(t) || is_wide(t))) return false;
  return true;
}

template <Isa isa>
bool applies(const KernelDesc& desc) {
  return cpu_isa() >= isa && takes_dtypes(desc);
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
