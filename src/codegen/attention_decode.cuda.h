// Part of kernels' text, behind attention.cuda.h: attention of few rows over many keys, as in decoding. QStorage,
// q_elements(B), q_value(x), and those of k and v, stand before it, and width, the neighbours that a thread loads at once.
//
// A group of 128 threads takes up to 8 rows and one part of the keys. A few neighbouring threads share a key, each with a
// stretch of its depth; then warps turn scores into weights, a row each; then the threads share out the values like the
// keys. Parts are as many as the cache's size asks for, whatever is in it, and a second kernel merges them in order.

constexpr int few_rows = 8, few_depth = 256, most_part_keys = 256, decode_threads = 128, decode_warps = decode_threads / 32;
// Scratch of a part: for each row most, sum and the values' sums.
constexpr int decode_floats = few_rows * (2 + few_depth);

// Keys of a part: about 64 parts, of whole and half tiles of keys.
inline int64_t decode_part_keys(int64_t s) {
  const int64_t keys = (s + 1023) / 1024 * 16;
  return keys < 16 ? 16 : smaller(keys, most_part_keys);
}

// Threads that share a key.
inline int lanes_of(int depth) {
  int lanes = few_rows;
  while (lanes * width < depth) lanes *= 2;
  return lanes;
}

// Scores of the part's keys into weights, a warp for each row. Weights of keys that are not seen are -1.
inline void weigh(const Buffers& B, const AttentionParams& a, const Work& w, int64_t begin, int skipped, int keys, int rows, float* scores, float* most_of, float* sum_of) {
  const int lane = threadIdx.x & 31;
  for (int r = threadIdx.x / 32; r < rows; r += decode_warps) {
    const Row row = row_of(a, w, w.row0 + r);
    float* mine = scores + r * most_part_keys;
    float most = -infinity, sum = 0.0f;
    uint32_t seen = 0u;
    for (int s = lane, bit = 0; s < keys; s += 32, ++bit) {
      if (s < skipped || !sees(B, a, w, row, begin + s)) continue;
      seen |= 1u << bit;
      mine[s] = score_of(B, a, w, row, begin + s, mine[s]);
      most = max_f(most, mine[s]);
    }
#pragma unroll
    for (int mask = 1; mask < 32; mask <<= 1) most = max_f(most, __shfl_xor_sync(0xffffffffu, most, mask));
    const float base = most == -infinity ? 0.0f : most;
    for (int s = lane, bit = 0; s < keys; s += 32, ++bit) {
      const bool there = seen >> bit & 1u;
      const float weight = there ? exp_of(mine[s] - base) : 0.0f;
      sum += weight;
      mine[s] = there ? weight : -1.0f;
    }
#pragma unroll
    for (int mask = 1; mask < 32; mask <<= 1) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    if (lane == 0) most_of[r] = most, sum_of[r] = sum;
  }
}

// `width` neighbours as they lie in memory. Loading only loads: what unpacks them comes when all loads are on their way.
template <class T>
struct Run {
  static constexpr int bytes = width * int(sizeof(T)), piece_bytes = bytes < 16 ? bytes : 16, pieces = bytes / piece_bytes;
  Bits<piece_bytes> piece[pieces];
};
template <bool fast, class T>
inline Run<T> load_run(const T* from, int count) {
  Run<T> run = {};
  if constexpr (fast) {
    if (count > 0) {
#pragma unroll
      for (int i = 0; i < Run<T>::pieces; ++i) run.piece[i] = reinterpret_cast<const Bits<Run<T>::piece_bytes>*>(from)[i];
    }
  } else {
    T each[width];
#pragma unroll
    for (int e = 0; e < width; ++e) each[e] = e < count ? from[e] : T(0);
    __builtin_memcpy(&run, each, sizeof(run));
  }
  return run;
}

// Whether all runs are whole and aligned.
inline bool has_whole_runs(const Buffers& B, const AttentionParams& a) {
  const int64_t strides = int64_t(a.q_b) | int64_t(a.q_h) | int64_t(a.q_t) | int64_t(a.k_b) | int64_t(a.k_g) | int64_t(a.k_s) | int64_t(a.v_b) |
                          int64_t(a.v_g) | int64_t(a.v_s) | int64_t(a.d);
  const uint64_t bases = uint64_t(q_elements(B)) | uint64_t(k_elements(B)) | uint64_t(v_elements(B));
  return (strides & (width - 1)) == 0 && (bases & 15) == 0;
}

struct DecodeMemory {
  float* pool;  // the scores; later the sums of the values, of each warp
  float *most_of, *sum_of;
};

