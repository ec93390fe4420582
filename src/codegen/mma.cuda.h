// Part of kernels' text: matrix products on tensor cores (mma.sync, from compute capability 8.0). out[m,n] is the sum over k of
// a[m,k] * b[n,k], in f32, in steps of 16 from k = 0 on: the size of tiles does not change a bit of it.
//
// Before it stand Buffers, finish() and `is_f16`, whether the units multiply f16 and not bf16. An operand comes as a type F:
//   F::parts          1: its elements are what the units multiply. 2: each is the sum of two bf16, which keeps 16 bits
//   F::raw(B)         one part: where its elements begin
//   F::fetch(B, i, count, out)   two parts: `count` elements, up to 8, as f32, and zeros behind them
// Products of low parts with each other are left out. An infinite b that meets an `a` of two parts gives NaN, not infinity.

namespace mma {

// --------------------------------------------------------------------------------------------- instructions, and twins
// Twins for the host do what the instructions do, by shuffles.

#if defined(TENON_STANDIN)
using Place = uint8_t*;  // in shared memory
inline Place place_of(void* p) { return reinterpret_cast<uint8_t*>(p); }
inline void copy_chunk(Place to, const uint16_t* from, int bytes) {
  for (int i = 0; i < 8; ++i) reinterpret_cast<uint16_t*>(to)[i] = 2 * i < bytes ? from[i] : uint16_t(0);
}
inline void commit_copies() {}
template <int pending>
inline void wait_for_copies() {}
inline void store_chunk_at(Place to, const Bits<16>& x) { *reinterpret_cast<Bits<16>*>(to) = x; }
template <bool transposed>
inline void load_matrices(Place from, uint32_t (&out)[4]) {
  const int lane = threadIdx.x & 31;
  for (int i = 0; i < 4; ++i) {
    const int row = i * 8 + (transposed ? lane % 4 * 2 : lane / 4), column = transposed ? lane / 4 : lane % 4 * 2;
    const auto* first = reinterpret_cast<const uint16_t*>(__shfl_sync(0xffffffffu, uint64_t(from), row));
    const auto* second = reinterpret_cast<const uint16_t*>(__shfl_sync(0xffffffffu, uint64_t(from), row + (transposed ? 1 : 0)));
    out[i] = uint32_t(first[column]) | uint32_t(second[column + (transposed ? 0 : 1)]) << 16;
  }
}
inline float twin_value(uint64_t word, int i) {
  const uint16_t h = uint16_t(word >> (16 * i));
  return is_f16 ? f32_from_f16(h) : f32_from_bf16(h);
}
inline void multiply_add(float (&acc)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  const int lane = threadIdx.x & 31;
  for (int q = 0; q < 4; ++q) {
    const uint64_t rows[2] = {__shfl_sync(0xffffffffu, uint64_t(a[2]) << 32 | a[0], lane / 4 * 4 + q),
                              __shfl_sync(0xffffffffu, uint64_t(a[3]) << 32 | a[1], lane / 4 * 4 + q)};
    for (int c = 0; c < 2; ++c) {
      const uint64_t column = __shfl_sync(0xffffffffu, uint64_t(b1) << 32 | b0, (lane % 4 * 2 + c) * 4 + q);
      for (int r = 0; r < 2; ++r)
        for (int i = 0; i < 4; ++i) acc[2 * r + c] = fmaf(twin_value(rows[r], i), twin_value(column, i), acc[2 * r + c]);
    }
  }
}
#else
using Place = uint32_t;
inline Place place_of(void* p) { return uint32_t(__cvta_generic_to_shared(p)); }
// 16 bytes, of which `bytes` come from memory and the rest are zero; in the background.
inline void copy_chunk(Place to, const uint16_t* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending>
inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
inline void store_chunk_at(Place to, const Bits<16>& x) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}
// Four 8 x 8 matrices of 16-bit elements; lane 8 * i + r says where row r of matrix i lies.
template <bool transposed>
inline void load_matrices(Place from, uint32_t (&out)[4]) {
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(from) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(from) : "memory");
}
inline void multiply_add(float (&acc)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (is_f16)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif

// ---------------------------------------------------------------------------------------------------------- operands

constexpr int threads = 256, tile_k = 32;

struct Matrix {  // of `rows` (those of out, or its columns) by k
  int64_t rows, k;  // k below 2^31
  int64_t start;   // number of its first element
  int64_t stride;  // from a row to the next, where elements along k lie side by side; else from a k to the next
};

// High and low part. The high one is cut off, not rounded: of finite values only those within 2^-17 of the largest become
// infinite, where the low part is rounded.
inline void split(float x, uint32_t& high, uint32_t& low) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const float rest = x - __builtin_bit_cast(float, bits & 0xffff0000u);
  high = bits >> 16;
  low = (bits & 0x7fffffffu) == 0x7f800000u ? 0u : uint32_t(float_to_bfloat(rest));
}

