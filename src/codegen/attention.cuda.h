// Part of kernels' text: attention with online softmax (M. Milakov, N. Gimelshein, 2018; T. Dao et al., 2022). Before it
// stand Buffers, finish(), load_q, load_k, load_v and, where there are, load_mask and load_bias; and the constants causal,
// windowed, capped, masked, biased.
//
// A group of 128 threads takes 16 rows, 128 columns of the values and a range of keys. Rows are the queries of all heads
// that share keys, head by head, so those heads read keys and values once. Long ranges are cut into parts of 64 keys,
// whatever their number, and merged in order.

constexpr int row_tile = 16, key_tile = 32, depth_tile = 32, column_tile = 128, part_keys = 64;

inline float exp_of(float x) { return exp_f32(x); }

struct Work {
  int64_t b, g, row0, column0;  // batch, key head, first row, first column of the values
  int64_t end_row;              // behind the group's last row
  int64_t rows;                 // of this batch and key head
  int64_t keys;                 // valid ones
  int64_t q_start;              // position of query 0
};

// Of the group with this number among those that share out rows and columns, so many to each.
inline Work work_of(const Buffers& B, const AttentionParams& a, int64_t group, int64_t tile_rows, int64_t tile_columns) {
  const int64_t row_tiles = round_up_quotient(divide(a.h, a.g).quotient * int64_t(a.t), tile_rows), column_tiles = round_up_quotient(a.d, tile_columns);
  Work w;
  const Quotient c = divide(group, column_tiles), r = divide(c.quotient, row_tiles), g = divide(r.quotient, a.g);
  w.column0 = c.rest * tile_columns;
  w.row0 = r.rest * tile_rows;
  w.g = g.rest;
  w.b = g.quotient;
  w.rows = divide(a.h, a.g).quotient * int64_t(a.t);
  w.end_row = smaller(w.row0 + tile_rows, w.rows);
  w.keys = a.kv_len_slot == no_slot ? int64_t(a.s) : smaller(int64_t(B.scalars[a.kv_len_slot]), a.s);
  w.q_start = a.q_start_slot == no_slot ? w.keys - int64_t(a.t) : int64_t(B.scalars[a.q_start_slot]);
  return w;
}

struct Row {
  int64_t h, t;
};
inline Row row_of(const AttentionParams& a, const Work& w, int64_t row) {
  const Quotient q = divide(row, a.t);
  return {w.g * divide(a.h, a.g).quotient + q.quotient, q.rest};
}

inline bool sees(const Buffers& B, const AttentionParams& a, const Work& w, const Row& r, int64_t s) {
  if (s >= w.keys) return false;
  const int64_t position = w.q_start + r.t;
  if (causal && s > position) return false;
  if (windowed && s <= position - int64_t(a.window)) return false;
  if (masked) return load_mask(B, w.b * int64_t(a.mask[0]) + r.h * int64_t(a.mask[1]) + r.t * int64_t(a.mask[2]) + s * int64_t(a.mask[3])) != 0.0f;
  return true;
}

inline float score_of(const Buffers& B, const AttentionParams& a, const Work& w, const Row& r, int64_t s, float dot) {
  float x = dot * a.scale;
  if (capped) x = a.soft_cap * tanh_f32(x / a.soft_cap);
  if (biased) x += load_bias(B, w.b * int64_t(a.bias[0]) + r.h * int64_t(a.bias[1]) + r.t * int64_t(a.bias[2]) + s * int64_t(a.bias[3]));
  return x;
}

// Keys from `first` to `last` for the rows of `w`. Thread t ends with column t of all 16 rows in `out`, not yet divided;
// `most` and `sum` (of each row) lie in shared memory.
struct RowState {
  float most[row_tile], sum[row_tile], rescale[row_tile];
};

