// The reference device's map and row kernels: the program interpreted instruction by instruction, floats in double
// precision and rounded once when they are stored, integers exactly. Nothing here is shared with the CPU's loops.
#include "kernels/region/region.host.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/half.h"
#include "kernels/scalar/apply.host.h"

namespace tenon::host {
namespace {

using Kind = Instr::Kind;
using Values = std::vector<Value>;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t map_chunk = 4096;

uint16_t half_at(const std::byte* p) {
  uint16_t h;
  std::memcpy(&h, p, 2);
  return h;
}

template <class T>
T read_as(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Element `i` of a buffer; quantised formats as GGUF documents them, each product and sum rounded to f32 as there.
Value element(DType dtype, const std::byte* base, int64_t i) {
  const std::byte* block = base + i / 32 * block_bytes(dtype);
  const int j = int(i % 32);
  auto nibble = [&](int header) {
    const int byte = int(block[header + j % 16]);
    return float(j < 16 ? byte & 15 : byte >> 4);
  };
  switch (dtype) {
    case DType::f32: return double(read_as<float>(base + i * 4));
    case DType::f16: return double(f32_from_f16(half_at(base + i * 2)));
    case DType::bf16: return double(f32_from_bf16(half_at(base + i * 2)));
    case DType::f64: return read_as<double>(base + i * 8);
    case DType::i64: return read_as<int64_t>(base + i * 8);
    case DType::i32: return int64_t(read_as<int32_t>(base + i * 4));
    case DType::u32: return int64_t(read_as<uint32_t>(base + i * 4));
    case DType::i8: return int64_t(read_as<int8_t>(base + i));
    case DType::u8: case DType::bool_: return int64_t(read_as<uint8_t>(base + i));
    case DType::q8_0: return double(f32_from_f16(half_at(block)) * float(read_as<int8_t>(block + 2 + j)));
    case DType::q4_0: return double(f32_from_f16(half_at(block)) * (nibble(2) - 8));
    case DType::q4_1: {
      const float product = f32_from_f16(half_at(block)) * nibble(4);
      return double(product + f32_from_f16(half_at(block + 2)));
    }
  }
  return nan_value;
}

void put(DType dtype, std::byte* base, int64_t i, Value v) {
  auto write = [&](auto x) { std::memcpy(base + i * int64_t(sizeof x), &x, sizeof x); };
  switch (dtype) {
    case DType::f64: return write(v.real());
    case DType::f32: return write(float(v.real()));
    case DType::f16: return write(f16_from_f32(float(v.real())));
    case DType::bf16: return write(bf16_from_f32(float(v.real())));
    case DType::i64: return write(v.whole());
    case DType::i32: case DType::u32: return write(uint32_t(v.whole()));
    case DType::i8: case DType::u8: return write(uint8_t(v.whole()));
    case DType::bool_: return write(uint8_t(v.whole() != 0));
    default: return;
  }
}

double largest(const Values& values) {
  double m = -std::numeric_limits<double>::infinity();
  for (const Value& v : values) m = std::isnan(m) || v.real() <= m ? m : v.real();
  return m;
}

double sum_exp(const Values& values) {
  const double m = largest(values);
  double sum = 0;
  for (const Value& v : values) sum += v.real() == -std::numeric_limits<double>::infinity() ? 0 : std::exp(v.real() - m);
  return sum;
}

// Two passes, over what is left above the first element.
double sum_sq_dev(const Values& values) {
  long double mean = 0, sum = 0;
  const auto above = [&](const Value& v) { return static_cast<long double>(v.real()) - values[0].real(); };
  for (const Value& v : values) mean += above(v) / static_cast<long double>(values.size());
  for (const Value& v : values) sum += (above(v) - mean) * (above(v) - mean);
  return double(sum);
}

Value reduce_reals(const Instr& c, const Values& values) {
  if (c.reduce == ReduceOp::sum_exp) return sum_exp(values);
  if (c.reduce == ReduceOp::sum_sq_dev) return sum_sq_dev(values);
  double result = c.reduce == ReduceOp::sum ? 0 : c.reduce == ReduceOp::prod ? 1 : -std::numeric_limits<double>::infinity();
  int64_t at = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double v = values[i].real();
    if (c.reduce == ReduceOp::sum) result += v;
    else if (c.reduce == ReduceOp::prod) result *= v;
    else if (!std::isnan(result) && (std::isnan(v) || i == 0 || v > result)) result = v, at = int64_t(i);
  }
  return c.reduce == ReduceOp::argmax ? Value(at) : Value(result);
}

int64_t smallest(Lane lane) {
  if (lane == Lane::i64) return INT64_MIN;
  return lane == Lane::i32 ? INT32_MIN : 0;
}

Value reduce_integers(const Instr& c, const Values& values) {
  uint64_t result = c.reduce == ReduceOp::prod;
  int64_t best = smallest(c.arg_lane), at = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t v = values[i].whole();
    result = c.reduce == ReduceOp::prod ? result * uint64_t(v) : result + uint64_t(v);
    if (v > best || i == 0) best = v, at = int64_t(i);
  }
  if (c.reduce == ReduceOp::argmax) return at;
  return c.reduce == ReduceOp::max ? Value(best) : wrap(c.lane, result);
}

Value reduce(const Instr& c, const Values& values) {
  return is_float(c.arg_lane) ? reduce_reals(c, values) : reduce_integers(c, values);
}

// The program over `n` elements from `start` of the walked axes, at one place of the outer axes.
class Interpreter {
 public:
  Interpreter(const KernelArgs& args, int first_axis, int axes)
      : args_(args), d_(*args.desc), p_(args.params->region), first_(first_axis), axes_(axes) {}

