#include "graph/lower.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "graph/fixed.h"

namespace tenon::graph {
namespace {

// Everything that has strides over the region's axes: loads, virtual index operands, outputs.
struct Accessed {
  int use = -1;     // loads and index operands
  int output = -1;  // outputs
  int buffer = -1;
  Operand operand;
  std::vector<int64_t> strides;
  int64_t offset = 0;  // elements; for an index operand: its value at the origin
  int64_t gather_stride = 0, gather_extent = 0;
  int64_t dynamic_stride = 0, dynamic_max = 0;
  const Node* dynamic_scalar = nullptr;
};

// Whether the op's result is a value of the dtype as it comes.
bool exact(ScalarOp op, DType dtype) {
  switch (op) {
    case ScalarOp::neg: case ScalarOp::abs: return is_float(dtype);  // an integer may have no opposite
    case ScalarOp::min: case ScalarOp::max: case ScalarOp::select: return true;
    default: return false;
  }
}

class Lowering {
 public:
  Lowering(const Region& region, const Schedule& schedule, const std::function<uint32_t(const Node*)>& slot_of, bool fixed)
      : r_(region), schedule_(schedule), slot_of_(slot_of), fixed_(fixed) {}

  std::vector<Launch> run() {
    order_axes();
    if (fixed_ && !r_.anchor) collect_fixed();
    else collect_uses();
    collect_outputs();
    collapse();
    int64_t rows = 1;
    for (size_t j = 0; j < outer_; ++j) rows *= dims_[j];
    if (rows == 0 || (outer_ == dims_.size() && element_count(dims_) == 0)) return {};
    if (fixed_) fill_ranks();
    emit_program();
    return peel();
  }

 private:
  // Outer axes first, then inner ones, each in their own order.
  void order_axes() {
    for (bool inner : {false, true})
      for (size_t j = 0; j < r_.dims.size(); ++j)
        if (r_.inner[j] == inner) axes_.push_back(j);
    for (size_t j : axes_) {
      dims_.push_back(r_.dims[j]);
      if (!r_.inner[j]) ++outer_;
    }
  }

  Accessed accessed(const IndexMap& map, const Strides& storage) {
    const LinearAccess a = linear_access(map, storage, r_.dims.size());
    Accessed x;
    for (size_t j : axes_) x.strides.push_back(a.strides[j]);
    x.offset = a.offset;
    if (map.dynamic) {
      x.dynamic_scalar = map.dynamic->scalar;
      x.dynamic_stride = a.dynamic_stride;
      x.dynamic_max = map.dynamic->max;
      x.operand.dynamic = true;
    }
    return x;
  }

  void collect_uses() {
    for (int i = 0; i < int(r_.uses.size()); ++i) {
      const Use& u = r_.uses[size_t(i)];
      if (u.anchor_operand >= 0 || u.alias) continue;
      if (u.state == Use::State::loaded && is_empty(u)) continue;
      if (u.state == Use::State::loaded) collect_load(i);
      else if (u.node->kind == Kind::iota) collect_index(i, iota_strides(*u.node));
      else if (u.node->kind == Kind::random_bits) collect_index(i, dense_strides(u.node->shape));
    }
  }

  // One operand for each argument, in order, however many are the same.
  void collect_fixed() {
    const int root = r_.value_of(r_.outputs[0].use);
    const Use& u = r_.uses[size_t(root)];
    const Node& n = *u.node;
    if (u.state == Use::State::loaded) return collect_load(root);
    if (n.kind == Kind::iota) collect_index(root, iota_strides(n));
    if (n.kind == Kind::random_bits) collect_index(root, dense_strides(n.shape));
    if (n.kind == Kind::constant) {
      collect_index(root, Strides(n.shape.size(), 0));
      accessed_.back().offset = n.ints[0];
    }
    for (int a : u.args) {
      argument_operand_.push_back(int(accessed_.size()));
      collect_load(r_.value_of(a));
    }
  }

