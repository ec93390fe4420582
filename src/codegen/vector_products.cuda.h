// Part of kernels' text: products of one row. Before it stand Buffers, finish(), and
//   unit                        the stretch along k that a warp reads at once; unit / 32 elements to a lane
//   XBits, RawBits              bits of a lane's elements of a and of b, as they are loaded
//   load_x<fast>(B, f, u, inside), load_raw<fast>(B, f, n, u, inside)
//   values_of_x(bits, x)        a's elements as f32
//   dot_unit(raw, inside, x, sum)   sum + their products, or `sum` where they are not inside
//   is_fast(B, f)               whether loads of whole accesses may be used
// Loads only load: what unpacks their bits comes when all of a step's loads are on their way.
//
// Teams of warps share k, and their sums are added in order: how is a function of sizes alone. A warp keeps a stretch of
// the row in registers and goes with it over its columns, so that only b's memory is waited for.

constexpr int units_at_once = 4;

// As vector_shape() in products.cpp.
inline int warps_of_column(int64_t n, int64_t units) {
  int warps = 1;
  while (warps < 8 && n * warps < 4096 && units >= 8 * warps) warps *= 2;
  return warps;
}

template <bool fast, int columns>
inline void dot_columns(const Buffers& B, const Factors& f, int64_t n0, int64_t first, int64_t last, float (&sum)[columns]) {
  for (int64_t u0 = first; u0 < last; u0 += units_at_once) {
    bool inside[units_at_once];
    XBits x_bits[units_at_once];
    RawBits raw[2][units_at_once];
#pragma unroll
    for (int i = 0; i < units_at_once; ++i) inside[i] = u0 + i < last && is_inside(f, u0 + i);
#pragma unroll
    for (int i = 0; i < units_at_once; ++i) x_bits[i] = load_x<fast>(B, f, u0 + i, inside[i]);
#pragma unroll
    for (int i = 0; i < units_at_once; ++i) raw[0][i] = load_raw<fast>(B, f, n0, u0 + i, inside[i]);
    float x[units_at_once][unit / 32];
#pragma unroll
    for (int i = 0; i < units_at_once; ++i) values_of_x(x_bits[i], inside[i], x[i]);
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      // The next column's weights are on their way meanwhile; behind the last column those of the last.
      if (c + 1 < columns) {
        const int64_t n = smaller(n0 + c + 1, f.n - 1);
#pragma unroll
        for (int i = 0; i < units_at_once; ++i) raw[(c + 1) % 2][i] = load_raw<fast>(B, f, n, u0 + i, inside[i]);
      }
#pragma unroll
      for (int i = 0; i < units_at_once; ++i) sum[c] = dot_unit(raw[c % 2][i], inside[i], x[i], sum[c]);
    }
  }
}

// `shared_n`: columns that the whole launch has, of which this product's `f.n` are a part; `group` counts within those.
template <int columns>
inline void vector_product(const Buffers& B, const Params& p, const Factors& f, int64_t shared_n, int64_t group) {
  __shared__ float parts[8 * columns];
  const int64_t units = round_up_quotient(f.k, unit);
  const int warps = warps_of_column(shared_n, units), teams = 8 / warps, lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  const int64_t n0 = (group * teams + warp / warps) * columns, each = round_up_quotient(units, warps);
  const int64_t first = warp % warps * each, last = smaller(first + each, units);
  float sum[columns] = {};
  if (n0 < f.n) {
    if (is_fast(B, f)) dot_columns<true>(B, f, n0, first, last, sum);
    else dot_columns<false>(B, f, n0, first, last, sum);
  }
#pragma unroll
  for (int c = 0; c < columns; ++c) {
#pragma unroll
    for (int mask = 1; mask < 32; mask <<= 1) sum[c] += __shfl_xor_sync(0xffffffffu, sum[c], mask);
    if (lane == c) parts[warp * columns + c] = sum[c];
  }
  __syncthreads();
  if (warp % warps != 0 || lane >= columns || n0 + lane >= f.n) return;
  float all = parts[warp * columns + lane];
  for (int w = 1; w < warps; ++w) all += parts[(warp + w) * columns + lane];
  finish(B, p, f.out + n0 + lane, all);
}
