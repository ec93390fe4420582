// The functions of CUDA's device library that need no header there: maths, conversions, bits.
#pragma once

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

#define SI_MATH1(n)                                \
  extern "C" float n##f(float) noexcept;           \
  extern "C" double n(double) noexcept;            \
  inline float n(float x) { return n##f(x); }
SI_MATH1(exp) SI_MATH1(exp2) SI_MATH1(expm1) SI_MATH1(log) SI_MATH1(log2) SI_MATH1(log10) SI_MATH1(log1p) SI_MATH1(sqrt)
SI_MATH1(cbrt) SI_MATH1(sin) SI_MATH1(cos) SI_MATH1(tan) SI_MATH1(asin) SI_MATH1(acos) SI_MATH1(atan) SI_MATH1(sinh)
SI_MATH1(cosh) SI_MATH1(tanh) SI_MATH1(asinh) SI_MATH1(acosh) SI_MATH1(atanh) SI_MATH1(erf) SI_MATH1(erfc) SI_MATH1(lgamma)
SI_MATH1(tgamma)
SI_MATH1(floor) SI_MATH1(ceil) SI_MATH1(trunc) SI_MATH1(round) SI_MATH1(rint) SI_MATH1(nearbyint) SI_MATH1(fabs)
#define SI_MATH2(n)                                       \
  extern "C" float n##f(float, float) noexcept;           \
  extern "C" double n(double, double) noexcept;           \
  inline float n(float x, float y) { return n##f(x, y); }
SI_MATH2(pow) SI_MATH2(fmod) SI_MATH2(atan2) SI_MATH2(fmax) SI_MATH2(fmin) SI_MATH2(hypot) SI_MATH2(copysign)
SI_MATH2(remainder) SI_MATH2(nextafter)
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double fma(double, double, double) noexcept;
extern "C" float ldexpf(float, int) noexcept;
extern "C" double ldexp(double, int) noexcept;
extern "C" int abs(int) noexcept;
inline float fma(float a, float b, float c) { return fmaf(a, b, c); }
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
template <class T>
inline bool isnan(T x) { return __builtin_isnan(x); }
template <class T>
inline bool isinf(T x) { return __builtin_isinf(x); }
template <class T>
inline bool isfinite(T x) { return __builtin_isfinite(x); }

inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

inline int __float_as_int(float f) { return si_bits<int>(f); }
inline unsigned __float_as_uint(float f) { return si_bits<unsigned>(f); }
inline float __int_as_float(int i) { return si_bits<float>(i); }
inline float __uint_as_float(unsigned i) { return si_bits<float>(i); }
inline long long __double_as_longlong(double d) { return si_bits<long long>(d); }
inline double __longlong_as_double(long long i) { return si_bits<double>(i); }

// The device's conversions saturate, and NaN gives 0.
template <class To>
inline To si_saturate(double v, double low, double high) {
  return v != v ? To(0) : v <= low ? To(low) : v >= high ? To(high) : To(v);
}
inline int __float2int_rz(float f) { return si_saturate<int>(truncf(f), -2147483648.0, 2147483647.0); }
inline int __float2int_rn(float f) { return si_saturate<int>(rintf(f), -2147483648.0, 2147483647.0); }
inline unsigned __float2uint_rz(float f) { return si_saturate<unsigned>(truncf(f), 0.0, 4294967295.0); }
inline unsigned __float2uint_rn(float f) { return si_saturate<unsigned>(rintf(f), 0.0, 4294967295.0); }
inline int __double2int_rz(double f) { return si_saturate<int>(trunc(f), -2147483648.0, 2147483647.0); }
inline float __int2float_rn(int i) { return (float)i; }
inline float __uint2float_rn(unsigned i) { return (float)i; }
inline float __double2float_rn(double d) { return (float)d; }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= (x >> i & 1) << (31 - i);
  return r;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
inline int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) c += (int)(int8_t)(a >> 8 * i) * (int)(int8_t)(b >> 8 * i);
  return c;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  const uint64_t v = (uint64_t)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) r |= (unsigned)(v >> 8 * (s >> 4 * i & 7) & 0xFF) << 8 * i;
  return r;
}
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned by) {
  return (unsigned)(((uint64_t)hi << 32 | lo) << (by & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned by) {
  return (unsigned)(((uint64_t)hi << 32 | lo) >> (by & 31));
}

#define SI_MINMAX(R, A, B)                                      \
  inline R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }  \
  inline R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
SI_MINMAX(int, int, int)
SI_MINMAX(unsigned, unsigned, unsigned)
SI_MINMAX(unsigned, int, unsigned)
SI_MINMAX(unsigned, unsigned, int)
SI_MINMAX(long, long, long)
SI_MINMAX(unsigned long, unsigned long, unsigned long)
SI_MINMAX(long long, long long, long long)
SI_MINMAX(unsigned long long, unsigned long long, unsigned long long)
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
