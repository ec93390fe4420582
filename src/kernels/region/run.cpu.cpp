#include "kernels/region/run.cpu.h"

#include <algorithm>
#include <cstring>

namespace tenon::cpu {

using Kind = Instr::Kind;

namespace {

// Lane i of wide ones. A 4-byte lane is the lower half, which little-endian machines have first.
uint64_t wide_at(const uint32_t* lanes, int64_t i) { return uint64_t(lanes[2 * i + 1]) << 32 | lanes[2 * i]; }
void set_wide(uint32_t* lanes, int64_t i, uint64_t v) {
  lanes[2 * i] = uint32_t(v);
  lanes[2 * i + 1] = uint32_t(v >> 32);
}
int64_t integer_at(Lane lane, const uint32_t* lanes, int64_t i) {
  if (lane == Lane::i64) return int64_t(wide_at(lanes, i));
  return lane == Lane::i32 ? int64_t(int32_t(lanes[i])) : int64_t(lanes[i]);
}
void fill_outside(Lane lane, int64_t n, uint32_t* lanes) {
  if (is_wide(lane)) fill_wide_lanes(lane == Lane::f64 ? 0x7ff8000000000000u : 0u, n, lanes);
  else fill_lanes(lane == Lane::f32 ? 0x7fc00000u : 0u, n, lanes);
}

}  // namespace

Runner::Runner(const Program& program, const KernelArgs& args, int64_t inner, std::byte* scratch)
    : program_(program), desc_(*program.desc), args_(args), params_(args.params->region), inner_(inner) {
  row_stride_ = (inner + 15) / 16 * 16 * program.lane_words;
  registers_ = reinterpret_cast<uint32_t*>(scratch);
  spills_ = registers_ + int64_t(program.registers) * block_lanes * program.lane_words;
  value_ = reinterpret_cast<const uint32_t**>(spills_ + int64_t(program.spills) * row_stride_);
  uniform_ = reinterpret_cast<uint32_t*>(value_ + desc_.program.size());
  first_axis_ = desc_.inner_rank > 0 ? desc_.outer_rank : 0;
  axes_ = desc_.inner_rank > 0 ? desc_.inner_rank : desc_.outer_rank;
}

int64_t Runner::base_offset(const Operand& operand, int number) const {
  const RegionOperandParams& p = params_.operands[number];
  const int64_t base = operand.kind == Operand::Kind::buffer ? int64_t(p.base) : 0;
  if (!operand.dynamic) return base;
  const int64_t at = std::min<int64_t>(args_.scalars[p.dynamic_slot], std::max<int64_t>(p.dynamic_max, 0));
  return base + at * p.dynamic_stride;
}

// Cuts [start, start + n) of the walked axes into runs along the last one: f(done, offset, length, stride).
template <class F>
void Runner::for_runs(int number, int64_t start, int64_t n, F&& f) const {
  const RegionOperandParams& p = params_.operands[number];
  if (axes_ == 0) return f(int64_t(0), base_[number], n, int64_t(0));
  const int last = first_axis_ + axes_ - 1;
  const int64_t length = params_.dims[last], stride = p.strides[last];
  if (axes_ == 1) return f(int64_t(0), base_[number] + start * stride, n, stride);
  for (int64_t done = 0; done < n;) {
    int64_t rest = (start + done) / length;
    const int64_t column = (start + done) % length;
    int64_t offset = base_[number] + column * stride;
    for (int a = last - 1; a >= first_axis_; --a) {
      const int64_t size = params_.dims[a];
      offset += (rest % size) * int64_t(p.strides[a]);
      rest /= size;
    }
    const int64_t run = std::min(n - done, length - column);
    f(done, offset, run, stride);
    done += run;
  }
}

namespace {

// Quantised blocks are read along their elements; other strides (a flipped view, say) one element at a time.
void load_run(DType dtype, const std::byte* base, int64_t offset, int64_t stride, int64_t n, uint32_t* into) {
  if (!is_quantised(dtype) || stride == 1) return load_lanes(dtype, base, offset, stride, n, into);
  for (int64_t i = 0; i < n; ++i) load_lanes(dtype, base, offset + i * stride, 1, 1, into + i);
}

}  // namespace

const uint32_t* Runner::load(const Instr& c, int64_t start, int64_t n, uint32_t* into) {
  const Operand& o = desc_.operands[c.operand];
  const std::byte* base = buffer(c);
  const uint32_t* direct = nullptr;
  const int words = lane_words(c.lane);
  for_runs(number(c), start, n, [&](int64_t done, int64_t offset, int64_t run, int64_t stride) {
    const bool as_lanes = !is_quantised(o.dtype) && block_bytes(o.dtype) == 4 * words;
    if (as_lanes && stride == 1 && run == n) direct = reinterpret_cast<const uint32_t*>(base) + offset * words;
    else load_run(o.dtype, base, offset, stride, run, into + done * words);
  });
  return direct ? direct : into;
}

void Runner::index(const Instr& c, int64_t start, int64_t n, uint32_t* into) {
  const int64_t origin = params_.operands[number(c)].base;
  const int shift = c.bits ? 32 : 0;
  for_runs(number(c), start, n, [&](int64_t done, int64_t offset, int64_t run, int64_t stride) {
    for (int64_t i = 0; i < run; ++i) {
      const uint64_t v = uint64_t(origin + offset + i * stride);
      if (c.lane == Lane::i64) set_wide(into, done + i, v);
      else into[done + i] = uint32_t(v >> shift);
    }
  });
}

void Runner::gather(const Instr& c, int64_t start, int64_t n, const uint32_t* at, uint32_t* into) {
  const Operand& o = desc_.operands[c.operand];
  const RegionOperandParams& p = params_.operands[number(c)];
  const Lane index_lane = desc_.program[c.args[0]].lane;
  const int64_t step = p.gather_stride, extent = p.gather_extent;
  const int words = lane_words(c.lane);
  for_runs(number(c), start, n, [&](int64_t done, int64_t offset, int64_t run, int64_t stride) {
    for (int64_t i = 0; i < run;) {
      const int64_t k = integer_at(index_lane, at, done + i);
      int64_t same = i + 1;
      while (same < run && integer_at(index_lane, at, done + same) == k) ++same;
      uint32_t* to = into + (done + i) * words;
      if (k < 0 || k >= extent) fill_outside(c.lane, same - i, to);
      else load_run(o.dtype, buffer(c), offset + k * step + i * stride, stride, same - i, to);
      i = same;
    }
  });
}

void Runner::store(const Instr& c, int64_t start, int64_t n, const uint32_t* lanes) {
  const Operand& o = desc_.operands[c.operand];
  for_runs(number(c), start, n, [&](int64_t done, int64_t offset, int64_t run, int64_t stride) {
    store_lanes(o.dtype, buffer(c), offset, stride, run, lanes + done * lane_words(c.lane));
  });
}

const uint32_t* Runner::step(const ProgramStep& s, int64_t start, int64_t n, const uint32_t* acc) {
  const Instr& c = desc_.program[size_t(s.instr)];
  uint32_t* into = s.spill >= 0 ? spill(s.spill, s.instr, start) : s.reg >= 0 ? reg(s.reg) : nullptr;
  switch (c.kind) {
    case Kind::load: return load(c, start, n, into);
    case Kind::index: index(c, start, n, into); return into;
    case Kind::gather: gather(c, start, n, value_[c.args[0]], into); return into;
    case Kind::accumulator: return acc;
    case Kind::store: store(c, start, n, value_[c.args[0]]); return nullptr;
    default: break;
  }
  const uint32_t* args[5];
  for (int a = 0; a < info(c.op).arity; ++a) args[a] = value_[c.args[size_t(a)]];
  s.loop(into, args, n);
  return into;
}

void Runner::block(const ProgramStage& stage, int64_t start, int64_t n, const uint32_t* acc) {
  for (const ProgramStep& s : stage.blocks) value_[s.instr] = step(s, start, n, acc);
}

void Runner::uniform(int i) {
  const Instr& c = desc_.program[size_t(i)];
  uint32_t* out = uniform_lane(i);
  const Operand* o = c.operand < desc_.operands.size() ? &desc_.operands[c.operand] : nullptr;
  switch (c.kind) {
    case Kind::constant: set_wide(out, 0, c.bits); return;
    case Kind::scalar: std::memcpy(out, args_.scalars + params_.scalar_slots[c.bits], size_t(lane_words(c.lane)) * 4); return;
    case Kind::load: load_lanes(o->dtype, buffer(c), base_[number(c)], 1, 1, out); return;
    case Kind::index: {
      const int64_t v = params_.operands[number(c)].base + base_[number(c)];
      set_wide(out, 0, uint64_t(v) >> (c.bits ? 32 : 0));
      return;
    }
    case Kind::gather: {
      const int axes = axes_;
      axes_ = 0;  // one element, at the row's place
      gather(c, 0, 1, uniform_lane(int(c.args[0])), out);
      axes_ = axes;
      return;
    }
    case Kind::store: store_lanes(o->dtype, buffer(c), base_[number(c)], 1, 1, uniform_lane(int(c.args[0]))); return;
    default: break;
  }
  const uint32_t* args[5];
  for (int a = 0; a < info(c.op).arity; ++a) args[a] = uniform_lane(int(c.args[size_t(a)]));
  program_.loops[size_t(i)](out, args, 1);
}

void Runner::uniforms(const ProgramStage& stage) {
  for (int i : stage.uniforms) uniform(i);
}

void Runner::spread(const ProgramStage& stage, int64_t n) {
  for (size_t k = 0; k < stage.spread.size(); ++k) {
    const int i = stage.spread[k];
    uint32_t* r = reg(int(k));
    if (is_wide(desc_.program[size_t(i)].lane)) fill_wide_lanes(wide_at(uniform_lane(i), 0), n, r);
    else fill_lanes(*uniform_lane(i), n, r);
    value_[i] = r;
  }
}

void Runner::map(int64_t start, int64_t n, const uint32_t* acc) {
  for (size_t i = size_t(desc_.anchor_operands); i < desc_.operands.size(); ++i)
    base_[i - size_t(desc_.anchor_operands)] = base_offset(desc_.operands[i], int(i) - desc_.anchor_operands);
  const ProgramStage& stage = program_.stages[0];
  uniforms(stage);
  spread(stage, std::min(n, block_lanes));
  for (int64_t done = 0; done < n; done += block_lanes)
    block(stage, start + done, std::min(block_lanes, n - done), acc ? acc + done * program_.accumulator_words : nullptr);
}

void Runner::row(int64_t row) {
  for (size_t i = 0; i < desc_.operands.size(); ++i) {
    const RegionOperandParams& p = params_.operands[i];
    int64_t offset = base_offset(desc_.operands[i], int(i)), rest = row;
    for (int a = desc_.outer_rank - 1; a >= 0; --a) {
      const int64_t size = params_.dims[a];
      offset += (rest % size) * int64_t(p.strides[a]);
      rest /= size;
    }
    base_[i] = offset;
  }
  for (const ProgramStage& stage : program_.stages) {
    uniforms(stage);
    if (stage.blocks.empty() && stage.reduces.empty()) continue;
    spread(stage, std::min(inner_, block_lanes));
    Reduction reductions[max_stage_reductions];
    const size_t count = stage.reduces.size();
    for (size_t k = 0; k < count; ++k) {
      const Instr& c = desc_.program[size_t(stage.reduces[k])];
      reduce_begin(c.reduce, c.arg_lane, reductions[k]);
    }
    for (int64_t start = 0; start < inner_; start += block_lanes) {
      const int64_t n = std::min(block_lanes, inner_ - start);
      for (const ProgramStage::Kept& k : stage.kept) value_[k.instr] = spill(k.spill, k.instr, start);
      block(stage, start, n, nullptr);
      for (size_t k = 0; k < count; ++k) {
        const Instr& c = desc_.program[size_t(stage.reduces[k])];
        reduce_block(c.reduce, c.arg_lane, reductions[k], value_[c.args[0]], n, start);
      }
    }
    for (size_t k = 0; k < count; ++k) {
      const Instr& c = desc_.program[size_t(stage.reduces[k])];
      set_wide(uniform_lane(stage.reduces[k]), 0, reduce_end(c.reduce, c.arg_lane, reductions[k]));
    }
  }
}

}  // namespace tenon::cpu
