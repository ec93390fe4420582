// The library's sort of the positions, by the values and then by themselves, which is stable. One group is one row.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/scalar/plain.cpu.h"
#include "kernels/sort/sort.cpu.h"

namespace tenon {
namespace {

// Every value of the dtypes is a double.
double value(DType t, const std::byte* base, int64_t i) {
  const uint32_t lane = cpu::plain_load(t, base, i);
  return is_float(t) ? double(std::bit_cast<float>(lane)) : t == DType::i32 ? double(int32_t(lane)) : double(lane);
}

// NaN comes after everything else.
bool before(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

void run(const KernelArgs& args, int64_t row, std::byte*) {
  const SortParams& p = args.params->sort;
  const DType t = args.desc->operands[0].dtype;
  const bool descending = args.desc->attributes[0] != 0;
  const int64_t x = row / p.rows * p.x_outer + row % p.rows * p.x_row;
  const auto at = [&](uint32_t i) { return value(t, args.buffers[0], x + int64_t(i) * p.x_step); };
  uint32_t* out = reinterpret_cast<uint32_t*>(args.buffers[1]) + row * p.n;
  std::iota(out, out + p.n, 0u);
  std::sort(out, out + p.n, [&](uint32_t a, uint32_t b) {
    const bool a_first = descending ? before(at(b), at(a)) : before(at(a), at(b));
    const bool b_first = descending ? before(at(a), at(b)) : before(at(b), at(a));
    return a_first || (!b_first && a < b);
  });
}

Grid grid(const KernelDesc&, const Params& params) {
  const SortParams& p = params.sort;
  return {p.n == 0 ? 0 : p.outer * p.rows, 0};
}

bool applies(const KernelDesc& desc) { return !is_quantised(desc.operands[0].dtype); }

}  // namespace

const NativeKernel sort_plain_kernel{"sort", "sort_plain", applies, grid, nullptr, run, true};

}  // namespace tenon
