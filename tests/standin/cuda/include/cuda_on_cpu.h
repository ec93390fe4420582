// CUDA C++ kernel text as C++ of the host: qualifiers, indices, vector types, barriers, warp operations, atomics. The
// stand-in rewrites declarations of shared memory to SI_SHARED and adds SI_ENTRY for each kernel; see kernel_text.h.
#pragma once
#include "standin_abi.h"

#define TENON_STANDIN 1
#define __CUDA_ARCH__ 750
#define __global__
#define __device__
#define __host__
#define __constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) alignas(n)
#define __grid_constant__
#define warpSize 32
#define threadIdx (si_s.tid)
#define blockIdx (si_s.bid)
#define blockDim (si_s.bdim)
#define gridDim (si_s.gdim)

static thread_local si_state si_s;
extern "C" {
const si_api* si_rt;  // set by the stand-in when it opens the file
si_state* si_get_state() { return &si_s; }
}

// The variable `key` is one per declaration (and instance of a template): it names the array within a block.
#define SI_SHARED(T, name, dims)                   \
  using si_type_##name = T dims;                   \
  static const char si_key_##name = 0;             \
  si_type_##name& name = *(si_type_##name*)si_rt->shared(&si_key_##name, sizeof(si_type_##name));

template <class To, class From>
inline To si_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
template <class T>
inline uint64_t si_pack(T v) {
  static_assert(sizeof(T) <= 8, "values of warp operations have at most 8 bytes");
  uint64_t u = 0;
  __builtin_memcpy(&u, &v, sizeof v);
  return u;
}
template <class T>
inline T si_unpack(uint64_t u) {
  T v;
  __builtin_memcpy((void*)&v, &u, sizeof v);
  return v;
}

// ------------------------------------------------------------------------------------------------------ vector types
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef si_u3 uint3;
#define SI_VECTORS(T, N, A2, A4)                                        \
  struct alignas(A2) N##2 { T x, y; };                                  \
  struct alignas(A4) N##4 { T x, y, z, w; };                            \
  inline N##2 make_##N##2(T x, T y) { return {x, y}; }                  \
  inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SI_VECTORS(float, float, 8, 16)
SI_VECTORS(int, int, 8, 16)
SI_VECTORS(unsigned, uint, 8, 16)
SI_VECTORS(signed char, char, 2, 4)
SI_VECTORS(unsigned char, uchar, 2, 4)
SI_VECTORS(short, short, 4, 8)
SI_VECTORS(unsigned short, ushort, 4, 8)
SI_VECTORS(double, double, 16, 16)
SI_VECTORS(long long, longlong, 16, 16)
SI_VECTORS(unsigned long long, ulonglong, 16, 16)

// --------------------------------------------------------------------------------------- barriers and warp operations
#define SI_LINE int line = __builtin_LINE()
inline void si_fold_shuffle(const uint64_t* in, const int* src, uint64_t* out, unsigned mask) {
  for (int i = 0; i < 32; ++i) {
    if (!(mask >> i & 1)) continue;
    if (!(mask >> src[i] & 1)) {
      si_rt->fail("a shuffle reads a lane that takes no part", 0);
      return;
    }
    out[i] = in[src[i]];
  }
}
inline void si_fold_ballot(const uint64_t* in, const int*, uint64_t* out, unsigned mask) {
  uint64_t ballot = 0;
  for (int i = 0; i < 32; ++i)
    if (mask >> i & 1) ballot |= (in[i] & 1) << i;
  for (int i = 0; i < 32; ++i) out[i] = ballot;
}
inline void si_fold_nothing(const uint64_t*, const int*, uint64_t*, unsigned) {}

