#if defined(__x86_64__)
#include "kernels/matmul/matmul_loops_impl.cpu.h"

namespace tenon::cpu {
const MatmulLoops matmul_loops_avx512 = matmul_loops;
}
#endif