  void poison(int64_t row, int64_t start, int64_t n) {
    for (const Instr& c : d_.program)
      if (c.kind == Kind::store)
        for (int64_t i = 0; i < (c.row ? 1 : n); ++i) {
          const int64_t bytes = block_bytes(operand(c).dtype);
          std::memset(buffer(c) + offset(c, row, c.row ? 0 : start + i) * bytes, 0xff, size_t(bytes));
        }
  }

  void run(int64_t row, int64_t start, int64_t n) {
    std::vector<Values> values(d_.program.size());
    for (size_t k = 0; k < d_.program.size(); ++k) {
      const Instr& c = d_.program[k];
      const int64_t count = c.row || c.kind == Kind::constant || c.kind == Kind::scalar ? 1 : n;
      Values& out = values[k];
      if (c.kind == Kind::reduce) {
        out.push_back(reduce(c, spread(values[c.args[0]], n)));
        continue;
      }
      out.resize(size_t(c.kind == Kind::store ? 0 : count));
      auto arg = [&](int a, int64_t i) {
        const Values& v = values[c.args[size_t(a)]];
        return v.size() == 1 ? v[0] : v[size_t(i)];
      };
      for (int64_t i = 0; i < count; ++i) {
        if (c.kind == Kind::store) put(operand(c).dtype, buffer(c), offset(c, row, c.row ? 0 : start + i), arg(0, i));
        else out[size_t(i)] = value(c, row, c.row ? 0 : start + i, i, arg);
      }
    }
  }

 private:
  static Values spread(const Values& v, int64_t n) { return int64_t(v.size()) == n ? v : Values(size_t(n), v.at(0)); }
  const Operand& operand(const Instr& c) const { return d_.operands[c.operand]; }
  std::byte* buffer(const Instr& c) const {
    int b = 0;
    for (int i = 0; i < c.operand; ++i) b += d_.operands[size_t(i)].kind == Operand::Kind::buffer;
    return args_.buffers[b];
  }

