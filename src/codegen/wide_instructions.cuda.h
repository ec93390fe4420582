// Part of kernels' text: instructions that go through f64, and those on f64 and i64 lanes. See instructions.cuda.h;
// the others are in src/kernels/scalar/wide_instructions.cpu.h and f64_functions.cpu.h.

namespace tenon {
namespace gpu {

inline float floor_f(float a) { return cpu::floor_f(a); }
inline float ceil_f(float a) { return cpu::ceil_f(a); }
inline float trunc_f(float a) { return cpu::trunc_f(a); }
inline float round_f(float a) { return cpu::round_f(a); }
inline float floor_div_f(float a, float b) { return cpu::floor_div_f(a, b); }
inline float rem_f(float a, float b) { return is_large_quotient(a, b) ? rem_large(a, b) : rem_small(a, b); }
inline float exp2_f(float a) { return exp2_f32(a); }
inline float expm1_f(float a) { return expm1_f32(a); }
inline float log1p_f(float a) { return log1p_f32(a); }
inline float log2_f(float a) { return log2_f32(a); }
inline float log10_f(float a) { return log10_f32(a); }
inline float pow_f(float a, float b) { return pow_f32(a, b); }
inline float sin_f(float a) { return is_large_angle(a) ? sin_large(a) : sin_small(a); }
inline float cos_f(float a) { return is_large_angle(a) ? cos_large(a) : cos_small(a); }
inline float tan_f(float a) { return is_large_angle(a) ? tan_large(a) : tan_small(a); }
inline float atan2_f(float a, float b) { return atan2_f32(a, b); }
inline float erfinv_f(float a) { return erfinv_f32(a); }
inline float lgamma_f(float a) { return lgamma_f32(a); }
inline float fma_f(float a, float b, float c) { return fma_f32(a, b, c); }

// -------------------------------------------------------------------------------------------------------------- f64

inline double neg_d(double a) { return wide_of(wide_bits(a) ^ wide_sign); }
inline double abs_d(double a) { return magnitude(a); }
inline uint32_t eq_d(double a, double b) { return a == b; }
inline uint32_t ne_d(double a, double b) { return a != b; }
inline uint32_t lt_d(double a, double b) { return a < b; }
inline uint32_t le_d(double a, double b) { return a <= b; }
inline double exp_d(double a) { return exp(a); }
inline double log_d(double a) { return log(a); }
inline double tanh_d(double a) { return tanh(a); }
inline double erf_d(double a) { return erf(a); }
inline double exp2_d(double a) { return exp2(a); }
inline double expm1_d(double a) { return expm1(a); }
inline double log1p_d(double a) { return log1p(a); }
inline double log2_d(double a) { return log2(a); }
inline double log10_d(double a) { return log10(a); }
inline double pow_d(double a, double b) { return pow(a, b); }
inline double sin_d(double a) { return sin(a); }
inline double cos_d(double a) { return cos(a); }
inline double tan_d(double a) { return tan(a); }
inline double atan2_d(double a, double b) { return atan2(a, b); }
inline double lgamma_d(double a) { return lgamma(a); }
inline double fma_d(double a, double b, double c) { return fma(a, b, c); }
inline double select_d(uint32_t c, double a, double b) { return select_of(c, a, b); }
inline float to_f32_d(double a) { return float(a); }
inline int32_t to_i32_d(double a) { return d_to_i32(a); }
inline uint32_t to_u32_d(double a) { return d_to_u32(a); }
inline int64_t to_i64_d(double a) { return float_to_l(a); }
inline int64_t to_i64_f(float a) { return float_to_l(a); }
inline int64_t to_i64_i(int32_t a) { return i32_to_l(a); }
inline int64_t to_i64_u(uint32_t a) { return u32_to_l(a); }
inline double to_f64_f(float a) { return double(a); }
inline double to_f64_i(int32_t a) { return double(a); }
inline double to_f64_u(uint32_t a) { return double(a); }
inline uint32_t to_bool_d(double a) { return a != 0.0; }

// -------------------------------------------------------------------------------------------------------------- i64

inline int64_t min_l(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max_l(int64_t a, int64_t b) { return a > b ? a : b; }
inline uint32_t eq_l(int64_t a, int64_t b) { return a == b; }
inline uint32_t ne_l(int64_t a, int64_t b) { return a != b; }
inline uint32_t lt_l(int64_t a, int64_t b) { return a < b; }
inline uint32_t le_l(int64_t a, int64_t b) { return a <= b; }
inline int64_t bit_and_l(int64_t a, int64_t b) { return a & b; }
inline int64_t bit_or_l(int64_t a, int64_t b) { return a | b; }
inline int64_t bit_xor_l(int64_t a, int64_t b) { return a ^ b; }
inline int64_t select_l(uint32_t c, int64_t a, int64_t b) { return select_of(c, a, b); }
inline float to_f32_l(int64_t a) { return float(a); }
inline int32_t to_i32_l(int64_t a) { return int32_t(uint32_t(uint64_t(a))); }
inline uint32_t to_u32_l(int64_t a) { return uint32_t(uint64_t(a)); }
inline double to_f64_l(int64_t a) { return double(a); }
inline uint32_t to_bool_l(int64_t a) { return a != 0; }

}  // namespace gpu
}  // namespace tenon