template <bool fast>
inline void decode_keys(const Buffers& B, const AttentionParams& a, int64_t group, const DecodeMemory& memory, float* scratch) {
  float* scores = memory.pool;
  const int64_t part_size = decode_part_keys(a.s);
  const Quotient place = divide(group, round_up_quotient(a.s, part_size));
  const int64_t begin = place.rest * part_size;
  const Work w = work_of(B, a, place.quotient, few_rows, few_depth);
  const int rows = int(w.end_row - w.row0), depth = int(a.d), t = threadIdx.x, stored = int(smaller(part_size, a.s - begin));
  const int lanes = lanes_of(depth), slots = decode_threads / lanes, lane = t & (lanes - 1), slot = t / lanes;
  const int d0 = lane * width, count = d0 >= depth ? 0 : depth - d0 < width ? depth - d0 : width;
  const int64_t k_row = a.k_s, v_row = a.v_s;
  const KStorage* k_from = k_elements(B) + w.b * int64_t(a.k_b) + w.g * int64_t(a.k_g) + begin * k_row + d0;
  const VStorage* v_from = v_elements(B) + w.b * int64_t(a.v_b) + w.g * int64_t(a.v_g) + begin * v_row + d0;
  // What lies behind the valid keys is loaded too, for the number of those is still on its way; it is not used.
  const bool has_first = slot < stored;
  Run<KStorage> k_run = load_run<fast>(k_from + (has_first ? slot : 0) * k_row, has_first ? count : 0);
  Run<VStorage> v_run = load_run<fast>(v_from + (has_first ? slot : 0) * v_row, has_first ? count : 0);
  Run<QStorage> q_run[few_rows];
#pragma unroll
  for (int r = 0; r < few_rows; ++r) {
    const Row row = row_of(a, w, w.row0 + (r < rows ? r : 0));
    q_run[r] = load_run<fast>(q_elements(B) + w.b * int64_t(a.q_b) + row.h * int64_t(a.q_h) + row.t * int64_t(a.q_t) + d0, r < rows ? count : 0);
  }
  const KeyRange range = keys_of(a, w);
  // Keys of the part that count: from `skipped` to `keys`, both from `begin` on.
  const int skipped = range.first > begin ? int(smaller(range.first - begin, part_size)) : 0;
  const int keys = int(range.last - begin < 0 ? 0 : smaller(range.last - begin, stored));
  float q[few_rows][width];
#pragma unroll
  for (int r = 0; r < few_rows; ++r) {
    QStorage each[width];
    __builtin_memcpy(&each, &q_run[r], sizeof(each));
#pragma unroll
    for (int e = 0; e < width; ++e) q[r][e] = q_value(each[e]);
  }
  for (int s0 = 0; s0 < keys; s0 += slots) {
    const int s = s0 + slot;
    KStorage k[width];
    __builtin_memcpy(&k, &k_run, sizeof(k));
    if (s + slots < keys) k_run = load_run<fast>(k_from + (s + slots) * k_row, count);
    float dot[few_rows] = {};
#pragma unroll
    for (int r = 0; r < few_rows; ++r) {
#pragma unroll
      for (int e = 0; e < width; ++e) dot[r] = fmaf(q[r][e], k_value(k[e]), dot[r]);
    }
    for (int mask = 1; mask < lanes; mask <<= 1) {
#pragma unroll
      for (int r = 0; r < few_rows; ++r) dot[r] += __shfl_xor_sync(0xffffffffu, dot[r], mask);
    }
#pragma unroll
    for (int r = 0; r < few_rows; ++r)
      if (lane == r && s < keys) scores[r * most_part_keys + s] = dot[r];
  }
  __syncthreads();
  weigh(B, a, w, begin, skipped, keys, rows, scores, memory.most_of, memory.sum_of);
  __syncthreads();
  float sum[few_rows][width] = {};
  for (int s = slot; s < keys; s += slots) {
    VStorage v[width];
    __builtin_memcpy(&v, &v_run, sizeof(v));
    if (s + slots < keys) v_run = load_run<fast>(v_from + (s + slots) * v_row, count);
#pragma unroll
    for (int r = 0; r < few_rows; ++r) {
      const float weight = r < rows ? scores[r * most_part_keys + s] : -1.0f;
#pragma unroll
      for (int e = 0; e < width; ++e) sum[r][e] = weight < 0.0f ? sum[r][e] : fmaf(weight, v_value(v[e]), sum[r][e]);
    }
  }
  for (int mask = lanes; mask < 32; mask <<= 1) {
#pragma unroll
    for (int r = 0; r < few_rows; ++r)
#pragma unroll
      for (int e = 0; e < width; ++e) sum[r][e] += __shfl_xor_sync(0xffffffffu, sum[r][e], mask);
  }
  __syncthreads();
  if ((t & 31) < lanes) {
#pragma unroll
    for (int r = 0; r < few_rows; ++r)
#pragma unroll
      for (int e = 0; e < width; ++e)
        if (e < count) memory.pool[(t / 32 * few_rows + r) * few_depth + d0 + e] = sum[r][e];
  }
  __syncthreads();
  float* mine = scratch + group * decode_floats;
  if (t < rows) mine[t] = memory.most_of[t], mine[few_rows + t] = memory.sum_of[t];
  for (int r = 0; r < rows; ++r)
    for (int d = t; d < depth; d += decode_threads) {
      float all = memory.pool[r * few_depth + d];
#pragma unroll
      for (int warp = 1; warp < decode_warps; ++warp) all += memory.pool[(warp * few_rows + r) * few_depth + d];
      mine[2 * few_rows + r * few_depth + d] = all;
    }
}

