#if defined(__x86_64__)
#include "kernels/quant_matmul/quant_matmul_loops_impl.cpu.h"

namespace tenon::cpu {
const QuantMatmulLoops quant_matmul_loops_avx512 = quant_matmul_loops;
}
#endif
