// Part of kernels' text: the positions that sort rows, stable. Before it stand Buffers; Pattern, the unsigned integer
// of an element's size; Key, an unsigned integer of 4 or 8 bytes; key_bytes, those of an element; the constants
// is_real, is_signed, descending and, of real numbers, infinity_bits.
//
// Rows of at most `tile` elements: a bitonic network in shared memory (K. Batcher, 1968) over keys and positions,
// several short rows to a group. Longer rows: radix sort from the lowest byte (Knuth, vol. 3, 5.2.5), for each byte the
// counts of every tile, their sums over the tiles, and the moves.

constexpr int tile = 2048, digits = 256;
constexpr Key all_bits = key_bytes == int(sizeof(Key)) ? ~Key(0) : (Key(1) << (8 * key_bytes % (8 * sizeof(Key)))) - 1;
constexpr Key top_bit = Key(1) << (8 * key_bytes - 1);

// In the order of the values: zeros are equal, NaN is the greatest.
inline Key ordered(Key bits) {
  if (is_signed) return bits ^ top_bit;
  if (!is_real) return bits;
  const Key size = bits & (top_bit - 1);
  if (size > infinity_bits) return all_bits;
  if (size == 0) return top_bit;
  return bits & top_bit ? ~bits & all_bits : bits | top_bit;
}

inline Key key_at(const Buffers& B, const SortParams& q, int64_t row, int64_t i) {
  const Quotient place = divide(row, q.rows);
  const int64_t at = place.quotient * int64_t(q.x_outer) + place.rest * int64_t(q.x_row) + i * int64_t(q.x_step);
  const Key key = ordered(reinterpret_cast<const Pattern*>(B.b0)[at]);
  return descending ? key ^ all_bits : key;
}

inline int64_t rows_of(const SortParams& q) { return int64_t(q.outer) * int64_t(q.rows); }

// ------------------------------------------------------------------------------------------------------ short rows

inline bool comes_before(Key a, uint32_t a_position, Key b, uint32_t b_position) {
  return a < b || (a == b && a_position < b_position);
}

inline void sort_short(const Buffers& B, const SortParams& q) {
  __shared__ Key keys[tile];
  __shared__ uint32_t positions[tile];
  const int64_t rows = rows_of(q);
  const int n = int(int64_t(q.n));
  int size = 1;  // of a row and what fills it up
  while (size < n) size *= 2;
  const int64_t first_row = group_index() * (tile / size);
  for (int at = threadIdx.x; at < tile; at += 256) {
    const int64_t row = first_row + at / size;
    const int i = at & (size - 1);
    const bool inside = i < n && row < rows;
    keys[at] = inside ? key_at(B, q, row, i) : all_bits;
    positions[at] = inside ? uint32_t(i) : 0xffffffffu;
  }
  for (int run = 2; run <= size; run *= 2)
    for (int gap = run / 2; gap > 0; gap /= 2) {
      __syncthreads();
      for (int pair = threadIdx.x; pair < tile / 2; pair += 256) {
        const int a = 2 * pair - (pair & (gap - 1)), b = a + gap;
        const bool rising = (a & (size - 1) & run) == 0;
        const Key x = keys[a], y = keys[b];
        const uint32_t i = positions[a], j = positions[b];
        if (comes_before(y, j, x, i) == rising) {
          keys[a] = y, keys[b] = x;
          positions[a] = j, positions[b] = i;
        }
      }
    }
  __syncthreads();
  for (int at = threadIdx.x; at < tile; at += 256) {
    const int64_t row = first_row + at / size;
    const int i = at & (size - 1);
    if (i < n && row < rows) B.b1[row * n + i] = positions[at];
  }
}

// ------------------------------------------------------------------------------------------------------- long rows

// A launch's scratch. Pass p writes to the arrays p % 2, the last one to the output.
struct Room {
  Key* keys[2];            // [rows, n] each
  uint32_t* positions[2];  // likewise
  uint32_t* counts;        // [rows, digits, tiles]
  uint32_t* totals;        // [rows, digits]
};
constexpr int arrays = key_bytes > 3 ? 2 : key_bytes - 1;

inline Room room_of(const SortParams& q, uint8_t* scratch) {
  const int64_t rows = rows_of(q), all = rows * int64_t(q.n);
  Room room = {};
  for (int i = 0; i < arrays; ++i, scratch += all * int64_t(sizeof(Key)))
    room.keys[i] = reinterpret_cast<Key*>(scratch);
  for (int i = 0; i < arrays; ++i, scratch += all * 4) room.positions[i] = reinterpret_cast<uint32_t*>(scratch);
  room.counts = reinterpret_cast<uint32_t*>(scratch);
  room.totals = room.counts + rows * digits * round_up_quotient(q.n, tile);
  return room;
}

template <int pass>
inline Key key_in(const Buffers& B, const SortParams& q, const Room& room, int64_t row, int64_t i) {
  return pass == 0 ? key_at(B, q, row, i) : room.keys[(pass + 1) % 2][row * int64_t(q.n) + i];
}

template <int pass>
inline uint32_t digit(Key key) { return uint32_t(key >> (8 * pass)) & 255u; }