  void collect_outputs() {
    for (int i = 0; i < int(r_.outputs.size()); ++i) {
      const Output& o = r_.outputs[size_t(i)];
      Accessed x = accessed(o.map, o.strides);
      x.output = i;
      x.buffer = o.buffer;
      x.operand.access = Access::out;
      x.operand.dtype = schedule_.buffers[size_t(o.buffer)].node->dtype;
      add(std::move(x));
    }
  }

  // An empty value may be wanted, in a reduction over no elements; there is no memory to read it from.
  static bool is_empty(const Use& u) { return element_count(u.node->shape) == 0; }

  static Strides iota_strides(const Node& n) {
    Strides s(n.shape.size(), 0);
    s[size_t(n.ints[0])] = 1;
    return s;
  }

  void collect_load(int use) {
    const Use& u = r_.uses[size_t(use)];
    Accessed x = accessed(u.map, u.strides);
    x.use = use;
    x.buffer = u.buffer;
    x.operand.dtype = u.node->dtype;
    if (u.gathered) {
      x.operand.gathered = true;
      x.gather_stride = u.strides[size_t(u.gather_axis)];
      x.gather_extent = u.node->shape[size_t(u.gather_axis)];
    }
    add(std::move(x));
  }

  void collect_index(int use, const Strides& strides) {
    Accessed x = accessed(r_.uses[size_t(use)].map, strides);
    x.use = use;
    x.operand.kind = Operand::Kind::index;
    x.operand.dtype = DType::u32;
    add(std::move(x));
  }

  void add(Accessed x) {
    if (x.use >= 0) operand_of_use_[x.use] = int(accessed_.size());
    accessed_.push_back(std::move(x));
  }

  // Axes of size 1 go; neighbours that every operand walks as one become one.
  void collapse() {
    for (size_t j = dims_.size(); j-- > 0;) {
      const bool only_inner = j >= outer_ && dims_.size() == outer_ + 1;
      if (dims_[j] == 1 && !only_inner) remove_axis(j);
    }
    for (size_t j = dims_.size(); j-- > 1;) {
      if ((j - 1 < outer_) != (j < outer_)) continue;
      const bool joint = std::all_of(accessed_.begin(), accessed_.end(), [&](const Accessed& x) {
        return x.strides[j - 1] == x.strides[j] * dims_[j];
      });
      if (!joint) continue;
      const int64_t inner = dims_[j];
      for (Accessed& x : accessed_) x.strides[j - 1] = x.strides[j];
      dims_[j - 1] *= inner;
      remove_axis(j);
    }
  }

  void remove_axis(size_t j) {
    dims_.erase(dims_.begin() + int64_t(j));
    for (Accessed& x : accessed_) x.strides.erase(x.strides.begin() + int64_t(j));
    if (j < outer_) --outer_;
  }

  // The ranks of canonical launches, by axes of size 1 in front.
  void fill_ranks() {
    const auto fill = [&](size_t at, size_t missing, int64_t stride) {
      dims_.insert(dims_.begin() + int64_t(at), missing, 1);
      for (Accessed& x : accessed_) x.strides.insert(x.strides.begin() + int64_t(at), missing, stride);
    };
    const auto missing = [](size_t rank, size_t has) { return has < rank ? rank - has : 0; };
    if (r_.anchor) {  // its results are dense
      fill(0, missing(1, outer_), 1);
      outer_ = 1;
      TENON_CHECK(dims_.size() == 1 && accessed_.size() == 1 && accessed_[0].strides[0] == 1);
    } else if (!has_inner()) {
      fill(0, missing(fixed_map_rank, outer_), 0);
      outer_ = dims_.size();
    } else {
      fill(outer_, missing(fixed_row_rank, dims_.size() - outer_), 0);
      const size_t before = dims_.size();
      fill(0, missing(fixed_row_rank, outer_), 0);
      outer_ += dims_.size() - before;
      TENON_CHECK(dims_.size() - outer_ == fixed_row_rank);
    }
  }