// A tile of an operand, `size` rows by 32, in shared memory: chunks of 8 elements that lie side by side in memory, 4 to
// a row of the tile, or size / 8 to each k. They are swizzled so that the eight that a load of matrices reads at once
// lie in different banks. An object is what a thread needs to read its chunks of one tile after the other along k.
template <class F, bool by_k, int size>
struct Tile {
  static constexpr int each = size * tile_k / 8 / threads, part_bytes = size * tile_k * 2, bytes = F::parts * part_bytes;
  static constexpr int apart = part_bytes / each;  // bytes from one of a thread's chunks to its next one

  int64_t at;       // number of the first element of chunk 0
  int64_t leap;     // from chunk 0 to chunk 1
  int64_t advance;  // from a tile to the next
  int left[each];   // elements of a chunk that exist: those along k still to come, or the width
  int k;            // not by_k: those of chunk 0 still to come, along k
  int place;        // of chunk 0
  bool aligned;

  Tile(const Buffers& B, const Matrix& x, int64_t row0) {
    const int number = int(threadIdx.x);
    if constexpr (by_k) {
      const int row = number / 4, c = number % 4;
      at = x.start + (row0 + row) * x.stride + c * 8;
      leap = threads / 4 * x.stride;
      advance = tile_k;
      for (int i = 0; i < each; ++i) left[i] = row0 + row + i * (threads / 4) < x.rows ? int(x.k) - c * 8 : 0;
      place = row * 64 + ((c ^ (row >> 1 & 3)) << 4);
    } else {
      constexpr int wide = size / 8;
      const int row = number / wide, c = number % wide;
      at = x.start + row * x.stride + row0 + c * 8;
      leap = threads / wide * x.stride;
      advance = tile_k * x.stride;
      left[0] = int(smaller(x.rows - row0 - c * 8, 8));
      k = int(x.k) - row;
      place = row * size * 2 + ((c ^ (row & 7)) << 4);
    }
    if constexpr (F::parts == 1) aligned = (uint64_t(F::raw(B) + x.start) & 15) == 0 && (x.stride & 7) == 0;
  }

  int count(int i) const {
    const int n = by_k ? left[i] : k > i * (threads / (size / 8)) ? left[0] : 0;
    return n < 0 ? 0 : n > 8 ? 8 : n;
  }
  void go_on() {
    at += advance;
    if constexpr (by_k) {
#pragma unroll
      for (int i = 0; i < each; ++i) left[i] -= tile_k;
    } else {
      k -= tile_k;
    }
  }

