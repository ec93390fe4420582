// Part of kernels' text, before vector_products.cuda.h: b as plain floats, side by side along k. AStorage, BStorage,
// a_elements(B), b_elements(B), a_value(x), b_value(x), width and vector_width (16 bytes of b) stand before it.

constexpr int unit = 32 * vector_width, x_pieces = vector_width / width, piece_bytes = width * int(sizeof(AStorage));

inline int64_t lane_k(int64_t u) { return u * unit + (threadIdx.x & 31) * vector_width; }
inline bool is_inside(const Factors& f, int64_t u) { return lane_k(u) < f.k; }

// Rows of whole accesses.
inline bool is_fast(const Buffers& B, const Factors& f) {
  const bool a = f.a_col == 1 && (uint64_t(a_elements(B) + f.a) & (piece_bytes - 1)) == 0;
  const bool b = (uint64_t(b_elements(B) + f.b) & 15) == 0 && f.b_col % vector_width == 0;
  return a && b && f.k % vector_width == 0;
}

struct XBits {
  Bits<piece_bytes> piece[x_pieces];
};
template <bool fast>
inline XBits load_x(const Buffers& B, const Factors& f, int64_t u, bool inside) {
  const int64_t k = inside ? lane_k(u) : 0;
  XBits bits;
  if constexpr (fast) {
#pragma unroll
    for (int i = 0; i < x_pieces; ++i) bits.piece[i] = *reinterpret_cast<const Bits<piece_bytes>*>(a_elements(B) + f.a + k + i * width);
  } else {
    AStorage each[vector_width];
#pragma unroll
    for (int e = 0; e < vector_width; ++e) each[e] = k + e < f.k ? a_elements(B)[f.a + (k + e) * f.a_col] : AStorage(0);
    __builtin_memcpy(&bits, each, sizeof(bits));
  }
  return bits;
}
inline void values_of_x(const XBits& bits, bool, float (&x)[vector_width]) {
  AStorage each[vector_width];
  __builtin_memcpy(&each, &bits, sizeof(bits));
#pragma unroll
  for (int e = 0; e < vector_width; ++e) x[e] = a_value(each[e]);
}

using RawBits = Bits<16>;
template <bool fast>
inline RawBits load_raw(const Buffers& B, const Factors& f, int64_t n, int64_t u, bool inside) {
  const int64_t k = inside ? lane_k(u) : 0;
  const BStorage* from = b_elements(B) + f.b + n * f.b_col + k;
  RawBits bits;
  if constexpr (fast) {
    bits = *reinterpret_cast<const Bits<16>*>(from);
  } else {
    BStorage each[vector_width];
#pragma unroll
    for (int e = 0; e < vector_width; ++e) each[e] = k + e < f.k ? from[e] : BStorage(0);
    __builtin_memcpy(&bits, each, sizeof(bits));
  }
  return bits;
}
inline float dot_unit(const RawBits& bits, bool inside, const float (&x)[vector_width], float sum) {
  BStorage each[vector_width];
  __builtin_memcpy(&each, &bits, sizeof(bits));
  float more = sum;
#pragma unroll
  for (int e = 0; e < vector_width; ++e) more = fmaf(x[e], b_value(each[e]), more);
  return inside ? more : sum;
}
