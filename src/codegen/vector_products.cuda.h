// Part of kernels' text: products of one row. Before it stand Buffers, finish(), and
//   unit, the stretch along k that a warp reads at once, 8 or fewer elements to a lane
//   x_unit(B, f, u, x)      this lane's elements of a's unit u, 0 behind the end
//   Raw raw_unit(B, f, n, u)  the bits of this lane's elements of column n of b
//   dot_unit(raw, x, sum)   sum + their products
// Teams of warps share k, and their sums are added in order: how is a function of sizes alone. A warp keeps a stretch of
// the row in registers and goes with it over its columns, so that only b's memory is waited for.

constexpr int units_at_once = 4;

// As vector_shape() in products.cpp.
inline int warps_of_column(int64_t n, int64_t units) {
  int warps = 1;
  while (warps < 8 && n * warps < 4096 && units >= 8 * warps) warps *= 2;
  return warps;
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
  for (int64_t u0 = first; u0 < last; u0 += units_at_once) {
    float x[units_at_once][unit / 32];
#pragma unroll
    for (int i = 0; i < units_at_once; ++i) x_unit(B, f, u0 + i < last ? u0 + i : units, x[i]);
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      if (n0 + c >= f.n) break;
      Raw raw[units_at_once] = {};
#pragma unroll
      for (int i = 0; i < units_at_once; ++i)
        if (u0 + i < last) raw[i] = raw_unit(B, f, n0 + c, u0 + i);
#pragma unroll
      for (int i = 0; i < units_at_once; ++i) sum[c] = dot_unit(raw[i], x[i], sum[c]);
    }
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
