// Part of kernels' text, before vector_products.cuda.h: b as quantised rows. As in quant_products.cuda.h four lanes share a
// block of 32. Small integers become floats by the bits of 2^23 + q, which is exact and needs no conversion; the scale
// multiplies a lane's eight products together.

constexpr int unit = 256, block_bytes = format == 80 ? 34 : format == 40 ? 18 : 20;

inline void x_unit(const Buffers& B, const Factors& f, int64_t u, float (&x)[8]) {
  const int64_t block = u * 8 + (threadIdx.x & 31) / 4;
  if (block * 32 < f.k) {
    eight_activations(B, f.a + block * 32, threadIdx.x & 3, x);
  } else {
#pragma unroll
    for (int e = 0; e < 8; ++e) x[e] = 0.0f;
  }
}

struct Raw {
  uint32_t low, high;  // quants
  uint32_t scale;      // f16, and the minimum in f16 above it
};
inline Raw raw_unit(const Buffers& B, const Factors& f, int64_t n, int64_t u) {
  const int64_t block = u * 8 + (threadIdx.x & 31) / 4;
  Raw raw = {0u, 0u, 0u};
  if (block * 32 >= f.k) return raw;
  const uint8_t* start = weights_of(B) + (n * (f.k / 32) + block) * block_bytes;
  const uint8_t* q = start + (format == 41 ? 4 : 2) + (threadIdx.x & 3) * (format == 80 ? 8 : 4);
  raw.scale = pair_at(start);
  if (format == 41) raw.scale |= pair_at(start + 2) << 16;
  raw.low = pair_at(q) | pair_at(q + 2) << 16;
  if (format == 80) raw.high = pair_at(q + 4) | pair_at(q + 6) << 16;
  return raw;
}

// Byte `e` of `bytes`, less `zero`.
inline float byte_value(uint32_t bytes, int e, float zero) {
  return __builtin_bit_cast(float, 0x4b000000u | (bytes >> (8 * e) & 255u)) - (8388608.0f + zero);
}

inline float dot_unit(const Raw& raw, const float (&x)[8], float sum) {
  // Bytes count from -128, or are halves of four bits.
  const uint32_t low = format == 80 ? raw.low ^ 0x80808080u : raw.low & 0x0f0f0f0fu;
  const uint32_t high = format == 80 ? raw.high ^ 0x80808080u : raw.low >> 4 & 0x0f0f0f0fu;
  const float zero = format == 80 ? 128.0f : format == 40 ? 8.0f : 0.0f;
  float dot = 0.0f, total = 0.0f;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    dot = fmaf(x[e], byte_value(low, e, zero), dot);
    dot = fmaf(x[4 + e], byte_value(high, e, zero), dot);
    if (format == 41) total += x[e] + x[4 + e];
  }
  sum = fmaf(low_half(raw.scale), dot, sum);
  return format == 41 ? fmaf(low_half(raw.scale >> 16), total, sum) : sum;
}
