#include "kernels/matmul/matmul_loops_impl.cpu.h"

namespace tenon::cpu {
const MatmulLoops matmul_loops_baseline = matmul_loops;
}
