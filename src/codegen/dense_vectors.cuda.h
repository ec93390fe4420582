// Part of kernels' text, before vector_products.cuda.h: b as plain floats, side by side along k. `BStorage`, b_elements(B),
// b_value(x) and vector_width (16 bytes of b) stand before it, and chunk_a() as in products.cuda.h.

constexpr int unit = 32 * vector_width;

inline void x_unit(const Buffers& B, const Factors& f, int64_t u, float (&x)[vector_width]) {
  const int64_t k = u * unit + (threadIdx.x & 31) * vector_width;
#pragma unroll
  for (int e = 0; e < vector_width; e += width) {
    const int count = k + e >= f.k ? 0 : int(smaller(width, f.k - k - e));
    float part[width];
    if (f.a_col == 1) {
      chunk_a(B, f.a + k + e, count, part);
    } else {
#pragma unroll
      for (int i = 0; i < width; ++i) part[i] = i < count ? load_a(B, f.a + (k + e + i) * f.a_col) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < width; ++i) x[e + i] = i < count ? part[i] : 0.0f;
  }
}

struct Raw {
  BStorage value[vector_width];
};
inline Raw raw_unit(const Buffers& B, const Factors& f, int64_t n, int64_t u) {
  const int64_t k = u * unit + (threadIdx.x & 31) * vector_width;
  Raw raw;
  load_chunk<vector_width>(b_elements(B) + f.b + n * f.b_col + k, k >= f.k ? 0 : int(smaller(vector_width, f.k - k)), raw.value);
  return raw;
}
inline float dot_unit(const Raw& raw, const float (&x)[vector_width], float sum) {
#pragma unroll
  for (int e = 0; e < vector_width; ++e) sum = fmaf(x[e], b_value(raw.value[e]), sum);
  return sum;
}