  bool varies_inside(const Accessed& x) const {
    if (fixed_) return x.output < 0;
    for (size_t j = outer_; j < dims_.size(); ++j)
      if (x.strides[j] != 0) return true;
    return false;
  }

  // ---------------------------------------------------------------------------------------------- the program

  void emit_program() {
    if (r_.anchor && !r_.anchor->anchor->epilogue) return;  // its kernel stores the results itself
    for (const Accessed& x : accessed_) {
      if (x.output < 0) continue;
      const int value = emit(r_.outputs[size_t(x.output)].use);
      Instr store;
      store.kind = Instr::Kind::store;
      store.lane = store.arg_lane = program_[size_t(value)].lane;
      store.operand = uint16_t(&x - accessed_.data());
      store.args[0] = uint16_t(value);
      store.row = has_inner() && !varies_inside(x);
      program_.push_back(store);
    }
  }

  bool has_inner() const { return outer_ < dims_.size(); }

  int push(Instr i) {
    program_.push_back(i);
    return int(program_.size()) - 1;
  }

  // Depth is bounded by the region's size, which the scheduler limits.
  int emit(int use) {
    if (auto it = emitted_.find(use); it != emitted_.end()) return it->second;
    const Use& u = r_.uses[size_t(use)];
    int result;
    if (u.state == Use::State::loaded) result = emit_load(use);
    else if (u.alias) result = emit(u.args[0]);
    else if (u.accumulator) result = rounded(emit_simple(Instr::Kind::accumulator, lane_of(u.node->dtype), 0), u.node->dtype);
    else result = emit_node(use, *u.node);
    emitted_[use] = result;
    return result;
  }

  int emit_node(int use, const Node& n) {
    const Use& u = r_.uses[size_t(use)];
    switch (n.kind) {
      case Kind::constant:
        if (fixed_) return emit_index(use, lane_of(n.dtype), 0);
        return emit_simple(Instr::Kind::constant, lane_of(n.dtype), uint64_t(n.ints[0]));
      case Kind::scalar: return emit_simple(Instr::Kind::scalar, lane_of(n.dtype), scalar_number(&n));
      case Kind::iota: return emit_index(use, lane_of(n.dtype), 0);
      case Kind::map: return emit_map(u, n);
      case Kind::cast: return convert(argument(u, 0), source_dtype(*n.inputs[0]), n.dtype);
      case Kind::reduce: return emit_reduce(u, n);
      case Kind::gather: return emit_gather(u, n);
      case Kind::random_bits: return emit_random(use, u);
      default: TENON_CHECK(false, "no code for ", to_string(n.kind)); return 0;
    }
  }

  static DType source_dtype(const Node& n) { return is_quantised(n.dtype) ? DType::f32 : n.dtype; }

  int emit_simple(Instr::Kind kind, Lane lane, uint64_t bits) {
    Instr i;
    i.kind = kind;
    i.lane = i.arg_lane = lane;
    i.bits = bits;
    i.row = has_inner();
    return push(i);
  }

  uint32_t scalar_number(const Node* n) {
    for (size_t i = 0; i < scalars_.size(); ++i)
      if (scalars_[i] == n) return uint32_t(i);
    TENON_CHECK(scalars_.size() < size_t(region_max_scalars));
    scalars_.push_back(n);
    return uint32_t(scalars_.size()) - 1;
  }

  int emit_index(int use, Lane lane, uint32_t word) {
    Instr i;
    i.kind = Instr::Kind::index;
    i.lane = i.arg_lane = lane;
    i.bits = word;
    i.operand = uint16_t(operand_of_use_.at(use));
    i.row = has_inner() && !varies_inside(accessed_[i.operand]);
    return push(i);
  }

