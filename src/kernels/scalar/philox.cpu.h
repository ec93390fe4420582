// Philox4x32-10: J. Salmon, M. Moraes, R. Dror, D. Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
// Only for the translation units of loop_table.cpu.h: internal linkage, nothing of std::.
#pragma once
#include "kernels/scalar/vectors.cpu.h"

namespace tenon::cpu {
namespace {

// Counter in, words out. Each element is a 64-bit word whose upper half is ignored, so that the widening product, which
// SIMD has for every second lane, needs no shuffles: even lanes are taken as they lie, odd lanes by a shift.
struct PhiloxState {
  VecQ c[4];
};
TENON_LOOP_INLINE PhiloxState philox_rounds(PhiloxState s, VecQ k0, VecQ k1) {
  for (int round = 0; round < 10; ++round) {
    const VecQ p0 = wide_product(s.c[0], 0xd2511f53u), p1 = wide_product(s.c[2], 0xcd9e8d57u);
    s = {{(p1 >> 32) ^ s.c[1] ^ k0, p1, (p0 >> 32) ^ s.c[3] ^ k1, p0}};
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return s;
}

// One vector of words; arguments as in scalar.def.
TENON_LOOP_INLINE VecU philox_words(VecU low, VecU high, VecU k0, VecU k1, VecU stream) {
  const VecQ counter[4] = {(VecQ)(low >> 2 | high << 30), (VecQ)(high >> 2), (VecQ)stream, VecQ{}};
  PhiloxState even, odd;
  for (int i = 0; i < 4; ++i) even.c[i] = counter[i], odd.c[i] = counter[i] >> 32;
  even = philox_rounds(even, (VecQ)k0, (VecQ)k1);
  odd = philox_rounds(odd, (VecQ)k0 >> 32, (VecQ)k1 >> 32);
  VecU word[4];
  for (int i = 0; i < 4; ++i) word[i] = (VecU)((even.c[i] & 0xffffffffu) | odd.c[i] << 32);
  const VecI second = (low & 1u) != 0u, upper = (low & 2u) != 0u;
  const VecU first_pair = second ? word[1] : word[0], last_pair = second ? word[3] : word[2];
  return upper ? last_pair : first_pair;
}

void philox_loop(uint32_t* out, const uint32_t* const* args, int64_t n) {
  int64_t i = 0;
  for (; i + vector_lanes <= n; i += vector_lanes) {
    VecU a[5];
    for (int k = 0; k < 5; ++k) a[k] = vector_at<VecU>(args[k] + i, 0);
    set_vector(out + i, 0, philox_words(a[0], a[1], a[2], a[3], a[4]));
  }
  if (i == n) return;
  VecU a[5] = {};
  for (int k = 0; k < 5; ++k)
    for (int l = 0; i + l < n; ++l) a[k][l] = args[k][i + l];
  const VecU r = philox_words(a[0], a[1], a[2], a[3], a[4]);
  for (int l = 0; i + l < n; ++l) out[i + l] = r[l];
}

}  // namespace
}  // namespace tenon::cpu
