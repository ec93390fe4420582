// Each value becomes an unsigned key in the same order. Long rows: radix sort from the lowest digit (Knuth, vol. 3,
// 5.2.5), which is stable; digits that are the same for all are skipped. Short rows: sorted by key, then position.
#include "kernels/sort/sort.cpu.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/half.h"
#include "kernels/matmul/scratch.cpu.h"

namespace tenon::cpu {
namespace {

constexpr int64_t short_row = 1024;
constexpr int64_t elements_per_group = 1024;
constexpr int digit_bits = 11, digits = 1 << digit_bits;

// ---------------------------------------------------------------------------------------------------------- keys

// One per dtype: how an element lies in memory, and its key.
struct F32 {
  using Stored = float;
  using Key = uint32_t;
  static Key key(float f) {
    if (f != f) return ~Key(0);
    const Key bits = std::bit_cast<Key>(f == 0 ? 0.0f : f);
    return bits ^ (bits >> 31 ? ~Key(0) : Key(1) << 31);
  }
};
struct F16 {
  using Stored = uint16_t;
  using Key = uint32_t;
  static Key key(uint16_t h) { return F32::key(f32_from_f16(h)); }
};
struct Bf16 {
  using Stored = uint16_t;
  using Key = uint32_t;
  static Key key(uint16_t h) { return F32::key(f32_from_bf16(h)); }
};
struct F64 {
  using Stored = double;
  using Key = uint64_t;
  static Key key(double f) {
    if (f != f) return ~Key(0);
    const Key bits = std::bit_cast<Key>(f == 0 ? 0.0 : f);
    return bits ^ (bits >> 63 ? ~Key(0) : Key(1) << 63);
  }
};
template <class T, class K>
struct Signed {
  using Stored = T;
  using Key = K;
  static Key key(T v) { return Key(v) ^ Key(1) << (sizeof(Key) * 8 - 1); }
};
template <class T, class K>
struct Unsigned {
  using Stored = T;
  using Key = K;
  static Key key(T v) { return Key(v); }
};

// ------------------------------------------------------------------------------------------------------- sorting

template <class Key>
struct Item {
  Key key;
  uint32_t position;
};

template <class Key>
constexpr int passes = (int(sizeof(Key)) * 8 + digit_bits - 1) / digit_bits;

template <class Key>
int digit(Key key, int pass) {
  return int(key >> (pass * digit_bits) & Key(digits - 1));
}

template <class Key>
struct Scratch {
  Item<Key>*items, *other;
  uint32_t* counts;  // [passes][digits]
  int64_t bytes;
  Scratch(int64_t n, std::byte* from) {
    const bool by_digits = n > short_row;
    ScratchCutter cut(from);
    items = cut.take<Item<Key>>(n);
    other = cut.take<Item<Key>>(by_digits ? n : 0);
    counts = cut.take<uint32_t>(by_digits ? passes<Key> * digits : 0);
    bytes = cut.bytes();
  }
};

// Moves the items to their places by one digit; `count` becomes where each digit's items begin.
template <class Key>
void move_by_digit(const Item<Key>* from, Item<Key>* to, int64_t n, uint32_t* count, int pass) {
  uint32_t at = 0;
  for (int d = 0; d < digits; ++d) at += std::exchange(count[d], at);
  for (int64_t i = 0; i < n; ++i) to[count[digit(from[i].key, pass)]++] = from[i];
}

// The sorted items: one of the two arrays.
template <class Key>
const Item<Key>* sort_by_digits(const Scratch<Key>& s, int64_t n) {
  std::fill(s.counts, s.counts + passes<Key> * digits, 0u);
  for (int64_t i = 0; i < n; ++i)
    for (int pass = 0; pass < passes<Key>; ++pass) ++s.counts[pass * digits + digit(s.items[i].key, pass)];
  Item<Key>*from = s.items, *to = s.other;
  for (int pass = 0; pass < passes<Key>; ++pass) {
    uint32_t* count = s.counts + pass * digits;
    if (count[digit(from[0].key, pass)] == uint32_t(n)) continue;
    move_by_digit(from, to, n, count, pass);
    std::swap(from, to);
  }
  return from;
}

template <class Key>
const Item<Key>* sorted(const Scratch<Key>& s, int64_t n) {
  if (n > short_row) return sort_by_digits(s, n);
  std::sort(s.items, s.items + n, [](const Item<Key>& a, const Item<Key>& b) {
    return a.key < b.key || (a.key == b.key && a.position < b.position);
  });
  return s.items;
}

// ------------------------------------------------------------------------------------------------------ the kernel

int64_t rows_per_group(const SortParams& p) { return std::max<int64_t>(elements_per_group / p.n, 1); }

template <class T>
void rows(const KernelArgs& args, int64_t group, std::byte* memory) {
  using Key = typename T::Key;
  const SortParams& p = args.params->sort;
  const int64_t n = p.n, step = p.x_step, count = rows_per_group(p);
  const Key flip = args.desc->attributes[0] ? ~Key(0) : 0;  // descending
  const Scratch<Key> scratch(n, memory);
  for (int64_t row = group * count; row < std::min<int64_t>(p.outer * p.rows, (group + 1) * count); ++row) {
    const auto* first = reinterpret_cast<const typename T::Stored*>(args.buffers[0]);
    const auto* x = first + row / p.rows * p.x_outer + row % p.rows * p.x_row;
    for (int64_t i = 0; i < n; ++i) scratch.items[i] = {Key(T::key(x[i * step]) ^ flip), uint32_t(i)};
    const Item<Key>* result = sorted(scratch, n);
    uint32_t* out = reinterpret_cast<uint32_t*>(args.buffers[1]) + row * n;
    for (int64_t i = 0; i < n; ++i) out[i] = result[i].position;
  }
}

// Calls f with the dtype's keys.
template <class F>
auto with_keys(DType t, F&& f) {
  switch (t) {
    case DType::f32: return f(F32());
    case DType::f16: return f(F16());
    case DType::bf16: return f(Bf16());
    case DType::f64: return f(F64());
    case DType::i64: return f(Signed<int64_t, uint64_t>());
    case DType::i8: return f(Signed<int8_t, uint32_t>());
    case DType::i32: return f(Signed<int32_t, uint32_t>());
    case DType::u32: return f(Unsigned<uint32_t, uint32_t>());
    default: return f(Unsigned<uint8_t, uint32_t>());
  }
}

void run(const KernelArgs& args, int64_t group, std::byte* scratch) {
  with_keys(args.desc->operands[0].dtype, [&](auto keys) { rows<decltype(keys)>(args, group, scratch); });
}

Grid grid(const KernelDesc& desc, const Params& params) {
  const SortParams& p = params.sort;
  if (p.n == 0) return {};
  const int64_t count = rows_per_group(p);
  const int64_t bytes = with_keys(desc.operands[0].dtype, [&](auto keys) {
    return Scratch<typename decltype(keys)::Key>(p.n, nullptr).bytes;
  });
  return {(p.outer * p.rows + count - 1) / count, bytes};
}

bool applies(const KernelDesc& desc) { return !is_quantised(desc.operands[0].dtype); }

}  // namespace

const NativeKernel sort_kernel{"sort", "sort_radix", applies, grid, nullptr, run};

}  // namespace tenon::cpu