  int argument(const Use& u, size_t number) {
    if (!fixed_) return emit(u.args[number]);
    return emit_load(r_.value_of(u.args[number]), argument_operand_[number]);
  }

  int emit_load(int use) {
    if (is_empty(r_.uses[size_t(use)])) return emit_simple(Instr::Kind::constant, lane_of(r_.uses[size_t(use)].node->dtype), 0);
    return emit_load(use, operand_of_use_.at(use));
  }

  int emit_load(int use, int operand) {
    const Use& u = r_.uses[size_t(use)];
    Instr i;
    i.kind = Instr::Kind::load;
    i.operand = uint16_t(operand);
    i.lane = i.arg_lane = lane_of(u.node->dtype);
    i.row = has_inner() && !varies_inside(accessed_[i.operand]);
    return push(i);
  }

  int emit_gather(const Use& u, const Node& n) {
    if (is_empty(r_.uses[size_t(u.args[0])]))
      return emit_simple(Instr::Kind::constant, lane_of(n.dtype), outside_bits(lane_of(n.dtype)));
    const int index = argument(u, 1);
    Instr i;
    i.kind = Instr::Kind::gather;
    i.operand = uint16_t(operand_of_use_.at(u.args[0]));
    i.lane = i.arg_lane = lane_of(n.dtype);
    i.args[0] = uint16_t(index);
    i.row = program_[size_t(index)].row && !varies_inside(accessed_[i.operand]);
    return push(i);
  }

  int emit_random(int use, const Use& u) {
    const int low = emit_index(use, Lane::u32, 0), high = emit_index(use, Lane::u32, 1);
    const int a = argument(u, 0), b = argument(u, 1), c = argument(u, 2);
    return emit_op(ScalarOp::philox, Lane::u32, {low, high, a, b, c});
  }

  int emit_op(ScalarOp op, Lane arg_lane, const std::vector<int>& args) {
    Instr i;
    i.kind = Instr::Kind::op;
    i.op = op;
    i.arg_lane = arg_lane;
    i.lane = result_lane(op, arg_lane);
    i.row = has_inner();
    for (size_t k = 0; k < args.size(); ++k) {
      i.args[k] = uint16_t(args[k]);
      i.row = i.row && program_[size_t(args[k])].row;
    }
    return push(i);
  }

  int emit_map(const Use& u, const Node& n) {
    std::vector<int> args;
    for (size_t k = 0; k < u.args.size(); ++k) args.push_back(argument(u, k));
    const int value = emit_op(n.op, lane_of(n.inputs.back()->dtype), args);
    return exact(n.op, n.dtype) ? value : rounded(value, n.dtype);
  }

  int emit_reduce(const Use& u, const Node& n) {
    Instr i;
    i.kind = Instr::Kind::reduce;
    i.reduce = n.reduce;
    i.arg_lane = lane_of(n.inputs[0]->dtype);
    i.lane = n.reduce == ReduceOp::argmax ? Lane::u32 : i.arg_lane;
    i.args[0] = uint16_t(argument(u, 0));
    i.row = true;
    const int value = push(i);
    return n.reduce == ReduceOp::max || n.reduce == ReduceOp::argmax ? value : rounded(value, n.dtype);
  }

  int rounded(int value, DType dtype) {
    if (dtype == DType::f16) return emit_op(ScalarOp::round_f16, Lane::f32, {value});
    if (dtype == DType::bf16) return emit_op(ScalarOp::round_bf16, Lane::f32, {value});
    if (dtype == DType::u8) return emit_op(ScalarOp::wrap_u8, Lane::u32, {value});
    if (dtype == DType::i8) return emit_op(ScalarOp::wrap_i8, Lane::i32, {value});
    return value;
  }

