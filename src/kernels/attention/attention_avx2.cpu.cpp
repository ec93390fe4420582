#if defined(__x86_64__)
#include "kernels/attention/attention_loops_impl.cpu.h"

namespace tenon::cpu {
const AttentionLoops attention_loops_avx2 = attention_loops;
}
#endif