inline void attend(const Buffers& B, const AttentionParams& a, const Work& w, int64_t first, int64_t last, RowState& state, float (&out)[row_tile]) {
  __shared__ float sq[row_tile * (depth_tile + 1)];
  __shared__ float sk[key_tile * (depth_tile + 1)];
  __shared__ float sp[row_tile * key_tile];
  __shared__ float sv[key_tile * column_tile];
  const int t = threadIdx.x, my_row = t / 8;
  if (t < row_tile) state.most[t] = -infinity, state.sum[t] = 0.0f;
#pragma unroll
  for (int i = 0; i < row_tile; ++i) out[i] = 0.0f;
  const int rows_here = int(smaller(row_tile, w.rows - w.row0));
  const bool row_exists = my_row < rows_here;
  __shared__ int64_t q_base[row_tile];
  if (t < rows_here) {
    const Row row = row_of(a, w, w.row0 + t);
    q_base[t] = w.b * int64_t(a.q_b) + row.h * int64_t(a.q_h) + row.t * int64_t(a.q_t);
  }
  const int depth = int(a.d), columns = int(smaller(column_tile, depth - w.column0));
  const int64_t k_row = int64_t(a.k_s), v_row = int64_t(a.v_s);
  const int64_t k_base = w.b * int64_t(a.k_b) + w.g * int64_t(a.k_g), v_base = w.b * int64_t(a.v_b) + w.g * int64_t(a.v_g) + w.column0;
  const Row mine = row_of(a, w, row_exists ? w.row0 + my_row : 0);
  for (int64_t s0 = first; s0 < last; s0 += key_tile) {
    const int keys_here = int(smaller(key_tile, last - s0));
    float dot[4] = {};
    for (int d0 = 0; d0 < depth; d0 += depth_tile) {
      __syncthreads();
      if (d0 == 0) {  // the values are on their way while scores are computed
        const int64_t base = v_base + s0 * v_row;
#pragma unroll 8
        for (int s = 0; s < key_tile; ++s)
          sv[s * column_tile + t] = s < keys_here && t < columns ? load_v(B, base + s * v_row + t) : 0.0f;
      }
#pragma unroll
      for (int i = 0; i < row_tile * depth_tile / 128; ++i) {
        const int r = (t + i * 128) / depth_tile, d = t % depth_tile;
        sq[r * (depth_tile + 1) + d] = r < rows_here && d0 + d < depth ? load_q(B, q_base[r] + d0 + d) : 0.0f;
      }
#pragma unroll
      for (int i = 0; i < key_tile * depth_tile / 128; ++i) {
        const int s = (t + i * 128) / depth_tile, d = t % depth_tile;
        sk[s * (depth_tile + 1) + d] = s < keys_here && d0 + d < depth ? load_k(B, k_base + (s0 + s) * k_row + d0 + d) : 0.0f;
      }
      __syncthreads();
#pragma unroll 8
      for (int d = 0; d < depth_tile; ++d) {
        const float x = sq[my_row * (depth_tile + 1) + d];
#pragma unroll
        for (int i = 0; i < 4; ++i) dot[i] = fmaf(x, sk[(t % 8 + 8 * i) * (depth_tile + 1) + d], dot[i]);
      }
    }
    // The largest score of the row so far: eight neighbouring threads share a row.
    float score[4];
    bool seen[4];
    float most = -infinity;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int64_t s = s0 + t % 8 + 8 * i;
      seen[i] = row_exists && s < last && sees(B, a, w, mine, s);
      score[i] = seen[i] ? score_of(B, a, w, mine, s, dot[i]) : -infinity;
      most = max_f(most, score[i]);
    }
#pragma unroll
    for (int mask = 1; mask < 8; mask <<= 1) most = max_f(most, __shfl_xor_sync(0xffffffffu, most, mask));
    const float before = state.most[my_row], now = max_f(before, most), base = now == -infinity ? 0.0f : now;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float weight = seen[i] ? exp_of(score[i] - base) : 0.0f;
      sum += weight;
      sp[my_row * key_tile + t % 8 + 8 * i] = seen[i] ? weight : -1.0f;  // unseen: its value is not touched
    }
#pragma unroll
    for (int mask = 1; mask < 8; mask <<= 1) {
      const float other = __shfl_xor_sync(0xffffffffu, sum, mask);
      sum = t & mask ? other + sum : sum + other;
    }
    __syncwarp();
    if (t % 8 == 0) {
      const float rescale = before == -infinity ? 0.0f : exp_of(before - base);
      state.rescale[my_row] = rescale;
      state.sum[my_row] = state.sum[my_row] * rescale + sum;
      state.most[my_row] = now;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < row_tile; ++r) {
      if (r >= rows_here) break;
      float sum_of_row = out[r] * state.rescale[r];
#pragma unroll 8
      for (int s = 0; s < key_tile; ++s) {
        const float weight = sp[r * key_tile + s], more = fmaf(weight, sv[s * column_tile + t], sum_of_row);
        sum_of_row = weight < 0.0f ? sum_of_row : more;
      }
      out[r] = sum_of_row;
    }
    __syncthreads();
  }
  __syncthreads();
}