  static ScalarOp conversion_to(Lane lane) {
    switch (lane) {
      case Lane::f32: return ScalarOp::to_f32;
      case Lane::i32: return ScalarOp::to_i32;
      case Lane::u32: return ScalarOp::to_u32;
      case Lane::f64: return ScalarOp::to_f64;
      case Lane::i64: return ScalarOp::to_i64;
    }
    return ScalarOp::to_f32;
  }

  // Floats saturate at the ends of the dtype, where the lane's own conversion does at those of the lane.
  int saturated(int value, DType dtype) {
    const Lane lane = lane_of(dtype);
    const auto bound = [&](int at) { return emit_simple(Instr::Kind::constant, lane, lane_bits(dtype, at)); };
    if (dtype == DType::u8) return emit_op(ScalarOp::min, lane, {value, bound(255)});
    if (dtype != DType::i8) return value;
    return emit_op(ScalarOp::max, lane, {emit_op(ScalarOp::min, lane, {value, bound(127)}), bound(-128)});
  }

  static bool has_every_value_of(DType to, DType from) { return is_integer(to) && from == DType::bool_; }

  int convert(int value, DType from, DType to) {
    const Lane a = lane_of(from), b = lane_of(to);
    if (to == DType::bool_) return from == DType::bool_ ? value : emit_op(ScalarOp::to_bool, a, {value});
    if (a != b) value = emit_op(conversion_to(b), a, {value});
    if (is_float(from) && is_integer(to)) return saturated(value, to);
    return from == to || has_every_value_of(to, from) ? value : rounded(value, to);
  }

  // ---------------------------------------------------------------------------------------------- the launches

  static int64_t byte_offset(const Accessed& x, int64_t elements) {
    const int64_t block = block_elements(x.operand.dtype);
    TENON_CHECK(elements % block == 0, "a quantised view starts inside a block");
    return elements / block * block_bytes(x.operand.dtype);
  }

  // Axes beyond the ABI's rank become separate launches, one per index of the leading axes. Only views that flip or
  // permute more than six axes at once get here.
  std::vector<Launch> peel() {
    const size_t extra = dims_.size() > size_t(region_max_rank) ? dims_.size() - size_t(region_max_rank) : 0;
    TENON_CHECK(extra <= outer_ && (extra == 0 || !r_.anchor), "a kernel of ", dims_.size(), " axes");
    std::vector<int64_t> at(extra, 0);
    std::vector<Launch> launches;
    for (;;) {
      launches.push_back(launch(at));
      size_t j = extra;
      while (j > 0 && ++at[j - 1] == dims_[j - 1]) at[--j] = 0;
      if (j == 0) return launches;
    }
  }

  Launch launch(const std::vector<int64_t>& at) {
    Launch l;
    KernelDesc& d = l.desc;
    d.family = r_.anchor ? r_.anchor->anchor->family : has_inner() ? "row" : "map";
    d.outer_rank = int(outer_ - at.size());
    d.inner_rank = int(dims_.size() - outer_);
    if (r_.anchor) bind_anchor(l);
    d.anchor_operands = int(d.operands.size());
    d.program = program_;
    for (size_t j = at.size(); j < dims_.size(); ++j) l.params.region.dims[j - at.size()] = dims_[j];
    for (size_t i = 0; i < accessed_.size(); ++i) bind(l, accessed_[i], i, at);
    for (Instr& i : d.program)
      if (uses_operand(i)) i.operand = uint16_t(i.operand + d.anchor_operands);
    for (size_t i = 0; i < scalars_.size(); ++i) l.params.region.scalar_slots[i] = slot_of_(scalars_[i]);
    l.scalars = l.scalars || !scalars_.empty();
    return l;
  }

  static bool uses_operand(const Instr& i) {
    return i.kind == Instr::Kind::load || i.kind == Instr::Kind::gather || i.kind == Instr::Kind::index ||
           i.kind == Instr::Kind::store;
  }

