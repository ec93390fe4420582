// Lanes of a register as values of their type, loops over them, and the instructions that are the same on every type.
// A register is an array of words; a lane of 8 bytes takes two.
// Only for the translation units of loop_table.cpu.h: internal linkage, nothing of std::.
#pragma once
#include "kernels/scalar/loops.cpu.h"
#include "kernels/scalar/math.cpu.h"

// Iterations do not depend on each other. `out` may be one of the arguments, so restrict would be a lie, and without
// this the test for overlap that a compiler adds would send that case to a loop without SIMD.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // said where sanitizers or -O0 keep a loop as it is
#define TENON_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TENON_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace tenon::cpu {
namespace {

typedef uint64_t WideLane __attribute__((aligned(4), may_alias));

template <class T>
TENON_LOOP_INLINE T lane_as(uint32_t x) { return __builtin_bit_cast(T, x); }
template <class T>
TENON_LOOP_INLINE uint32_t lane_of(T x) { return __builtin_bit_cast(uint32_t, x); }
template <class T>
TENON_LOOP_INLINE T lane_at(const uint32_t* x, int64_t i) {
  if constexpr (sizeof(T) == 8) return __builtin_bit_cast(T, uint64_t(reinterpret_cast<const WideLane*>(x)[i]));
  else return lane_as<T>(x[i]);
}
template <class T>
TENON_LOOP_INLINE void set_lane(uint32_t* x, int64_t i, T v) {
  if constexpr (sizeof(T) == 8) reinterpret_cast<WideLane*>(x)[i] = __builtin_bit_cast(uint64_t, v);
  else x[i] = lane_of(v);
}

template <auto f>
struct Loop;
template <class R, class A, R (*f)(A)>
struct Loop<f> {
  static void run(uint32_t* out, const uint32_t* const* args, int64_t n) {
    const uint32_t* a = args[0];
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) set_lane<R>(out, i, f(lane_at<A>(a, i)));
  }
};
template <class R, class A, class B, R (*f)(A, B)>
struct Loop<f> {
  static void run(uint32_t* out, const uint32_t* const* args, int64_t n) {
    const uint32_t *a = args[0], *b = args[1];
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) set_lane<R>(out, i, f(lane_at<A>(a, i), lane_at<B>(b, i)));
  }
};
template <class R, class A, class B, class C, R (*f)(A, B, C)>
struct Loop<f> {
  static void run(uint32_t* out, const uint32_t* const* args, int64_t n) {
    const uint32_t *a = args[0], *b = args[1], *c = args[2];
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) set_lane<R>(out, i, f(lane_at<A>(a, i), lane_at<B>(b, i), lane_at<C>(c, i)));
  }
};
template <auto f>
constexpr ScalarLoop loop = &Loop<f>::run;

// ------------------------------------------------------------------------------------------------ instructions

template <class T>
TENON_LOOP_INLINE T min_of(T a, T b) { return a < b ? a : b; }
template <class T>
TENON_LOOP_INLINE T max_of(T a, T b) { return a > b ? a : b; }
template <class T>
TENON_LOOP_INLINE uint32_t eq_of(T a, T b) { return a == b; }
template <class T>
TENON_LOOP_INLINE uint32_t ne_of(T a, T b) { return a != b; }
template <class T>
TENON_LOOP_INLINE uint32_t lt_of(T a, T b) { return a < b; }
template <class T>
TENON_LOOP_INLINE uint32_t le_of(T a, T b) { return a <= b; }
template <class T>
TENON_LOOP_INLINE T and_of(T a, T b) { return a & b; }
template <class T>
TENON_LOOP_INLINE T or_of(T a, T b) { return a | b; }
template <class T>
TENON_LOOP_INLINE T xor_of(T a, T b) { return a ^ b; }
template <class T>
TENON_LOOP_INLINE T select_of(uint32_t c, T a, T b) { return c != 0u ? a : b; }
template <class T>
TENON_LOOP_INLINE T same(T a) { return a; }

}  // namespace
}  // namespace tenon::cpu
