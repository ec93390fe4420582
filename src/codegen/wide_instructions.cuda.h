// Part of kernels' text: instructions that go through f64, and those on f64 and i64 lanes. See instructions.cuda.h.

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
inline double add_d(double a, double b) { return a + b; }
inline double sub_d(double a, double b) { return a - b; }
inline double mul_d(double a, double b) { return a * b; }
inline double div_d(double a, double b) { return a / b; }
inline double min_d(double a, double b) {
  uint64_t r = a < b ? wide_bits(a) : wide_bits(b);
  r = a == b ? wide_bits(a) | wide_bits(b) : r;
  return wide_of(a != a ? wide_bits(a) : r);
}
inline double max_d(double a, double b) {
  uint64_t r = a > b ? wide_bits(a) : wide_bits(b);
  r = a == b ? wide_bits(a) & wide_bits(b) : r;
  return wide_of(a != a ? wide_bits(a) : r);
}
inline uint32_t eq_d(double a, double b) { return a == b; }
inline uint32_t ne_d(double a, double b) { return a != b; }
inline uint32_t lt_d(double a, double b) { return a < b; }
inline uint32_t le_d(double a, double b) { return a <= b; }
inline double sqrt_d(double a) { return __builtin_sqrt(a); }
inline double rsqrt_d(double a) { return 1.0 / __builtin_sqrt(a); }
inline double floor_d(double a) { return floor(a); }
inline double ceil_d(double a) { return ceil(a); }
inline double trunc_d(double a) { return trunc(a); }
inline double round_d(double a) { return rint(a); }
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
inline double with_sign(double size, double sign) { return wide_of((wide_bits(size) & ~wide_sign) | (wide_bits(sign) & wide_sign)); }
// With the sign of the divisor; fmod is exact.
inline double rem_d(double a, double b) {
  const double r = fmod(a, b);
  if (r == 0.0) return with_sign(0.0, b);
  return (r < 0.0) != (b < 0.0) ? r + b : r;
}
// What is left of a above a multiple of b makes the quotient an integer, up to rounding.
inline double floor_div_d(double a, double b) {
  const double q = a / b;
  if (b == 0.0 || magnitude(b) == wide_infinity || !(magnitude(q) < wide_infinity)) return floor(q);
  const double r = fmod(a, b), whole = rint((a - r) / b);
  if (r != 0.0 && (r < 0.0) != (b < 0.0)) return whole - 1.0;
  return whole == 0.0 ? with_sign(0.0, q) : whole;
}
// Halley's method on erf, or on erfc where that is more exact, from Winitzki's approximation (2008).
inline double erfinv_d(double x) {
  const double a = magnitude(x), half_root_pi = 0.88622692545275801365;
  if (!(a < 1.0)) return a == 1.0 ? with_sign(wide_infinity, x) : x != x ? x : __builtin_nan("");
  if (a < 1e-8) return x * half_root_pi;
  const double l = log((1.0 - a) * (1.0 + a)), t = 4.33 + l / 2.0;
  double y = sqrt(sqrt(t * t - l / 0.147) - t);
  for (int step = 0; step < 4; ++step) {
    const double error = a < 0.5 ? erf(y) - a : (1.0 - a) - erfc(y);
    const double newton = error * half_root_pi * exp(y * y);
    y -= newton / (1.0 + y * newton);
  }
  return with_sign(y, x);
}
inline double select_d(uint32_t c, double a, double b) { return select_of(c, a, b); }
inline float to_f32_d(double a) { return float(a); }
inline int32_t to_i32_d(double a) {
  const double low = a > -0x1p31 ? a : -0x1p31;  // NaN too
  return a != a ? 0 : int32_t(low < 0x1.fffffffcp30 ? low : 0x1.fffffffcp30);
}
inline uint32_t to_u32_d(double a) {
  const double low = a > 0.0 ? a : 0.0;
  return uint32_t(int64_t(low < 0x1.fffffffep31 ? low : 0x1.fffffffep31));
}
inline int64_t to_i64_d(double a) {
  const double low = a > -0x1p63 ? a : -0x1p63;
  const int64_t r = int64_t(low < 0x1p63 ? low : 0.0);
  return a != a ? 0 : low < 0x1p63 ? r : 0x7fffffffffffffff;
}
inline uint32_t to_bool_d(double a) { return a != 0.0; }

// -------------------------------------------------------------------------------------------------------------- i64

inline int64_t neg_l(int64_t a) { return int64_t(uint64_t(0) - uint64_t(a)); }
inline int64_t abs_l(int64_t a) { return a < 0 ? neg_l(a) : a; }
inline int64_t add_l(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
inline int64_t sub_l(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }
inline int64_t mul_l(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
inline int64_t min_l(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max_l(int64_t a, int64_t b) { return a > b ? a : b; }
inline uint32_t eq_l(int64_t a, int64_t b) { return a == b; }
inline uint32_t ne_l(int64_t a, int64_t b) { return a != b; }
inline uint32_t lt_l(int64_t a, int64_t b) { return a < b; }
inline uint32_t le_l(int64_t a, int64_t b) { return a <= b; }
inline int64_t bit_and_l(int64_t a, int64_t b) { return a & b; }
inline int64_t bit_or_l(int64_t a, int64_t b) { return a | b; }
inline int64_t bit_xor_l(int64_t a, int64_t b) { return a ^ b; }
inline int64_t shift_left_l(int64_t a, int64_t b) { return uint64_t(b) < 64u ? int64_t(uint64_t(a) << b) : 0; }
inline int64_t shift_right_l(int64_t a, int64_t b) { return a >> (uint64_t(b) < 63u ? b : 63); }
inline int64_t floor_div_l(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return neg_l(a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
inline int64_t rem_l(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
inline int64_t select_l(uint32_t c, int64_t a, int64_t b) { return select_of(c, a, b); }
inline float to_f32_l(int64_t a) { return float(a); }
inline int32_t to_i32_l(int64_t a) { return int32_t(uint32_t(uint64_t(a))); }
inline uint32_t to_u32_l(int64_t a) { return uint32_t(uint64_t(a)); }
inline double to_f64_l(int64_t a) { return double(a); }
inline uint32_t to_bool_l(int64_t a) { return a != 0; }

}  // namespace gpu
}  // namespace tenon
