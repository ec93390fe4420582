// Running sums, products and logarithms of sums are kept in double precision and rounded once per element; integers
// wrap. A line is one block of one row; a group is a number of lines that depends on the shape alone.
#include "kernels/scan/scan.cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace tenon::cpu {
namespace {

constexpr int64_t elements_per_group = 1024;

template <class T>
struct WideOf {
  using type = std::make_unsigned_t<T>;
};
template <>
struct WideOf<float> {
  using type = double;
};
template <>
struct WideOf<double> {
  using type = double;
};
template <class T>
using Wide = typename WideOf<T>::type;

template <class T>
struct Sum {
  Wide<T> value = 0;
  T next(T x) { return T(value += Wide<T>(x)); }
};

template <class T>
struct Product {
  Wide<T> value = 1;
  T next(T x) { return T(value *= Wide<T>(x)); }
};

template <class T>
struct Largest {
  T value = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  T next(T x) {
    if (x > value || x != x) value = x;  // nothing is above NaN, so that it stays
    return value;
  }
};

// log of the sum of exp: scale * exp(largest), moved when a larger value comes.
template <class T>
struct LogSumExp {
  double largest = -std::numeric_limits<double>::infinity(), scale = 0;
  T next(T v) {
    const double x = double(v);
    if (x == largest) {
      scale += 1;  // equal infinities have no difference
    } else if (x < largest) {
      scale += std::exp(x - largest);
    } else if (x > largest) {
      scale = scale * std::exp(largest - x) + 1;
      largest = x;
    } else {
      largest = std::numeric_limits<double>::quiet_NaN();
    }
    return T(largest + std::log(scale));
  }
};

int64_t blocks(const ScanParams& p) { return (p.n + p.block - 1) / p.block; }
int64_t lines_per_group(const ScanParams& p) {
  return std::max<int64_t>(elements_per_group / std::min<int64_t>(p.n, p.block), 1);
}

template <class T, class Running>
void lines(const KernelArgs& args, int64_t group) {
  const ScanParams& p = args.params->scan;
  const int64_t n = p.n, block = p.block, step = p.x_step, per_row = blocks(p), count = lines_per_group(p);
  const int64_t last = std::min<int64_t>(p.outer * p.rows * per_row, (group + 1) * count);
  for (int64_t line = group * count; line < last; ++line) {
    const int64_t row = line / per_row, start = line % per_row * block, end = std::min(start + block, n);
    const T* x = reinterpret_cast<const T*>(args.buffers[0]) + row / p.rows * p.x_outer + row % p.rows * p.x_row;
    T* out = reinterpret_cast<T*>(args.buffers[1]) + row * n;
    Running running;
    for (int64_t i = start; i < end; ++i) out[i] = running.next(x[i * step]);
  }
}

template <class T>
void run_as(const KernelArgs& args, int64_t group) {
  switch (ScanOp(args.desc->attributes[0])) {
    case ScanOp::sum: return lines<T, Sum<T>>(args, group);
    case ScanOp::prod: return lines<T, Product<T>>(args, group);
    case ScanOp::max: return lines<T, Largest<T>>(args, group);
    case ScanOp::logsumexp:
      if constexpr (std::is_floating_point_v<T>) return lines<T, LogSumExp<T>>(args, group);
  }
}

void run(const KernelArgs& args, int64_t group, std::byte*) {
  switch (args.desc->operands[0].dtype) {
    case DType::f32: return run_as<float>(args, group);
    case DType::f64: return run_as<double>(args, group);
    case DType::i32: return run_as<int32_t>(args, group);
    case DType::i64: return run_as<int64_t>(args, group);
    default: return run_as<uint32_t>(args, group);
  }
}

Grid grid(const KernelDesc&, const Params& params) {
  const ScanParams& p = params.scan;
  if (p.n == 0) return {};
  const int64_t count = lines_per_group(p);
  return {(p.outer * p.rows * blocks(p) + count - 1) / count, 0};
}

bool applies(const KernelDesc& desc) {
  const DType t = desc.operands[0].dtype;
  const bool integer = t == DType::i32 || t == DType::u32 || t == DType::i64;
  return t == DType::f32 || t == DType::f64 || (integer && ScanOp(desc.attributes[0]) != ScanOp::logsumexp);
}

}  // namespace

const NativeKernel scan_kernel{"scan", "scan_lines", applies, grid, nullptr, run};

}  // namespace tenon::cpu
