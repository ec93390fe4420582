// Part of kernels' text, before vector_products.cuda.h: b as quantised rows. As in quant_products.cuda.h four lanes share a
// block of 32. Small integers become floats by the bits of 2^23 + q, which is exact and needs no conversion; the scale
// multiplies a lane's eight products together. AStorage, a_elements(B) and a_value(x) stand before it.

constexpr int unit = 256, block_bytes = format == 80 ? 34 : format == 40 ? 18 : 20;

inline int64_t lane_block(int64_t u) { return u * 8 + (threadIdx.x & 31) / 4; }
inline bool is_inside(const Factors& f, int64_t u) { return lane_block(u) * 32 < f.k; }
constexpr int piece_bytes = 4 * int(sizeof(AStorage));
inline bool is_fast(const Buffers& B, const Factors& f) { return (uint64_t(a_elements(B) + f.a) & (piece_bytes - 1)) == 0; }

// Eight elements, in two pieces of neighbours.
struct XBits {
  Bits<piece_bytes> piece[2];
};
template <bool fast>
inline XBits load_x(const Buffers& B, const Factors& f, int64_t u, bool inside) {
  const AStorage* from = a_elements(B) + f.a + (inside ? lane_block(u) * 32 : 0) + (threadIdx.x & 3) * (format == 80 ? 8 : 4);
  XBits bits;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const AStorage* piece = from + i * (format == 80 ? 4 : 16);
    if constexpr (fast) bits.piece[i] = *reinterpret_cast<const Bits<piece_bytes>*>(piece);
    else __builtin_memcpy(&bits.piece[i], piece, piece_bytes);
  }
  return bits;
}
inline void values_of_x(const XBits& bits, bool inside, float (&x)[8]) {
  AStorage each[8];
  __builtin_memcpy(&each, &bits, sizeof(bits));
#pragma unroll
  for (int e = 0; e < 8; ++e) x[e] = inside ? a_value(each[e]) : 0.0f;
}

struct RawBits {
  uint16_t quants[format == 80 ? 4 : 2];
  uint16_t scale, least;  // f16
};
template <bool fast>
inline RawBits load_raw(const Buffers& B, const Factors& f, int64_t n, int64_t u, bool inside) {
  const uint8_t* block = weights_of(B) + (n * (f.k / 32) + (inside ? lane_block(u) : 0)) * block_bytes;  // of even size
  const uint8_t* q = block + (format == 41 ? 4 : 2) + (threadIdx.x & 3) * (format == 80 ? 8 : 4);
  RawBits raw;
  raw.scale = *reinterpret_cast<const uint16_t*>(block);
  raw.least = format == 41 ? *reinterpret_cast<const uint16_t*>(block + 2) : uint16_t(0);
#pragma unroll
  for (int i = 0; i < (format == 80 ? 4 : 2); ++i) raw.quants[i] = *reinterpret_cast<const uint16_t*>(q + 2 * i);
  return raw;
}

// Byte `e` of `bytes`, less `zero`.
inline float byte_value(uint32_t bytes, int e, float zero) {
  return __builtin_bit_cast(float, 0x4b000000u | (bytes >> (8 * e) & 255u)) - (8388608.0f + zero);
}

inline float dot_unit(const RawBits& raw, bool inside, const float (&x)[8], float sum) {
  const uint32_t first = raw.quants[0] | uint32_t(raw.quants[1]) << 16;
  const uint32_t second = format == 80 ? raw.quants[format == 80 ? 2 : 0] | uint32_t(raw.quants[format == 80 ? 3 : 1]) << 16 : first >> 4;
  // Bytes count from -128, or are halves of four bits.
  const uint32_t low = format == 80 ? first ^ 0x80808080u : first & 0x0f0f0f0fu;
  const uint32_t high = format == 80 ? second ^ 0x80808080u : second & 0x0f0f0f0fu;
  const float zero = format == 80 ? 128.0f : format == 40 ? 8.0f : 0.0f;
  float dot = 0.0f, total = 0.0f;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    dot = fmaf(x[e], byte_value(low, e, zero), dot);
    dot = fmaf(x[4 + e], byte_value(high, e, zero), dot);
    if (format == 41) total += x[e] + x[4 + e];
  }
  float more = fmaf(half_to_float(raw.scale), dot, sum);
  if (format == 41) more = fmaf(half_to_float(raw.least), total, more);
  return inside ? more : sum;
}