  void bind(Launch& l, const Accessed& x, size_t number, const std::vector<int64_t>& at) {
    TENON_CHECK(number < size_t(region_max_operands), "too many operands in one kernel");
    Operand o = x.operand;
    RegionOperandParams& p = l.params.region.operands[number];
    int64_t offset = x.offset;
    for (size_t j = 0; j < at.size(); ++j) offset += at[j] * x.strides[j];
    for (size_t j = at.size(); j < dims_.size(); ++j) {
      const int64_t s = x.strides[j];
      p.strides[j - at.size()] = s;
      o.stride_class[j - at.size()] = fixed_ && !r_.anchor ? 2 : s == 0 ? 0 : s == 1 ? 1 : 2;
    }
    p.gather_stride = x.gather_stride;
    p.gather_extent = x.gather_extent;
    if (x.operand.dynamic) {
      p.dynamic_stride = x.dynamic_stride;
      p.dynamic_max = uint32_t(std::min<int64_t>(x.dynamic_max, 0xffffffff));
      p.dynamic_slot = slot_of_(x.dynamic_scalar);
      l.scalars = true;
    }
    // A quantised view may start inside a block: its offset goes into the parameters.
    const bool in_elements = o.kind == Operand::Kind::index || is_quantised(o.dtype);
    if (in_elements) p.base = offset;
    if (o.kind == Operand::Kind::buffer) l.views.push_back({x.buffer, in_elements ? 0 : byte_offset(x, offset), o.access, 0});
    l.desc.operands.push_back(o);
  }

  static int64_t below(const Shape& shape, const std::vector<int64_t>& strides) {
    int64_t elements = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      if (strides[d] < 0 && shape[d] > 0) elements -= strides[d] * (shape[d] - 1);
    return elements;
  }

  void bind_anchor(Launch& l) {
    const Node& n = *r_.anchor;
    std::vector<OperandView> views;
    for (int use : r_.anchor_uses) {
      const Use& u = r_.uses[size_t(use)];
      const Node& own = *n.inputs[size_t(u.anchor_operand)];
      const LinearAccess a = linear_access(u.map, u.strides, own.shape.size());
      Accessed x;
      x.operand.dtype = own.dtype;
      views.push_back({own.dtype, own.shape, a.strides});
      l.views.push_back({u.buffer, byte_offset(x, a.offset), Access::in, below(own.shape, a.strides)});
      l.desc.operands.push_back(x.operand);
    }
    std::vector<uint32_t> slots;
    for (size_t i = size_t(n.anchor->tensors); i < n.inputs.size(); ++i) slots.push_back(slot_of_(n.inputs[i].get()));
    l.scalars = !slots.empty();
    l.desc.attributes = n.anchor->attributes(n);
    n.anchor->parameters(n, views, slots, l.params);
  }

  const Region& r_;
  const Schedule& schedule_;
  const std::function<uint32_t(const Node*)>& slot_of_;
  const bool fixed_;
  std::vector<size_t> axes_;
  std::vector<int64_t> dims_;
  size_t outer_ = 0;
  std::vector<Accessed> accessed_;
  std::unordered_map<int, int> operand_of_use_, emitted_;
  std::vector<int> argument_operand_;  // canonical launches
  std::vector<Instr> program_;
  std::vector<const Node*> scalars_;
};

}  // namespace

std::vector<Launch> lower(const Region& region, const Schedule& schedule,
                          const std::function<uint32_t(const Node*)>& slot_of, bool fixed) {
  return Lowering(region, schedule, slot_of, fixed).run();
}

KernelDesc anchor_desc(const Node& node) {
  KernelDesc d;
  d.family = node.anchor->family;
  d.anchor_operands = node.anchor->tensors;
  for (int i = 0; i < node.anchor->tensors; ++i) {
    Operand o;
    o.dtype = node.inputs[size_t(i)]->dtype;
    d.operands.push_back(o);
  }
  d.attributes = node.anchor->attributes(node);
  return d;
}

}  // namespace tenon::graph
