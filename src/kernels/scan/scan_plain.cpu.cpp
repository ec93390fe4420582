// Running values one row after the other, each from the value before it: floats in long double, rounded once when
// they are stored, integers by their bits.
#include <cmath>
#include <limits>

#include "kernels/scalar/plain.cpu.h"
#include "kernels/scan/scan.cpu.h"

namespace tenon {
namespace {

using Real = long double;
constexpr Real infinity = std::numeric_limits<Real>::infinity();

Real larger(Real a, Real b) { return std::isnan(a) || b < a ? a : b; }

Real log_add(Real a, Real b) {
  const Real gap = a == b ? 0 : -std::abs(a - b);  // equal infinities have no difference
  return larger(a, b) + std::log1p(std::exp(gap));
}

Real first(ScanOp op) { return op == ScanOp::sum ? 0 : op == ScanOp::prod ? 1 : -infinity; }

Real next(ScanOp op, Real before, Real x) {
  switch (op) {
    case ScanOp::sum: return before + x;
    case ScanOp::prod: return before * x;
    case ScanOp::max: return larger(before, x);
    default: return log_add(before, x);
  }
}

void float_row(const KernelArgs& args, ScanOp op, int64_t x, int64_t out) {
  const ScanParams& p = args.params->scan;
  const DType t = args.desc->operands[0].dtype;
  Real running = 0;
  for (int64_t i = 0; i < p.n; ++i) {
    if (i % p.block == 0) running = first(op);
    running = next(op, running, cpu::plain_real(t, args.buffers[0], x + i * p.x_step));
    const uint64_t lane = t == DType::f64 ? std::bit_cast<uint64_t>(double(running)) : std::bit_cast<uint32_t>(float(running));
    cpu::plain_store(t, args.buffers[1], out + i, lane);
  }
}

void integer_row(const KernelArgs& args, ScanOp op, int64_t x, int64_t out) {
  const ScanParams& p = args.params->scan;
  const DType t = args.desc->operands[0].dtype;
  uint64_t running = 0;  // the low bits count
  for (int64_t i = 0; i < p.n; ++i) {
    const uint64_t v = cpu::plain_load(t, args.buffers[0], x + i * p.x_step);
    const bool above = t == DType::i64 ? int64_t(v) > int64_t(running) : t == DType::i32 ? int32_t(v) > int32_t(running) : v > running;
    if (i % p.block == 0) running = v;
    else if (op == ScanOp::max) running = above ? v : running;
    else running = op == ScanOp::sum ? running + v : running * v;
    cpu::plain_store(t, args.buffers[1], out + i, running);
  }
}

void run(const KernelArgs& args, int64_t row, std::byte*) {
  const ScanParams& p = args.params->scan;
  const int64_t x = row / p.rows * p.x_outer + row % p.rows * p.x_row;
  const bool integer = is_integer(args.desc->operands[0].dtype);
  (integer ? integer_row : float_row)(args, ScanOp(args.desc->attributes[0]), x, row * p.n);
}

Grid grid(const KernelDesc&, const Params& params) {
  const ScanParams& p = params.scan;
  return {p.n == 0 ? 0 : p.outer * p.rows, 0};
}

bool applies(const KernelDesc& desc) {
  const DType t = desc.operands[0].dtype;
  const bool integer = t == DType::i32 || t == DType::u32 || t == DType::i64;
  return t == DType::f32 || t == DType::f64 || (integer && ScanOp(desc.attributes[0]) != ScanOp::logsumexp);
}

}  // namespace

const NativeKernel scan_plain_kernel{"scan", "scan_plain", applies, grid, nullptr, run, true};

}  // namespace tenon
