#include "kernels/scalar/loops.cpu.h"

#include <string_view>

#include "base/check.h"
#include "kernels/scalar/loop_table.cpu.h"

namespace tenon::cpu {
namespace {

const LoopTable& active() {
  static const LoopTable& table = *loop_table(cpu_isa());
  return table;
}

bool takes(ScalarOp op, Lane lane) {
  static const char letters[] = {'f', 'i', 'u', 'd', 'l'};
  return std::string_view(info(op).lanes).find(letters[size_t(lane)]) != std::string_view::npos;
}

}  // namespace

const LoopTable* loop_table(Isa isa) {
  if (isa > cpu_isa()) return nullptr;
#if defined(__x86_64__)
  if (isa == Isa::avx2) return &avx2_loops;
  if (isa == Isa::avx512) return &avx512_loops;
#endif
  return isa == Isa::baseline ? &baseline_loops : nullptr;
}

ScalarLoop scalar_loop(ScalarOp op, Lane lane) { return takes(op, lane) ? active().scalar(op, lane) : nullptr; }

void load_lanes(DType dtype, const std::byte* base, int64_t first, int64_t stride, int64_t n, uint32_t* lanes) {
  TENON_CHECK(!is_quantised(dtype) || ((stride == 1 || n <= 1) && first >= 0), "load of quantised elements from ",
              first, " with stride ", stride);
  active().load(dtype, base, first, stride, n, lanes);
}

void store_lanes(DType dtype, std::byte* base, int64_t first, int64_t stride, int64_t n, const uint32_t* lanes) {
  TENON_CHECK(!is_quantised(dtype), "store to a quantised dtype");
  active().store(dtype, base, first, stride, n, lanes);
}

void fill_lanes(uint32_t value, int64_t n, uint32_t* lanes) { active().fill(value, n, lanes); }
void fill_wide_lanes(uint64_t value, int64_t n, uint32_t* lanes) { active().fill_wide(value, n, lanes); }

void reduce_begin(ReduceOp op, Lane lane, Reduction& r) { active().begin(op, lane, r); }
void reduce_block(ReduceOp op, Lane lane, Reduction& r, const uint32_t* x, int64_t n, int64_t first) {
  active().reduce(op, lane, r, x, n, first);
}
uint64_t reduce_end(ReduceOp op, Lane lane, const Reduction& r) { return active().end(op, lane, r); }

}  // namespace tenon::cpu