inline void __syncthreads(SI_LINE) { si_rt->barrier(line); }
inline void __syncwarp(unsigned mask = ~0u, SI_LINE) { si_rt->warp(mask, 0, 0, si_fold_nothing, line); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() {}
template <class T>
inline T si_shuffle(unsigned mask, T v, int from, int line) {
  return si_unpack<T>(si_rt->warp(mask, si_pack(v), from, si_fold_shuffle, line));
}
template <class T>
inline T __shfl_sync(unsigned mask, T v, int from, int width = 32, SI_LINE) {
  const int lane = (int)si_s.lane;
  return si_shuffle(mask, v, (lane & ~(width - 1)) | (from & (width - 1)), line);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T v, int x, int width = 32, SI_LINE) {
  const int lane = (int)si_s.lane, from = lane ^ x;
  return si_shuffle(mask, v, from >= (lane & ~(width - 1)) + width ? lane : from, line);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32, SI_LINE) {
  const int lane = (int)si_s.lane;
  return si_shuffle(mask, v, (lane & (width - 1)) + (int)by < width ? lane + (int)by : lane, line);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32, SI_LINE) {
  const int lane = (int)si_s.lane;
  return si_shuffle(mask, v, (lane & (width - 1)) >= (int)by ? lane - (int)by : lane, line);
}
inline unsigned __ballot_sync(unsigned mask, int p, SI_LINE) {
  return (unsigned)si_rt->warp(mask, p != 0, 0, si_fold_ballot, line);
}
inline int __any_sync(unsigned mask, int p, SI_LINE) { return __ballot_sync(mask, p, line) != 0; }
inline int __all_sync(unsigned mask, int p, SI_LINE) { return __ballot_sync(mask, !p, line) == 0; }
inline void __trap() { si_rt->fail("__trap()", 0); }

// ----------------------------------------------------------------------------------------------------------- atomics
// Blocks of one launch run one after the other, on one thread of the system.
#define SI_ATOMIC(T)                                                                       \
  inline T atomicAdd(T* p, T v) { T old = *p; *p = old + v; return old; }                  \
  inline T atomicSub(T* p, T v) { T old = *p; *p = old - v; return old; }                  \
  inline T atomicExch(T* p, T v) { T old = *p; *p = v; return old; }                       \
  inline T atomicMax(T* p, T v) { T old = *p; if (v > old) *p = v; return old; }           \
  inline T atomicMin(T* p, T v) { T old = *p; if (v < old) *p = v; return old; }           \
  inline T atomicCAS(T* p, T is, T v) { T old = *p; if (old == is) *p = v; return old; }
#define SI_ATOMIC_BITS(T)                                                                  \
  SI_ATOMIC(T)                                                                             \
  inline T atomicAnd(T* p, T v) { T old = *p; *p = old & v; return old; }                  \
  inline T atomicOr(T* p, T v) { T old = *p; *p = old | v; return old; }                   \
  inline T atomicXor(T* p, T v) { T old = *p; *p = old ^ v; return old; }
SI_ATOMIC_BITS(int)
SI_ATOMIC_BITS(unsigned)
SI_ATOMIC_BITS(unsigned long long)
SI_ATOMIC(float)

// ------------------------------------------------------------------------------------------------------------ memory
template <class T>
inline T __ldg(const T* p) { return *p; }
template <class T>
inline T __ldcs(const T* p) { return *p; }
template <class T>
inline void __stcs(T* p, T v) { *p = v; }

// ------------------------------------------------------------------------------------------------------------- entry
// A kernel is called with addresses of its parameters, as cuLaunchKernel gets them.
template <size_t... I>
struct si_indices {};
template <size_t N, size_t... I>
struct si_count : si_count<N - 1, N - 1, I...> {};
template <size_t... I>
struct si_count<0, I...> {
  typedef si_indices<I...> type;
};
template <class T>
struct si_plain { typedef T type; };
template <class T>
struct si_plain<const T> { typedef T type; };
template <auto F>
struct si_entry;
template <class... A, void (*F)(A...)>
struct si_entry<F> {
  template <size_t... I>
  static void unpack(void** p, si_indices<I...>) { F(*(typename si_plain<A>::type*)p[I]...); }
  static void call(void** p) { unpack(p, typename si_count<sizeof...(A)>::type()); }
  static constexpr unsigned sizes[] = {unsigned(sizeof(A))..., 0};
};
#define SI_ENTRY(symbol, kernel) \
  extern "C" const si_kernel symbol = {si_entry<&kernel>::call, si_entry<&kernel>::sizes, sizeof(si_entry<&kernel>::sizes) / 4 - 1};

#include "cuda_math.h"
