// One group is one output slice, one element after the other: floats in long double, all contributions in their
// order, rounded once.
#include <algorithm>
#include <cmath>

#include "kernels/scalar/plain.cpu.h"
#include "kernels/scatter/scatter.cpu.h"

namespace tenon {
namespace {

long double value(DType t, uint64_t lane) {
  if (t == DType::f64) return std::bit_cast<double>(lane);
  return std::bit_cast<float>(uint32_t(lane));
}
bool above(DType t, uint64_t a, uint64_t b) {
  if (is_float(t)) return !std::isnan(value(t, b)) && (std::isnan(value(t, a)) || value(t, a) > value(t, b));
  if (t == DType::i64) return int64_t(a) > int64_t(b);
  return is_signed_integer(t) ? int32_t(a) > int32_t(b) : a > b;
}

// x and then the contributions: `source(k)` is the k-th.
template <class Source>
uint64_t reduce(DType t, ScatterOp op, uint64_t x, int64_t count, Source source) {
  if (op == ScatterOp::set) return count > 0 ? source(count - 1) : x;
  if (op == ScatterOp::add && !is_float(t)) {
    for (int64_t k = 0; k < count; ++k) x += source(k);
    return x;
  }
  if (op == ScatterOp::add) {
    long double sum = value(t, x);
    for (int64_t k = 0; k < count; ++k) sum += value(t, source(k));
    return t == DType::f64 ? std::bit_cast<uint64_t>(double(sum)) : std::bit_cast<uint32_t>(float(sum));
  }
  for (int64_t k = 0; k < count; ++k)
    if (above(t, source(k), x)) x = source(k);
  return x;
}

void run(const KernelArgs& args, int64_t group, std::byte*) {
  const ScatterParams& p = args.params->scatter;
  const DType t = args.desc->operands[0].dtype;
  const ScatterOp op = ScatterOp(args.desc->attributes[0]);
  const int64_t o = group / p.size, d = group % p.size;
  const uint32_t* keys = reinterpret_cast<const uint32_t*>(args.buffers[1]);
  const auto [first, last] = std::equal_range(keys, keys + p.n, uint32_t(d));
  const uint32_t* order = reinterpret_cast<const uint32_t*>(args.buffers[2]) + (first - keys);
  for (int64_t i = 0; i < p.inner; ++i) {
    const uint64_t x = cpu::plain_load(t, args.buffers[0], o * p.x[0] + d * p.x[1] + i * p.x[2]);
    const auto source = [&](int64_t k) {
      return cpu::plain_load(t, args.buffers[3], o * p.source[0] + int64_t(order[k]) * p.source[1] + i * p.source[2]);
    };
    cpu::plain_store(t, args.buffers[4], group * p.inner + i, reduce(t, op, x, last - first, source));
  }
}

Grid grid(const KernelDesc&, const Params& params) {
  const ScatterParams& p = params.scatter;
  return {p.inner == 0 ? 0 : p.outer * p.size, 0};
}

bool applies(const KernelDesc& desc) {
  const DType t = desc.operands[0].dtype;
  return !is_quantised(t) && (ScatterOp(desc.attributes[0]) == ScatterOp::set || t == DType::f32 || t == DType::f64 || is_integer(t));
}

}  // namespace

const NativeKernel scatter_plain_kernel{"scatter", "scatter_plain", applies, grid, nullptr, run, true};

}  // namespace tenon