  // Operands of one part go straight to shared memory.
  void copy(const Buffers& B, Place to) {
    const uint16_t* raw = F::raw(B);
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int n = count(i);
      const uint16_t* from = raw + at + i * leap;
      if (aligned) {
        copy_chunk(to + place + i * apart, n ? from : raw, n * 2);
        continue;
      }
      uint16_t out[8];
#pragma unroll
      for (int e = 0; e < 8; ++e) out[e] = e < n ? from[e] : uint16_t(0);
      Bits<16> bits;
      __builtin_memcpy(&bits, &out, 16);
      store_chunk_at(to + place + i * apart, bits);
    }
    go_on();
  }

  // Those of two wait in registers.
  void fetch(const Buffers& B, float (&held)[each][8]) {
#pragma unroll
    for (int i = 0; i < each; ++i) F::fetch(B, at + i * leap, count(i), held[i]);
    go_on();
  }
  void put(const float (&held)[each][8], Place to) const {
#pragma unroll
    for (int i = 0; i < each; ++i) {
      uint32_t high[4], low[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        uint32_t h[2], l[2];
        split(held[i][2 * e], h[0], l[0]);
        split(held[i][2 * e + 1], h[1], l[1]);
        high[e] = h[0] | h[1] << 16;
        low[e] = l[0] | l[1] << 16;
      }
      store_chunk_at(to + place + i * apart, {high[0], high[1], high[2], high[3]});
      store_chunk_at(to + part_bytes + place + i * apart, {low[0], low[1], low[2], low[3]});
    }
  }

  // Four matrices, 16 rows from `row` on by 16 from 16 * step on: with `rows_first` the second one is 8 rows further on
  // and the third one 8 along k, else the other way round.
  template <bool rows_first>
  static void load(Place from, int row, int step, uint32_t (&out)[4]) {
    const int lane = threadIdx.x & 31, i = lane / 8, r = lane % 8;
    const int half_row = rows_first ? i & 1 : i >> 1, half_k = rows_first ? i >> 1 : i & 1;
    if constexpr (by_k) {
      const int at = row + half_row * 8 + r, c = step * 2 + half_k;
      load_matrices<false>(from + at * 64 + ((c ^ (at >> 1 & 3)) << 4), out);
    } else {
      const int k = step * 16 + half_k * 8 + r, c = row / 8 + half_row;
      load_matrices<true>(from + k * size * 2 + ((c ^ (k & 7)) << 4), out);
    }
  }
};

// ----------------------------------------------------------------------------------------------------------- product

using SharedChunk = Bits<16>;

// A tile of out, size x size, that begins at m0 and n0: eight warps, each half of its rows by a quarter of its columns.
template <class A, bool a_by_k, class W, bool b_by_k, int size>
inline void product(const Buffers& B, const Params& p, const Matrix& a, const Matrix& b, int64_t m0, int64_t n0, int64_t out, int64_t out_row) {
  using TileA = Tile<A, a_by_k, size>;
  using TileB = Tile<W, b_by_k, size>;
  constexpr int slot_bytes = TileA::bytes + TileB::bytes, slots = slot_bytes > 16384 ? 2 : 4;
  constexpr int high = size / 32, wide = size / 32, most = A::parts > W::parts ? A::parts : W::parts;
  extern __shared__ SharedChunk shared[];
  const Place memory = place_of(shared);
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  const int first_row = warp / 4 * (size / 2), first_column = warp % 4 * (size / 4);
  float acc[high][wide][4] = {};
  float held_a[TileA::each][8], held_b[TileB::each][8];

  TileA tile_a(B, a, m0);
  TileB tile_b(B, b, n0);
  const int steps = (int(a.k) + tile_k - 1) / tile_k;
  const auto begin_load = [&](int step) {
    const Place slot = memory + step % slots * slot_bytes;
    if (step < steps) {
      if constexpr (A::parts == 1) tile_a.copy(B, slot);
      else tile_a.fetch(B, held_a);
      if constexpr (W::parts == 1) tile_b.copy(B, slot + TileA::bytes);
      else tile_b.fetch(B, held_b);
    }
    commit_copies();
  };
  const auto end_load = [&](int step) {
    const Place slot = memory + step % slots * slot_bytes;
    if (step >= steps) return;
    if constexpr (A::parts == 2) tile_a.put(held_a, slot);
    if constexpr (W::parts == 2) tile_b.put(held_b, slot + TileA::bytes);
  };

#pragma unroll
  for (int s = 0; s + 1 < slots; ++s) begin_load(s), end_load(s);
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<slots - 2>();
    __syncthreads();  // this step has come, and the slot of the one before is free
    begin_load(step + slots - 1);
    __syncwarp();  // lanes that loads led apart must be together for what follows
    const Place slot = memory + step % slots * slot_bytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t y[W::parts][(wide + 1) / 2][4];
#pragma unroll
      for (int part = 0; part < W::parts; ++part)
#pragma unroll
        for (int j = 0; j < wide / 2; ++j)
          TileB::template load<false>(slot + TileA::bytes + part * TileB::part_bytes, first_column + j * 16, half, y[part][j]);
#pragma unroll
      for (int part = A::parts - 1; part >= 0; --part) {
        uint32_t x[high][4];
#pragma unroll
        for (int i = 0; i < high; ++i) TileA::template load<true>(slot + part * TileA::part_bytes, first_row + i * 16, half, x[i]);
#pragma unroll
        for (int other = W::parts - 1; other >= 0; --other)
          if (part + other < most)
#pragma unroll
            for (int i = 0; i < high; ++i)
#pragma unroll
              for (int j = 0; j < wide; ++j)
                multiply_add(acc[i][j], x[i], y[other][j / 2][j % 2 * 2], y[other][j / 2][j % 2 * 2 + 1]);
      }
    }
    end_load(step + slots - 1);
  }

  // Through shared memory, so that neighbouring threads finish neighbouring elements.
  wait_for_copies<0>();
  __syncthreads();
  float* results = reinterpret_cast<float*>(shared);
