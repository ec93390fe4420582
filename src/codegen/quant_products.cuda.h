// Part of kernels' text: products of few rows with quantised weights, a warp for each row of weights. Four lanes share a
// block of 32: of 4-bit weights each takes four bytes, whose low halves are four neighbours and whose high halves are the
// four 16 further on; of 8-bit ones eight neighbours. `format` is 80, 40 or 41,
// weights_of(B) where the weights begin.

inline uint32_t pair_at(const uint8_t* p) { return *reinterpret_cast<const uint16_t*>(p); }  // blocks have even sizes
inline float low_half(uint32_t x) { return half_to_float(uint16_t(x)); }

// The eight weights of lane `part` in a block, in the order of the activations of eight_activations().
inline void eight_weights(const uint8_t* block, int part, float (&w)[8]) {
  const float scale = low_half(pair_at(block));
  if (format == 80) {
    const uint8_t* q = block + 2 + part * 8;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t two = pair_at(q + 2 * i);
      w[2 * i] = scale * float(int8_t(uint8_t(two)));
      w[2 * i + 1] = scale * float(int8_t(uint8_t(two >> 8)));
    }
    return;
  }
  const uint8_t* q = block + (format == 40 ? 2 : 4) + part * 4;
  const uint32_t bytes = pair_at(q) | pair_at(q + 2) << 16;
  const float least = format == 41 ? low_half(pair_at(block + 2)) : 0.0f;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int low = int(bytes >> (8 * i) & 15u), high = int(bytes >> (8 * i + 4) & 15u);
    w[i] = format == 40 ? scale * float(low - 8) : scale * float(low) + least;
    w[4 + i] = format == 40 ? scale * float(high - 8) : scale * float(high) + least;
  }
}

inline void eight_activations(const Buffers& B, int64_t block_start, int part, float (&x)[8]) {
  float a[4], b[4];
  const int64_t first = block_start + (format == 80 ? part * 8 : part * 4);
  chunk_a(B, first, 4, a);
  chunk_a(B, first + (format == 80 ? 4 : 16), 4, b);
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = a[i], x[4 + i] = b[i];
}

template <int rows>
inline void quant_column(const Buffers& B, const Params& p, int64_t row, int64_t column) {
  constexpr int block_bytes = format == 80 ? 34 : format == 40 ? 18 : 20;
  const QuantMatmulParams& q = p.quant_matmul;
  const int lane = threadIdx.x & 31, part = lane & 3;
  const int64_t blocks = int64_t(q.k) / 32, m_count = q.m;
  const uint8_t* weights = weights_of(B) + row * blocks * block_bytes;
  float acc[rows] = {};
#pragma unroll 2
  for (int64_t block = lane / 4; block < blocks; block += 8) {
    float w[8];
    eight_weights(weights + block * block_bytes, part, w);
#pragma unroll
    for (int m = 0; m < rows; ++m) {
      if (m >= m_count) break;
      float x[8];
      eight_activations(B, m * int64_t(q.x_row) + block * 32, part, x);
#pragma unroll
      for (int e = 0; e < 8; ++e) acc[m] = fmaf(x[e], w[e], acc[m]);
    }
  }
#pragma unroll
  for (int m = 0; m < rows; ++m) {
    if (m >= m_count) break;
#pragma unroll
    for (int mask = 1; mask < 32; mask <<= 1) {
      const float other = __shfl_xor_sync(0xffffffffu, acc[m], mask);
      acc[m] = lane & mask ? other + acc[m] : acc[m] + other;
    }
    if (lane == 0) finish(B, p, m * int64_t(q.n) + column, acc[m]);
  }
}
