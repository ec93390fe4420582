// The loops for AVX-512 (F, BW, DQ, VL); compiled with these instructions allowed, see loop_table.cpu.h.
#if defined(__x86_64__)
#include "kernels/scalar/convert.cpu.h"
#include "kernels/scalar/loop_table.cpu.h"
#include "kernels/scalar/reduce.cpu.h"

namespace tenon::cpu {
const LoopTable avx512_loops = {find_loop, load, store, fill, fill_wide, begin, reduce, end};
}  // namespace tenon::cpu
#endif
