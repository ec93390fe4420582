// Every output slice finds its contributions by binary search among the sorted keys and takes them in their order, so
// nothing is written twice and no order depends on threads. A group is a range of neighbouring slices, or of their
// inner elements, cut by the shape alone.
#include "kernels/scatter/scatter.cpu.h"

#include <algorithm>

#include "kernels/matmul/scratch.cpu.h"

namespace tenon::cpu {
namespace {

constexpr int64_t most_inner = 1024;     // elements of a slice that one group computes
constexpr int64_t elements_per_group = 4096;

struct Cut {
  int64_t inner, slices;               // of one group
  int64_t inner_groups, slice_groups;  // groups along each
  explicit Cut(const ScatterParams& p) {
    inner = std::min<int64_t>(p.inner, most_inner);
    slices = std::max<int64_t>(elements_per_group / inner, 1);
    inner_groups = (p.inner + inner - 1) / inner;
    slice_groups = (p.size + slices - 1) / slices;
  }
};

template <class T>
struct Strided {
  const T* data;
  int64_t step;
};

// to[i] = f(to[i], from[i]); a loop of its own where the elements are neighbours.
template <class T, class F>
void combine(T* to, Strided<T> from, int64_t n, F f) {
  if (from.step == 1)
    for (int64_t i = 0; i < n; ++i) to[i] = f(to[i], from.data[i]);
  else
    for (int64_t i = 0; i < n; ++i) to[i] = f(to[i], from.data[i * from.step]);
}

template <class T>
void copy(T* to, Strided<T> from, int64_t n) {
  combine(to, from, n, [](T, T b) { return b; });
}

struct Set {
  template <class T, class Source>
  static void apply(T* out, int64_t n, const uint32_t* order, int64_t count, Source source, T*) {
    if (count > 0) copy(out, source(order[count - 1]), n);
  }
};

struct Add {
  template <class T, class Source>
  static void apply(T* out, int64_t n, const uint32_t* order, int64_t count, Source source, T* sum) {
    const auto plus = [](T a, T b) { return T(a + b); };
    for (int64_t k = 0; k < count; k += scatter_chunk) {
      const int64_t end = std::min(count, k + scatter_chunk);
      copy(sum, source(order[k]), n);
      for (int64_t j = k + 1; j < end; ++j) combine(sum, source(order[j]), n, plus);
      combine(out, {sum, 1}, n, plus);
    }
  }
};

struct Max {
  template <class T, class Source>
  static void apply(T* out, int64_t n, const uint32_t* order, int64_t count, Source source, T*) {
    for (int64_t k = 0; k < count; ++k)
      combine(out, source(order[k]), n, [](T a, T b) { return a != a || a > b ? a : b; });
  }
};

template <class T, class Op>
void slices(const KernelArgs& args, int64_t group, std::byte* scratch) {
  const ScatterParams& p = args.params->scatter;
  const Cut cut(p);
  const int64_t i0 = group % cut.inner_groups * cut.inner, slice_group = group / cut.inner_groups;
  const int64_t d0 = slice_group % cut.slice_groups * cut.slices, o = slice_group / cut.slice_groups;
  const int64_t n = std::min<int64_t>(cut.inner, p.inner - i0), d1 = std::min<int64_t>(d0 + cut.slices, p.size);
  const T* x = reinterpret_cast<const T*>(args.buffers[0]) + o * p.x[0] + i0 * p.x[2];
  const uint32_t* keys = reinterpret_cast<const uint32_t*>(args.buffers[1]);
  const uint32_t* order = reinterpret_cast<const uint32_t*>(args.buffers[2]);
  const T* from = reinterpret_cast<const T*>(args.buffers[3]) + o * p.source[0] + i0 * p.source[2];
  T* out = reinterpret_cast<T*>(args.buffers[4]) + o * p.size * p.inner + i0;
  const int64_t source_row = p.source[1], source_step = p.source[2];
  const auto source = [&](uint32_t row) { return Strided<T>{from + int64_t(row) * source_row, source_step}; };

  const int64_t all = p.n;
  T* sum = ScratchCutter(scratch).take<T>(n);
  int64_t k = std::lower_bound(keys, keys + all, uint32_t(d0)) - keys;
  for (int64_t d = d0; d < d1; ++d) {
    int64_t end = k;
    while (end < all && keys[end] == uint32_t(d)) ++end;
    T* slice = out + d * p.inner;
    copy(slice, {x + d * p.x[1], p.x[2]}, n);
    Op::apply(slice, n, order + k, end - k, source, sum);
    k = end;
  }
}

// U: the dtype in which T wraps.
template <class T, class U = T>
void reducing(const KernelArgs& args, int64_t group, std::byte* scratch) {
  ScatterOp(args.desc->attributes[0]) == ScatterOp::add ? slices<U, Add>(args, group, scratch) : slices<T, Max>(args, group, scratch);
}

void run(const KernelArgs& args, int64_t group, std::byte* scratch) {
  const DType t = args.desc->operands[0].dtype;
  const bool set = ScatterOp(args.desc->attributes[0]) == ScatterOp::set;
  if (set && block_bytes(t) == 1) return slices<uint8_t, Set>(args, group, scratch);
  if (set && block_bytes(t) == 2) return slices<uint16_t, Set>(args, group, scratch);
  if (set && block_bytes(t) == 8) return slices<uint64_t, Set>(args, group, scratch);
  if (set) return slices<uint32_t, Set>(args, group, scratch);
  switch (t) {
    case DType::f32: return reducing<float>(args, group, scratch);
    case DType::f64: return reducing<double>(args, group, scratch);
    case DType::u8: return reducing<uint8_t>(args, group, scratch);
    case DType::i8: return reducing<int8_t, uint8_t>(args, group, scratch);
    case DType::i64: return reducing<int64_t, uint64_t>(args, group, scratch);
    case DType::i32: return reducing<int32_t, uint32_t>(args, group, scratch);
    default: return reducing<uint32_t>(args, group, scratch);
  }
}

Grid grid(const KernelDesc&, const Params& params) {
  const ScatterParams& p = params.scatter;
  if (p.outer * p.size * p.inner == 0) return {};
  const Cut cut(p);
  ScratchCutter scratch(nullptr);
  scratch.take<uint64_t>(cut.inner);
  return {p.outer * cut.slice_groups * cut.inner_groups, scratch.bytes()};
}

bool applies(const KernelDesc& desc) {
  const DType t = desc.operands[0].dtype;
  return !is_quantised(t) && (ScatterOp(desc.attributes[0]) == ScatterOp::set || t == DType::f32 || t == DType::f64 || is_integer(t));
}

}  // namespace

const NativeKernel scatter_kernel{"scatter", "scatter_slices", applies, grid, nullptr, run};

}  // namespace tenon::cpu
