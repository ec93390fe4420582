#include "kernels/region/plain.cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/scalar/plain.cpu.h"

namespace tenon::cpu {

using Kind = Instr::Kind;

namespace {

int64_t product(const RegionParams& p, int begin, int end) {
  int64_t n = 1;
  for (int a = begin; a < end; ++a) n *= p.dims[a];
  return n;
}

// One reduction; values come in the order of the elements.
class Fold {
 public:
  Fold(ReduceOp op, Lane lane) : op_(op), lane_(lane) {
    if (op == ReduceOp::prod) real_ = 1, whole_ = 1;
    if (op != ReduceOp::max && op != ReduceOp::argmax) return;
    if (lane == Lane::f32) best_ = std::bit_cast<uint32_t>(-std::numeric_limits<float>::infinity());
    if (lane == Lane::f64) best_ = std::bit_cast<uint64_t>(-std::numeric_limits<double>::infinity());
    if (lane == Lane::i32) best_ = 0x80000000u;
    if (lane == Lane::i64) best_ = 0x8000000000000000u;
  }

  void add(uint64_t v, int64_t position) {
    if (op_ == ReduceOp::sum) {
      if (is_float(lane_)) add_real(real(v));
      whole_ += v;
    } else if (op_ == ReduceOp::prod) {
      if (is_float(lane_)) multiply_real(real(v));
      whole_ *= v;
    } else if (op_ == ReduceOp::sum_exp) {
      add_exponential(real(v));
    } else if (op_ == ReduceOp::sum_sq_dev) {
      add_deviation(real(v), position + 1);
    } else if (first_ || wins(v)) {
      best_ = v;
      at_ = uint32_t(position);
      first_ = false;
    }
  }

  uint64_t result() const {
    if (op_ == ReduceOp::argmax) return at_;
    if (op_ == ReduceOp::max) return best_;
    if (lane_ == Lane::f32) return std::bit_cast<uint32_t>(float(real_));
    if (lane_ == Lane::f64) return std::bit_cast<uint64_t>(double(real_));
    return lane_ == Lane::i64 ? whole_ : uint32_t(whole_);
  }

 private:
  double real(uint64_t v) const {
    return lane_ == Lane::f32 ? double(std::bit_cast<float>(uint32_t(v))) : std::bit_cast<double>(v);
  }
  void add_real(double v) { real_ = lane_ == Lane::f32 ? double(real_) + v : real_ + v; }
  void multiply_real(double v) { real_ = lane_ == Lane::f32 ? double(real_) * v : real_ * v; }

  // Each element in its turn: the sum so far is scaled where the maximum rises.
  void add_exponential(double v) {
    if (v == -HUGE_VAL) return;
    const double top = std::max(centre_, v);
    real_ = real_ * std::exp(centre_ - top) + std::exp(v - top);
    centre_ = top;
  }
  // B. P. Welford, Note on a method for calculating corrected sums of squares and products (1962).
  void add_deviation(double v, int64_t count) {
    if (!std::isfinite(v)) real_ = NAN;
    if (count == 1) centre_ = v;
    const long double d = static_cast<long double>(v) - centre_, before = d - mean_;
    mean_ += before / static_cast<long double>(count);
    real_ += before * (d - mean_);
  }

  // The first NaN stays; of equal values the first one, but a maximum of both zeros is +0.
  bool wins(uint64_t v) const {
    if (lane_ == Lane::i32) return int32_t(v) > int32_t(best_);
    if (lane_ == Lane::u32) return v > best_;
    if (lane_ == Lane::i64) return int64_t(v) > int64_t(best_);
    const double a = real(best_), b = real(v);
    if (std::isnan(a)) return false;
    return std::isnan(b) || b > a || (op_ == ReduceOp::max && a == b && std::signbit(a));
  }

  ReduceOp op_;
  Lane lane_;
  long double real_ = 0;  // of f32: a double
  long double mean_ = 0;        // less the first element
  double centre_ = -HUGE_VAL;  // the maximum so far, or the first element
  uint64_t whole_ = 0, best_ = 0;
  uint32_t at_ = 0;
  bool first_ = true;
};

int64_t integer(Lane lane, uint64_t bits) {
  return lane == Lane::i32 ? int64_t(int32_t(bits)) : int64_t(bits);
}

uint64_t outside(Lane lane) {
  if (lane == Lane::f64) return std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN());
  return lane == Lane::f32 ? std::bit_cast<uint32_t>(std::numeric_limits<float>::quiet_NaN()) : 0;
}

}  // namespace

PlainProgram::PlainProgram(const KernelArgs& args, std::byte* scratch)
    : args_(args), desc_(*args.desc), params_(args.params->region), lanes_(reinterpret_cast<uint64_t*>(scratch)) {
  int buffers = 0;
  for (int i = 0; i < int(desc_.operands.size()); ++i) {
    const bool is_buffer = desc_.operands[size_t(i)].kind == Operand::Kind::buffer;
    if (i >= desc_.anchor_operands) buffer_of_[i - desc_.anchor_operands] = buffers;
    buffers += is_buffer;
  }
  if (desc_.inner_rank > 0) inner_ = product(params_, desc_.outer_rank, desc_.outer_rank + desc_.inner_rank);
}