#pragma unroll
  for (int i = 0; i < high; ++i)
#pragma unroll
    for (int j = 0; j < wide; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = first_row + i * 16 + lane / 4 + e / 2 * 8, column = first_column + j * 8 + lane % 4 * 2 + e % 2;
        results[row * size + (column ^ (row & 7) << 3)] = acc[i][j][e];
      }
  __syncthreads();
#pragma unroll 4
  for (int at = threadIdx.x; at < size * size; at += threads) {
    const int row = at / size, column = at % size;
    if (m0 + row < a.rows && n0 + column < b.rows)
      finish(B, p, out + (m0 + row) * out_row + n0 + column, results[row * size + (column ^ (row & 7) << 3)]);
  }
}

// Adds to the numbers of the factors' first elements what a batch moves them by.
inline void move_to_batch(const MatmulParams& q, int64_t batch, Matrix& a, Matrix& b) {
  for (int i = 2; i >= 0; --i) {
    const Quotient place = divide(batch, q.batch[i]);
    a.start += place.rest * q.a_batch[i];
    b.start += place.rest * q.b_batch[i];
    batch = place.quotient;
  }
}

// Up to 8 elements as f32.
template <class T, class Convert>
inline void fetch_elements(const T* from, int count, float (&out)[8], Convert convert) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    T raw[4];
    load_chunk<4>(from + 4 * half, count - 4 * half > 4 ? 4 : count - 4 * half, raw);
#pragma unroll
    for (int e = 0; e < 4; ++e) out[4 * half + e] = convert(raw[e]);
  }
}

// Eight elements from i on, which is a multiple of 8, of quantised blocks; their sizes are even. `format`: 80, 40 or 41.
template <int format>
inline void fetch_quantised(const uint8_t* base, int64_t i, int count, float (&out)[8]) {
  constexpr int block_bytes = format == 80 ? 34 : format == 40 ? 18 : 20;
  const auto pair = [](const uint8_t* at) { return uint32_t(*reinterpret_cast<const uint16_t*>(at)); };
  if (count == 0) {
#pragma unroll
    for (int e = 0; e < 8; ++e) out[e] = 0.0f;
    return;
  }
  const uint8_t* block = base + (i >> 5) * block_bytes;
  const int first = int(i & 31);
  const float scale = half_to_float(uint16_t(pair(block))), least = format == 41 ? half_to_float(uint16_t(pair(block + 2))) : 0.0f;
  const uint8_t* quants = block + (format == 41 ? 4 : 2) + (format == 80 ? first : first & 15);
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const uint32_t two = pair(quants + 2 * e);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const uint32_t byte = two >> (8 * h) & 255u, nibble = first < 16 ? byte & 15u : byte >> 4;
      if (format == 80) out[2 * e + h] = scale * float(int8_t(uint8_t(byte)));
      else if (format == 40) out[2 * e + h] = scale * float(int(nibble) - 8);
      else out[2 * e + h] = scale * float(nibble) + least;
    }
  }
}

}  // namespace mma
