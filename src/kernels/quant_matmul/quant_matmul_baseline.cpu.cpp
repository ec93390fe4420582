#include "kernels/quant_matmul/quant_matmul_loops_impl.cpu.h"

namespace tenon::cpu {
const QuantMatmulLoops quant_matmul_loops_baseline = quant_matmul_loops;
}
