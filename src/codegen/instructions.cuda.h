// The scalar instructions of src/core/scalar.def for generated CUDA kernels: NAME_LANE(arguments), lanes f (f32), i (i32),
// u (u32), d (f64), l (i64). Part of kernels' text only; see prelude.cuda.h. Those that are not here have this
// name in src/kernels/scalar/instructions.cpu.h, and the functions of f32 are those of math.cpu.h: the same text, so the
// same bits as on the CPU.

namespace tenon {
namespace gpu {

using namespace cpu;

template <class T>
inline T select_of(uint32_t c, T a, T b) { return c != 0u ? a : b; }

// ----------------------------------------------------------------------------------------------------------- floats

inline float neg_f(float a) { return float_of(bits_of(a) ^ sign_bit); }
inline float abs_f(float a) { return float_of(bits_of(a) & ~sign_bit); }
inline uint32_t eq_f(float a, float b) { return a == b; }
inline uint32_t ne_f(float a, float b) { return a != b; }
inline uint32_t lt_f(float a, float b) { return a < b; }
inline uint32_t le_f(float a, float b) { return a <= b; }
inline float select_f(uint32_t c, float a, float b) { return select_of(c, a, b); }
inline float round_f16_f(float a) { return half_to_float(float_to_half(a)); }
inline float round_bf16_f(float a) { return f32_from_bf16(float_to_bfloat(a)); }
inline int32_t to_i32_f(float a) { return f_to_i32(a); }
inline uint32_t to_u32_f(float a) { return f_to_u32(a); }
inline uint32_t to_bool_f(float a) { return a != 0.0f; }

inline float exp_f(float a) { return exp_f32(a); }
inline float log_f(float a) { return log_f32(a); }
inline float tanh_f(float a) { return tanh_f32(a); }
inline float erf_f(float a) { return erf_f32(a); }

// ---------------------------------------------------------------------------------------------------------- integers

inline int32_t neg_i(int32_t a) { return int32_t(0u - uint32_t(a)); }
inline int32_t abs_i(int32_t a) { return a < 0 ? neg_i(a) : a; }
inline int32_t add_i(int32_t a, int32_t b) { return int32_t(uint32_t(a) + uint32_t(b)); }
inline int32_t sub_i(int32_t a, int32_t b) { return int32_t(uint32_t(a) - uint32_t(b)); }
inline int32_t mul_i(int32_t a, int32_t b) { return int32_t(uint32_t(a) * uint32_t(b)); }
inline int32_t min_i(int32_t a, int32_t b) { return a < b ? a : b; }
inline int32_t max_i(int32_t a, int32_t b) { return a > b ? a : b; }
inline uint32_t eq_i(int32_t a, int32_t b) { return a == b; }
inline uint32_t ne_i(int32_t a, int32_t b) { return a != b; }
inline uint32_t lt_i(int32_t a, int32_t b) { return a < b; }
inline uint32_t le_i(int32_t a, int32_t b) { return a <= b; }
inline int32_t bit_and_i(int32_t a, int32_t b) { return a & b; }
inline int32_t bit_or_i(int32_t a, int32_t b) { return a | b; }
inline int32_t bit_xor_i(int32_t a, int32_t b) { return a ^ b; }
// A negative amount is 32 or more.
inline int32_t shift_left_i(int32_t a, int32_t b) { return uint32_t(b) < 32u ? int32_t(uint32_t(a) << b) : 0; }
inline int32_t floor_div_i(int32_t a, int32_t b) {
  if (b == 0) return 0;
  if (b == -1) return neg_i(a);
  const int32_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}
inline int32_t rem_i(int32_t a, int32_t b) {
  if (b == 0 || b == -1) return 0;
  const int32_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
inline int32_t select_i(uint32_t c, int32_t a, int32_t b) { return select_of(c, a, b); }
inline float to_f32_i(int32_t a) { return float(a); }
inline uint32_t to_u32_i(int32_t a) { return uint32_t(a); }
inline uint32_t to_bool_i(int32_t a) { return a != 0; }
inline int32_t wrap_i8_i(int32_t a) { return int32_t(int8_t(uint8_t(uint32_t(a)))); }

inline uint32_t min_u(uint32_t a, uint32_t b) { return a < b ? a : b; }
inline uint32_t max_u(uint32_t a, uint32_t b) { return a > b ? a : b; }
inline uint32_t eq_u(uint32_t a, uint32_t b) { return a == b; }
inline uint32_t ne_u(uint32_t a, uint32_t b) { return a != b; }
inline uint32_t lt_u(uint32_t a, uint32_t b) { return a < b; }
inline uint32_t le_u(uint32_t a, uint32_t b) { return a <= b; }
inline uint32_t bit_and_u(uint32_t a, uint32_t b) { return a & b; }
inline uint32_t bit_or_u(uint32_t a, uint32_t b) { return a | b; }
inline uint32_t bit_xor_u(uint32_t a, uint32_t b) { return a ^ b; }
inline uint32_t floor_div_u(uint32_t a, uint32_t b) { return b == 0u ? 0u : a / b; }
inline uint32_t rem_u(uint32_t a, uint32_t b) { return b == 0u ? 0u : a % b; }
inline uint32_t select_u(uint32_t c, uint32_t a, uint32_t b) { return select_of(c, a, b); }
inline float to_f32_u(uint32_t a) { return float(a); }
inline int32_t to_i32_u(uint32_t a) { return int32_t(a); }
inline uint32_t to_bool_u(uint32_t a) { return a != 0u; }
inline uint32_t wrap_u8_u(uint32_t a) { return a & 0xffu; }

// Philox4x32-10: J. Salmon, M. Moraes, R. Dror, D. Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
inline uint32_t philox_u(uint32_t low, uint32_t high, uint32_t k0, uint32_t k1, uint32_t stream) {
  uint32_t c0 = low >> 2 | high << 30, c1 = high >> 2, c2 = stream, c3 = 0;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = uint64_t(0xd2511f53u) * c0, q = uint64_t(0xcd9e8d57u) * c2;
    c0 = uint32_t(q >> 32) ^ c1 ^ k0;
    c1 = uint32_t(q);
    c2 = uint32_t(p >> 32) ^ c3 ^ k1;
    c3 = uint32_t(p);
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  const uint32_t word = low & 3u;
  return word == 0u ? c0 : word == 1u ? c1 : word == 2u ? c2 : c3;
}

}  // namespace gpu
}  // namespace tenon