  // Element offset of the operand at a row of the outer axes and a position along the walked axes.
  int64_t offset(const Instr& c, int64_t row, int64_t position) const {
    const RegionOperandParams& o = p_.operands[c.operand];
    int64_t at = 0;
    // Position 0 needs no division: an axis that is reduced may have size 0.
    for (int a = first_ + axes_ - 1; a >= first_ && position > 0; --a) {
      at += position % p_.dims[a] * o.strides[a];
      position /= p_.dims[a];
    }
    for (int a = first_ - 1; a >= 0; --a) {
      at += row % p_.dims[a] * o.strides[a];
      row /= p_.dims[a];
    }
    if (operand(c).kind == Operand::Kind::buffer) at += o.base;
    if (operand(c).dynamic) at += std::min<int64_t>(args_.scalars[o.dynamic_slot], o.dynamic_max) * o.dynamic_stride;
    return at;
  }

  template <class Arg>
  Value value(const Instr& c, int64_t row, int64_t position, int64_t i, const Arg& arg) const {
    switch (c.kind) {
      case Kind::constant: return from_bits(c.lane, c.bits);
      case Kind::scalar: {
        const uint32_t* words = args_.scalars + p_.scalar_slots[c.bits];
        return from_bits(c.lane, is_wide(c.lane) ? uint64_t(words[1]) << 32 | words[0] : words[0]);
      }
      case Kind::load: return element(operand(c).dtype, buffer(c), offset(c, row, position));
      case Kind::index: {
        const int64_t v = p_.operands[c.operand].base + offset(c, row, position);
        return c.lane == Lane::i64 ? Value(v) : from_bits(c.lane, uint64_t(v) >> (c.bits ? 32 : 0));
      }
      case Kind::gather: {
        const int64_t k = arg(0, i).whole();
        if (k < 0 || k >= p_.operands[c.operand].gather_extent) return is_float(c.lane) ? Value(nan_value) : Value();
        return element(operand(c).dtype, buffer(c), offset(c, row, position) + k * p_.operands[c.operand].gather_stride);
      }
      default: break;
    }
    Value x[5] = {};
    for (int a = 0; a < info(c.op).arity; ++a) x[a] = arg(a, i);
    return apply(c, x);
  }

  const KernelArgs& args_;
  const KernelDesc& d_;
  const RegionParams& p_;
  int first_, axes_;
};

int64_t product(const RegionParams& p, int begin, int end) {
  int64_t n = 1;
  for (int a = begin; a < end; ++a) n *= p.dims[a];
  return n;
}

bool always(const KernelDesc&) { return true; }

Grid map_grid(const KernelDesc& d, const Params& p) { return {(product(p.region, 0, d.outer_rank) + map_chunk - 1) / map_chunk, 0}; }

void run_map(const KernelArgs& args, int64_t group, std::byte*) {
  const int64_t n = product(args.params->region, 0, args.desc->outer_rank), start = group * map_chunk;
  Interpreter i(args, 0, args.desc->outer_rank);
  if (group == 0) i.poison(0, 0, n);
  i.run(0, start, std::min(map_chunk, n - start));
}

Grid row_grid(const KernelDesc& d, const Params& p) { return {product(p.region, 0, d.outer_rank), 0}; }

void run_row(const KernelArgs& args, int64_t group, std::byte*) {
  const KernelDesc& d = *args.desc;
  const int64_t inner = product(args.params->region, d.outer_rank, d.outer_rank + d.inner_rank);
  Interpreter i(args, d.outer_rank, d.inner_rank);
  if (group == 0)
    for (int64_t row = 0; row < product(args.params->region, 0, d.outer_rank); ++row) i.poison(row, 0, inner);
  i.run(group, 0, inner);
}

}  // namespace

const NativeKernel map_kernel{"map", "", always, map_grid, nullptr, run_map};
const NativeKernel row_kernel{"row", "", always, row_grid, nullptr, run_row};

}  // namespace tenon::host