inline int64_t output_number(const AttentionParams& a, const Work& w, int64_t row, int64_t column) {
  const Row r = row_of(a, w, row);
  return ((w.b * int64_t(a.h) + r.h) * int64_t(a.t) + r.t) * int64_t(a.d) + column;
}

// The keys that any of the rows can see lie in [first, last).
struct KeyRange {
  int64_t first, last;
};
inline KeyRange keys_of(const AttentionParams& a, const Work& w) {
  const Quotient top = divide(w.row0, a.t), bottom = divide(w.end_row - 1, a.t);
  const bool one_head = top.quotient == bottom.quotient;
  const int64_t earliest = one_head ? top.rest : 0, latest = one_head ? bottom.rest : int64_t(a.t) - 1;  // queries
  KeyRange r = {0, w.keys};
  if (causal) r.last = smaller(r.last, w.q_start + latest + 1);
  if (windowed) {
    const int64_t from = w.q_start + earliest - int64_t(a.window) + 1;
    if (from > 0) r.first = from / key_tile * key_tile;  // in whole tiles: what is added together does not depend on it
  }
  return r;
}

inline void whole_attention(const Buffers& B, const Params& p) {
  __shared__ RowState state;
  const AttentionParams& a = p.attention;
  const Work w = work_of(B, a, group_index(), row_tile, column_tile);
  const KeyRange keys = keys_of(a, w);
  float out[row_tile];
  attend(B, a, w, keys.first, keys.last, state, out);
  const int64_t column = w.column0 + threadIdx.x;
  if (column >= int64_t(a.d)) return;
#pragma unroll
  for (int r = 0; r < row_tile; ++r)
    if (w.row0 + r < w.rows) finish(B, p, output_number(a, w, w.row0 + r, column), state.sum[r] == 0.0f ? 0.0f : out[r] / state.sum[r]);
}

// Scratch of a part: for each of 16 rows most, sum and 128 columns.
constexpr int part_floats = row_tile * (2 + column_tile);

inline void part_attention(const Buffers& B, const Params& p, float* scratch) {
  __shared__ RowState state;
  const AttentionParams& a = p.attention;
  const Quotient place = divide(group_index(), round_up_quotient(a.s, part_keys));
  const Work w = work_of(B, a, place.quotient, row_tile, column_tile);
  KeyRange keys = keys_of(a, w);
  const int64_t begin = place.rest * part_keys;
  keys.first = keys.first > begin ? keys.first : begin;
  keys.last = smaller(keys.last, begin + part_keys);
  float out[row_tile];
  attend(B, a, w, keys.first, keys.last, state, out);
  float* mine = scratch + group_index() * part_floats;
  const int t = threadIdx.x;
  if (t < row_tile) mine[t] = state.most[t], mine[row_tile + t] = state.sum[t];
#pragma unroll
  for (int r = 0; r < row_tile; ++r) mine[2 * row_tile + r * column_tile + t] = out[r];
}

// A group for each row of a tile.
inline void merge_attention(const Buffers& B, const Params& p, const float* scratch) {
  const AttentionParams& a = p.attention;
  const int64_t parts = round_up_quotient(a.s, part_keys);
  const int64_t group = group_index() / row_tile;
  const int r = int(group_index() % row_tile), t = threadIdx.x;
  const Work w = work_of(B, a, group, row_tile, column_tile);
  const int64_t column = w.column0 + t;
  if (w.row0 + r >= w.rows || column >= int64_t(a.d)) return;
  const KeyRange keys = keys_of(a, w);
  const int64_t first = keys.first / part_keys, last = smaller(round_up_quotient(keys.last < 0 ? 0 : keys.last, part_keys), parts);
  const float* theirs = scratch + group * parts * part_floats;
  float most = -infinity, sum = 0.0f, value = 0.0f;
  for (int64_t part = first; part < last; ++part) most = max_f(most, theirs[part * part_floats + r]);
  const float base = most == -infinity ? 0.0f : most;
#pragma unroll 4
  for (int64_t part = first; part < last; ++part) {
    const float* one = theirs + part * part_floats;
    const float scale = one[r] == -infinity ? 0.0f : exp_of(one[r] - base);
    sum += one[row_tile + r] * scale;
    value += one[2 * row_tile + r * column_tile + t] * scale;
  }
  finish(B, p, output_number(a, w, w.row0 + r, column), sum == 0.0f ? 0.0f : value / sum);
}
