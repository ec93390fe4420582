// The loops for what every processor of the target has.
#include "kernels/scalar/convert.cpu.h"
#include "kernels/scalar/loop_table.cpu.h"
#include "kernels/scalar/reduce.cpu.h"

namespace tenon::cpu {
const LoopTable baseline_loops = {find_loop, load, store, fill, fill_wide, begin, reduce, end};
}  // namespace tenon::cpu
