#include "kernels/attention/attention_loops_impl.cpu.h"

namespace tenon::cpu {
const AttentionLoops attention_loops_baseline = attention_loops;
}