// `outer` and `inner`: row-major positions among the outer and the inner axes.
void PlainProgram::move_to(int64_t outer, int64_t inner) {
  int64_t coordinate[region_max_rank] = {};
  const int rank = desc_.outer_rank + desc_.inner_rank;
  for (int a = rank - 1; a >= 0; --a) {
    int64_t& rest = a < desc_.outer_rank ? outer : inner;
    if (rest == 0) continue;  // an axis that is reduced may have size 0
    coordinate[a] = rest % params_.dims[a];
    rest /= params_.dims[a];
  }
  for (int i = 0; i < int(desc_.operands.size()) - desc_.anchor_operands; ++i) {
    const RegionOperandParams& p = params_.operands[i];
    offset_[i] = p.base;
    for (int a = 0; a < rank; ++a) offset_[i] += coordinate[a] * p.strides[a];
    if (!desc_.operands[size_t(i + desc_.anchor_operands)].dynamic) continue;
    const int64_t most = std::max<int64_t>(p.dynamic_max, 0);
    offset_[i] += std::min<int64_t>(args_.scalars[p.dynamic_slot], most) * p.dynamic_stride;
  }
}

uint64_t PlainProgram::gathered(const Instr& c) const {
  const RegionOperandParams& p = params_.operands[number(c)];
  const int64_t at = integer(desc_.program[c.args[0]].lane, lanes_[c.args[0]]);
  if (at < 0 || at >= p.gather_extent) return outside(c.lane);
  return plain_load(desc_.operands[c.operand].dtype, buffer(c), offset_[number(c)] + at * p.gather_stride);
}

uint64_t PlainProgram::value(size_t k) const {
  const Instr& c = desc_.program[k];
  switch (c.kind) {
    case Kind::constant: return c.bits;
    case Kind::scalar: {
      const uint32_t* words = args_.scalars + params_.scalar_slots[c.bits];
      return is_wide(c.lane) ? uint64_t(words[1]) << 32 | words[0] : words[0];
    }
    case Kind::load: return plain_load(desc_.operands[c.operand].dtype, buffer(c), offset_[number(c)]);
    case Kind::gather: return gathered(c);
    case Kind::index: {
      const auto at = uint64_t(offset_[number(c)]);
      return c.lane == Lane::i64 ? at : uint32_t(at >> (c.bits ? 32 : 0));
    }
    case Kind::accumulator:
      return c.lane == Lane::f64 ? std::bit_cast<uint64_t>(result_) : std::bit_cast<uint32_t>(float(result_));
    case Kind::op: {
      uint64_t x[5] = {};
      for (int a = 0; a < info(c.op).arity; ++a) x[a] = lanes_[c.args[size_t(a)]];
      return plain_apply(c, x);
    }
    default: return 0;
  }
}

// Instructions before `k` that vary along the row (all of a map's), at the current place.
void PlainProgram::elements_before(size_t k) {
  for (size_t j = 0; j < k; ++j)
    if (!desc_.program[j].row && desc_.program[j].kind != Kind::store) lanes_[j] = value(j);
}

void PlainProgram::store(const Instr& c) const {
  plain_store(desc_.operands[c.operand].dtype, buffer(c), offset_[number(c)], lanes_[c.args[0]]);
}

void PlainProgram::element(int64_t at, double result) {
  result_ = result;
  move_to(at, 0);
  elements_before(desc_.program.size());
  for (const Instr& c : desc_.program)
    if (c.kind == Kind::store) store(c);
}

// The row's values are computed again for each reduction: nothing of a row is kept.
uint64_t PlainProgram::reduce(size_t k, int64_t row) {
  const Instr& c = desc_.program[k];
  Fold fold(c.reduce, c.arg_lane);
  for (int64_t i = 0; i < inner_; ++i) {
    move_to(row, i);
    elements_before(k);
    fold.add(lanes_[c.args[0]], i);
  }
  return fold.result();
}

void PlainProgram::row(int64_t row) {
  bool inner_stores = false;
  for (size_t k = 0; k < desc_.program.size(); ++k) {
    const Instr& c = desc_.program[k];
    if (c.kind == Kind::store) inner_stores = inner_stores || !c.row;
    if (c.kind == Kind::store || !c.row) continue;
    if (c.kind == Kind::reduce) {
      lanes_[k] = reduce(k, row);
    } else {
      move_to(row, 0);
      lanes_[k] = value(k);
    }
  }
  for (int64_t i = 0; inner_stores && i < inner_; ++i) {
    move_to(row, i);
    elements_before(desc_.program.size());
    for (const Instr& c : desc_.program)
      if (c.kind == Kind::store && !c.row) store(c);
  }
  move_to(row, 0);
  for (const Instr& c : desc_.program)
    if (c.kind == Kind::store && c.row) store(c);
}

namespace {

constexpr int64_t group_elements = 1024;

bool always(const KernelDesc&) { return true; }

Grid map_grid(const KernelDesc& d, const Params& p) {
  return {(product(p.region, 0, d.outer_rank) + group_elements - 1) / group_elements, PlainProgram::scratch_bytes(d)};
}

void run_map(const KernelArgs& args, int64_t group, std::byte* scratch) {
  const int64_t n = product(args.params->region, 0, args.desc->outer_rank);
  PlainProgram program(args, scratch);
  for (int64_t i = group * group_elements; i < std::min(n, (group + 1) * group_elements); ++i) program.element(i);
}

Grid row_grid(const KernelDesc& d, const Params& p) {
  return {product(p.region, 0, d.outer_rank), PlainProgram::scratch_bytes(d)};
}

void run_row(const KernelArgs& args, int64_t group, std::byte* scratch) { PlainProgram(args, scratch).row(group); }

}  // namespace

const NativeKernel plain_map_kernel{"map", "map_plain", always, map_grid, nullptr, run_map, true};
const NativeKernel plain_row_kernel{"row", "row_plain", always, row_grid, nullptr, run_row, true};

}  // namespace tenon::cpu
