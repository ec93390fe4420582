// The library's sort of the positions, by the values and then by themselves, which is stable. One group is one row.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/scalar/plain.cpu.h"
#include "kernels/sort/sort.cpu.h"

namespace tenon {
namespace {

// Negative where a comes before b, 0 where neither does; NaN comes after everything else.
int compare(DType t, const std::byte* base, int64_t a, int64_t b) {
  if (is_float(t)) {
    const double x = cpu::plain_real(t, base, a), y = cpu::plain_real(t, base, b);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) - std::isnan(y);
    return (x > y) - (x < y);
  }
  const uint64_t x = cpu::plain_load(t, base, a), y = cpu::plain_load(t, base, b);
  if (t == DType::i64) return (int64_t(x) > int64_t(y)) - (int64_t(x) < int64_t(y));
  if (is_signed_integer(t)) return (int32_t(x) > int32_t(y)) - (int32_t(x) < int32_t(y));
  return (x > y) - (x < y);
}

void run(const KernelArgs& args, int64_t row, std::byte*) {
  const SortParams& p = args.params->sort;
  const DType t = args.desc->operands[0].dtype;
  const bool descending = args.desc->attributes[0] != 0;
  const int64_t x = row / p.rows * p.x_outer + row % p.rows * p.x_row;
  const auto at = [&](uint32_t i) { return x + int64_t(i) * p.x_step; };
  uint32_t* out = reinterpret_cast<uint32_t*>(args.buffers[1]) + row * p.n;
  std::iota(out, out + p.n, 0u);
  std::sort(out, out + p.n, [&](uint32_t a, uint32_t b) {
    const int order = compare(t, args.buffers[0], at(a), at(b));
    return order == 0 ? a < b : (order < 0) != descending;
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