inline void decode_part(const Buffers& B, const Params& p, float* scratch) {
  __shared__ float pool[decode_warps * few_rows * few_depth];
  __shared__ float most_of[few_rows];
  __shared__ float sum_of[few_rows];
  const DecodeMemory memory = {pool, most_of, sum_of};
  if (has_whole_runs(B, p.attention)) decode_keys<true>(B, p.attention, group_index(), memory, scratch);
  else decode_keys<false>(B, p.attention, group_index(), memory, scratch);
}

// A group for each row; a thread has up to two columns.
inline void decode_merge(const Buffers& B, const Params& p, const float* scratch) {
  __shared__ float warp_most[decode_warps];
  __shared__ float scales[decode_threads];
  __shared__ float sums[decode_threads];
  const AttentionParams& a = p.attention;
  const int64_t part_size = decode_part_keys(a.s), parts = round_up_quotient(a.s, part_size), group = group_index() / few_rows;
  const int r = int(group_index() % few_rows), t = threadIdx.x;
  const Work w = work_of(B, a, group, few_rows, few_depth);
  if (w.row0 + r >= w.rows) return;
  const KeyRange keys = keys_of(a, w);
  const int64_t first = divide(keys.first, part_size).quotient;
  const int64_t last = smaller(round_up_quotient(keys.last < 0 ? 0 : keys.last, part_size), parts);
  const float* theirs = scratch + group * parts * decode_floats;
  float most = -infinity;
  for (int64_t part = first + t; part < last; part += decode_threads) most = max_f(most, theirs[part * decode_floats + r]);
#pragma unroll
  for (int mask = 1; mask < 32; mask <<= 1) most = max_f(most, __shfl_xor_sync(0xffffffffu, most, mask));
  if ((t & 31) == 0) warp_most[t / 32] = most;
  __syncthreads();
  most = max_f(max_f(warp_most[0], warp_most[1]), max_f(warp_most[2], warp_most[3]));
  const float base = most == -infinity ? 0.0f : most;
  float sum = 0.0f, low = 0.0f, high = 0.0f;
  for (int64_t from = first; from < last; from += decode_threads) {
    const int here = int(smaller(decode_threads, last - from));
    __syncthreads();
    if (t < here) {
      const float* one = theirs + (from + t) * decode_floats;
      scales[t] = one[r] == -infinity ? 0.0f : exp_of(one[r] - base);
      sums[t] = one[few_rows + r] * scales[t];
    }
    __syncthreads();
    const float* values = theirs + from * decode_floats + 2 * few_rows + r * few_depth + t;
    const bool has_low = t < int64_t(a.d), has_high = t + decode_threads < int64_t(a.d);
#pragma unroll 8
    for (int i = 0; i < here; ++i) {
      sum += sums[i];
      if (has_low) low += values[int64_t(i) * decode_floats] * scales[i];
      if (has_high) high += values[int64_t(i) * decode_floats + decode_threads] * scales[i];
    }
  }
  const float low_value = sum == 0.0f ? 0.0f : low / sum, high_value = sum == 0.0f ? 0.0f : high / sum;
  if (t < int64_t(a.d)) finish(B, p, output_number(a, w, w.row0 + r, t), low_value);
  if (t + decode_threads < int64_t(a.d)) finish(B, p, output_number(a, w, w.row0 + r, t + decode_threads), high_value);
}
