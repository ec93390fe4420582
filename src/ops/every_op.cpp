// Every op for every dtype, each as a small plan of its own: what ships for devices that cannot compile is what these
// plans are made of. The plans of canonical launches (graph/fixed.h) hold nodes one by one, so nodes are enough here.
#include <vector>

#include "graph/handles.h"
#include "ops/rules.h"
#include "tenon/kernel_cache.h"
#include "tenon/tenon.h"

namespace tenon {

using namespace ops;
using graph::Kind;

namespace {

constexpr DType floats[] = {DType::f32, DType::f16, DType::bf16, DType::f64};
constexpr DType narrow_floats[] = {DType::f32, DType::f16, DType::bf16};
constexpr DType plain[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::u32, DType::u8, DType::i8, DType::i64, DType::bool_};
constexpr DType quantised[] = {DType::q8_0, DType::q4_0, DType::q4_1};

bool is_number(DType t) { return t != DType::bool_; }

// Instructions that are not the op of a node: conversions are casts, and random bits a node of their own.
bool is_node_op(ScalarOp op) { return op < ScalarOp::to_f32; }

bool takes(ScalarOp op, DType t) {
  if (std::string_view(info(op).lanes).find(lane_letter(graph::lane_of(t))) == std::string_view::npos) return false;
  if (is_number(t)) return true;
  switch (op) {  // no arithmetic on bool
    case ScalarOp::eq: case ScalarOp::ne: case ScalarOp::lt: case ScalarOp::le: case ScalarOp::bit_and: case ScalarOp::bit_or:
    case ScalarOp::bit_xor: case ScalarOp::select: return true;
    default: return false;
  }
}

class EveryOp {
 public:
  explicit EveryOp(const Device& device) : d_(device) {}

  void run() {
    sources();
    moves();
    maps();
    casts();
    reductions();
    products();
    attentions();
    sorting();
    eval(sample(to_tensor(leaf(DType::f32, {2, 8})), SampleSettings(d_)));
  }

 private:
  void plan(const NodeRef& root) { eval(to_tensor(root)); }

  // Memory with nothing in it: plans of this device do not run.
  NodeRef leaf(DType t, Shape shape = {2, 3}) {
    const int64_t bytes = element_count(shape) / block_elements(t) * block_bytes(t);
    return graph::leaf(make_ref<Storage>(d_.shared(), bytes), t, std::move(shape));
  }
  NodeRef run_time(DType t = DType::u32) { return graph::scalar(d_.shared(), t, 0); }

  void sources() {
    for (DType t : plain) plan(graph::constant(d_.shared(), t, 0, {2, 3}));
    for (DType t : {DType::f32, DType::u32, DType::f64, DType::i64}) plan(run_time(t));
    for (DType t : {DType::i32, DType::u32, DType::i64}) plan(graph::iota(d_.shared(), t, {3}, 0));
    plan(node_of(random_bits({2, 3}, 1, 0, d_)));
  }

  void moves() {
    for (DType t : plain) {
      plan(graph::concat({leaf(t), leaf(t)}, 0));
      plan(graph::dynamic_slice(leaf(t), run_time(), 0, 1));
      plan(graph::update(leaf(t), leaf(t, {1, 3}), run_time(), 0));
      plan(graph::gather(leaf(t), leaf(DType::i64, {4}), 0));
    }
    for (DType t : quantised) plan(graph::gather(leaf(t, {2, 32}), leaf(DType::i64, {4}), 0));
  }

  void maps() {
    for (int number = 0; number < scalar_op_count; ++number)
      for (DType t : plain) {
        const auto op = ScalarOp(number);
        if (!is_node_op(op) || !takes(op, t)) continue;
        std::vector<NodeRef> inputs;
        for (int i = 0; i < info(op).arity; ++i) inputs.push_back(leaf(op == ScalarOp::select && i == 0 ? DType::bool_ : t));
        plan(graph::map(op, info(op).result == 'b' ? DType::bool_ : t, std::move(inputs)));
      }
  }

  void casts() {
    for (DType from : plain)
      for (DType to : plain)
        if (from != to) plan(graph::cast(leaf(from), to));
    for (DType from : quantised)
      for (DType to : floats) plan(graph::cast(leaf(from, {2, 32}), to));
  }

  // Sums and products are computed in f32, i32, u32 or wider; but the sums of matmul's composition wrap in their dtype.
  void reductions() {
    for (DType t : plain) {
      if (!is_number(t)) continue;
      const bool wide_enough = block_bytes(t) >= 4;
      if (wide_enough || is_integer(t)) plan(graph::reduce(ReduceOp::sum, leaf(t), {1}));
      if (wide_enough) plan(graph::reduce(ReduceOp::prod, leaf(t), {1}));
      for (ReduceOp op : {ReduceOp::max, ReduceOp::argmax}) plan(graph::reduce(op, leaf(t), {1}));
      for (ReduceOp op : {ReduceOp::sum_exp, ReduceOp::sum_sq_dev})
        if (wide_enough && is_float(t)) plan(graph::reduce(op, leaf(t), {1}));
    }
  }

  void products() {
    for (DType a : narrow_floats) {
      for (DType b : narrow_floats) eval(matmul(to_tensor(leaf(a, {2, 4})), to_tensor(leaf(b, {4, 3}))));
      for (DType w : quantised) eval(linear(to_tensor(leaf(a, {2, 32})), to_tensor(leaf(w, {3, 32})), Tensor()));
    }
  }

  void attentions() {
    for (DType q : narrow_floats)
      for (DType kv : narrow_floats)
        for (bool causal : {false, true}) {
          AttentionOptions o;
          o.causal = causal;
          const Shape shape{1, 1, 2, 4};
          eval(attention(to_tensor(leaf(q, shape)), to_tensor(leaf(kv, shape)), to_tensor(leaf(kv, shape)), o));
        }
  }

  void sorting() {
    const Tensor index = to_tensor(leaf(DType::i32, {2}));
    for (DType t : plain) {
      const Tensor x = to_tensor(leaf(t)), source = to_tensor(leaf(t));
      for (bool descending : {false, true}) eval(argsort(x, 1, descending));
      eval(index_set(x, index, source, 0));
      if (!is_number(t)) continue;
      eval(index_add(x, index, source, 0));
      eval(index_max(x, index, source, 0));
      for (auto* scan : {cumsum, cumprod, cummax}) eval(scan(x, 1));
      if (is_float(t)) eval(logcumsumexp(x, 1));
    }
  }

  const Device d_;
};

}  // namespace

void plan_every_op(const Device& device) { EveryOp(device).run(); }

}  // namespace tenon
