// Part of kernels' text: matrix products. Before it stand Buffers, finish(), and of the two factors
//   load_a(B, i), load_b(B, i)   an element as f32
//   chunk_a(B, i, count, out), chunk_b(...)   up to `width` elements that lie side by side in memory, as f32
// Products are summed in f32 by fused multiply-adds, in an order that sizes alone decide.

struct Factors {  // of one product: out[m,n] = sum over k of a[m,k] * b[k,n]
  int64_t m, n, k;
  int64_t a, a_row, a_col;  // element offsets and strides
  int64_t b, b_row, b_col;
  int64_t out, out_row;     // number of the first output element, and from a row to the next
};

// ------------------------------------------------------------------------------- tiles: 64 x 64, each thread 4 x 4

constexpr int tile = 64, tile_k = 16, tile_pitch = tile + 4;

inline void tile_product(const Buffers& B, const Params& p, const Factors& f, int64_t m0, int64_t n0) {
  __shared__ float sa[tile_k * tile_pitch];
  __shared__ float sb[tile_k * tile_pitch];
  const int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4;
  // Who loads what: neighbouring threads read neighbouring memory.
  const bool a_by_k = f.a_col == 1 || f.a_row != 1, b_by_k = f.b_row == 1 || f.b_col != 1;
  float acc[4][4] = {};
  for (int64_t k0 = 0; k0 < f.k; k0 += tile_k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = t + i * 256;
      const int ak = a_by_k ? at % tile_k : at / tile, am = a_by_k ? at / tile_k : at % tile;
      const int bk = b_by_k ? at % tile_k : at / tile, bn = b_by_k ? at / tile_k : at % tile;
      sa[ak * tile_pitch + am] = m0 + am < f.m && k0 + ak < f.k ? load_a(B, f.a + (m0 + am) * f.a_row + (k0 + ak) * f.a_col) : 0.0f;
      sb[bk * tile_pitch + bn] = n0 + bn < f.n && k0 + bk < f.k ? load_b(B, f.b + (n0 + bn) * f.b_col + (k0 + bk) * f.b_row) : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile_k; ++k) {
      float x[4], y[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) x[i] = sa[k * tile_pitch + row + i], y[i] = sb[k * tile_pitch + column + i];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] = fmaf(x[i], y[j], acc[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (m0 + row + i < f.m && n0 + column + j < f.n) finish(B, p, f.out + (m0 + row + i) * f.out_row + n0 + column + j, acc[i][j]);
}

// ------------------------------------------------------- few rows, b contiguous along k: a warp for each column of b

template <int rows>
inline void column_product(const Buffers& B, const Params& p, const Factors& f, int64_t n) {
  const int lane = threadIdx.x & 31;
  float acc[rows] = {};
  for (int64_t k = lane * width; k < f.k; k += 32 * width) {
    const int count = int(smaller(width, f.k - k));
    float y[width];
    chunk_b(B, f.b + n * f.b_col + k, count, y);
#pragma unroll
    for (int m = 0; m < rows; ++m) {
      if (m >= f.m) break;
      float x[width];
      if (f.a_col == 1) {
        chunk_a(B, f.a + m * f.a_row + k, count, x);
      } else {
#pragma unroll
        for (int e = 0; e < width; ++e) x[e] = e < count ? load_a(B, f.a + m * f.a_row + (k + e) * f.a_col) : 0.0f;
      }
#pragma unroll
      for (int e = 0; e < width; ++e)
        if (e < count) acc[m] = fmaf(x[e], y[e], acc[m]);
    }
  }
#pragma unroll
  for (int m = 0; m < rows; ++m) {
    if (m >= f.m) break;
#pragma unroll
    for (int mask = 1; mask < 32; mask <<= 1) {
      const float other = __shfl_xor_sync(0xffffffffu, acc[m], mask);
      acc[m] = lane & mask ? other + acc[m] : acc[m] + other;
    }
    if (lane == 0) finish(B, p, f.out + m * f.out_row + n, acc[m]);
  }
}

// ------------------------------------- few rows, b contiguous along n: 32 columns to a group, k over its eight warps

template <int rows>
inline void side_product(const Buffers& B, const Params& p, const Factors& f, int64_t n0) {
  __shared__ float parts[8 * 32 * rows];
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  const int64_t n = n0 + lane, each = round_up_quotient(f.k, 8), first = warp * each, last = smaller(first + each, f.k);
  float acc[rows] = {};
  if (n < f.n)
    for (int64_t k = first; k < last; ++k) {
      const float y = load_b(B, f.b + k * f.b_row + n * f.b_col);
#pragma unroll
      for (int m = 0; m < rows; ++m)
        if (m < f.m) acc[m] = fmaf(load_a(B, f.a + m * f.a_row + k * f.a_col), y, acc[m]);
    }
#pragma unroll
  for (int m = 0; m < rows; ++m) parts[(m * 8 + warp) * 32 + lane] = acc[m];
  __syncthreads();
  if (warp < rows && warp < f.m && n < f.n) {
    float sum = parts[warp * 8 * 32 + lane];
    for (int w = 1; w < 8; ++w) sum += parts[(warp * 8 + w) * 32 + lane];
    finish(B, p, f.out + warp * f.out_row + n, sum);
  }
}