template <int pass>
inline void count_digits(const Buffers& B, const SortParams& q, uint8_t* scratch) {
  __shared__ uint32_t counts[digits];
  const Room room = room_of(q, scratch);
  const int64_t tiles = round_up_quotient(q.n, tile);
  const Quotient place = divide(group_index(), tiles);
  if (place.quotient >= rows_of(q)) return;
  counts[threadIdx.x] = 0;
  __syncthreads();
  const int64_t last = smaller((place.rest + 1) * tile, q.n);
  for (int64_t i = place.rest * tile + threadIdx.x; i < last; i += 256)
    atomicAdd(&counts[digit<pass>(key_in<pass>(B, q, room, place.quotient, i))], 1u);
  __syncthreads();
  room.counts[(place.quotient * digits + threadIdx.x) * tiles + place.rest] = counts[threadIdx.x];
}

// Sums of v over the lanes up to the own one.
inline uint32_t sum_up_to(uint32_t v) {
#pragma unroll
  for (int by = 1; by < 32; by <<= 1) {
    const uint32_t before = __shfl_up_sync(0xffffffffu, v, by);
    if ((threadIdx.x & 31) >= by) v += before;
  }
  return v;
}

// A warp for each row and digit: counts become those of the tiles before.
inline void add_up_counts(const SortParams& q, uint8_t* scratch) {
  const Room room = room_of(q, scratch);
  const int64_t tiles = round_up_quotient(q.n, tile), number = group_index() * 8 + threadIdx.x / 32;
  const int lane = threadIdx.x & 31;
  if (number >= rows_of(q) * digits) return;
  uint32_t* counts = room.counts + number * tiles;
  uint32_t before = 0;
  for (int64_t first = 0; first < tiles; first += 32) {
    const bool inside = first + lane < tiles;
    const uint32_t own = inside ? counts[first + lane] : 0u, sum = sum_up_to(own);
    if (inside) counts[first + lane] = before + sum - own;
    before += __shfl_sync(0xffffffffu, sum, 31);
  }
  if (lane == 0) room.totals[number] = before;
}

// Sum of v over the threads of the group before the own one.
inline uint32_t sum_before(uint32_t v) {
  __shared__ uint32_t sums[8];
  const int warp = threadIdx.x / 32;
  const uint32_t own = sum_up_to(v);
  if ((threadIdx.x & 31) == 31) sums[warp] = own;
  __syncthreads();
  uint32_t before = own - v;
  for (int w = 0; w < warp; ++w) before += sums[w];
  __syncthreads();
  return before;
}

// Each warp takes 256 neighbours, 32 at a time, and counts its digits as it goes; so items with the same digit keep
// their order.
template <int pass>
inline void move_items(const Buffers& B, const SortParams& q, uint8_t* scratch) {
  __shared__ uint32_t seen[8 * digits];  // of each warp
  __shared__ uint32_t starts[digits];
  const Room room = room_of(q, scratch);
  const int64_t n = q.n, tiles = round_up_quotient(n, tile);
  const Quotient place = divide(group_index(), tiles);
  const int64_t row = place.quotient, begin = row * n;
  if (row >= rows_of(q)) return;
  const int t = threadIdx.x, lane = t & 31;
  uint32_t* mine = seen + t / 32 * digits;
  for (int i = t; i < 8 * digits; i += 256) seen[i] = 0;
  __syncthreads();
  Key keys[8];
  uint32_t ranks[8];
  const int64_t first = place.rest * tile + t / 32 * 256 + lane;
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    const bool inside = first + r * 32 < n;
    keys[r] = inside ? key_in<pass>(B, q, room, row, first + r * 32) : 0;
    const uint32_t d = digit<pass>(keys[r]);
    uint32_t same = __ballot_sync(0xffffffffu, inside);
#pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
      const bool set = (d >> bit & 1u) != 0u;
      const uint32_t setting = __ballot_sync(0xffffffffu, set);
      same &= set ? setting : ~setting;
    }
    const uint32_t lower = same & ((1u << lane) - 1u);
    ranks[r] = mine[d] + uint32_t(__popc(lower));
    __syncwarp();
    if (inside && lower == 0u) mine[d] += uint32_t(__popc(same));
    __syncwarp();
  }
  __syncthreads();
  // Now a thread is a digit.
  uint32_t before = 0;
  for (int w = 0; w < 8; ++w) {
    const uint32_t count = seen[w * digits + t];
    seen[w * digits + t] = before;
    before += count;
  }
  const int64_t number = row * digits + t;
  starts[t] = sum_before(room.totals[number]) + room.counts[number * tiles + place.rest];
  __syncthreads();
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    const int64_t i = first + r * 32;
    if (i >= n) break;
    const uint32_t d = digit<pass>(keys[r]);
    const int64_t to = begin + int64_t(starts[d] + mine[d] + ranks[r]);
    const uint32_t position = pass == 0 ? uint32_t(i) : room.positions[(pass + 1) % 2][begin + i];
    if (pass + 1 == key_bytes) {
      B.b1[to] = position;
    } else {
      room.keys[pass % 2][to] = keys[r];
      room.positions[pass % 2][to] = position;
    }
  }
}
