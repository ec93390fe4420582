// matmul, linear and attention: anchors, each with the composition that gives the same value where a device has no
// kernel for it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "ops/reduce_rules.h"

namespace tenon {

using namespace ops;
using graph::Anchor;
using graph::Node;
using graph::OperandView;

namespace {

std::vector<int64_t> no_attributes(const Node&) { return {}; }
Tensor input(const Node& n, size_t i) { return to_tensor(n.inputs[i]); }

// ------------------------------------------------------------------------------------------------------- matmul

// Operands are [b.., M, K] and [b.., K, N], at most three batch axes, already broadcast (stride 0).
bool matmul_takes(int, const OperandView&) { return true; }

void matmul_parameters(const Node& n, std::span<const OperandView> views, std::span<const uint32_t>, Params& out) {
  MatmulParams p{};
  const size_t batch = n.shape.size() - 2;
  p.m = n.shape[batch];
  p.n = n.shape[batch + 1];
  p.k = views[0].shape[batch + 1];
  for (size_t i = 0; i < 3; ++i) {
    const bool used = i < batch;
    p.batch[i] = used ? n.shape[i] : 1;
    p.a_batch[i] = used ? views[0].strides[i] : 0;
    p.b_batch[i] = used ? views[1].strides[i] : 0;
  }
  p.a_row = views[0].strides[batch];
  p.a_col = views[0].strides[batch + 1];
  p.b_row = views[1].strides[batch];
  p.b_col = views[1].strides[batch + 1];
  out.matmul = p;
}

// Broadcast, multiply, sum.
NodeRef matmul_compose(const Node& n) {
  const Tensor a = cast(input(n, 0), DType::f32), b = cast(input(n, 1), DType::f32);
  const Tensor products = expand_dims(a, -1) * expand_dims(b, -3);  // [.., M, K, N]
  const Tensor s = to_tensor(graph::reduce(ReduceOp::sum, node_of(products), {products.rank() - 2}));
  return node_of(cast(s, n.dtype));
}

const Anchor matmul_anchor{"matmul", 2, true, matmul_takes, no_attributes, matmul_parameters, matmul_compose};

// ------------------------------------------------------------------------------------------------- quantised matmul

bool quant_takes(int operand, const OperandView& v) {
  if (operand == 1) return v.strides == dense_strides(v.shape);
  return v.shape[1] <= 1 || v.strides[1] == 1;
}

void quant_parameters(const Node& n, std::span<const OperandView> views, std::span<const uint32_t>, Params& out) {
  QuantMatmulParams p{};
  p.m = n.shape[0];
  p.n = n.shape[1];
  p.k = views[0].shape[1];
  p.x_row = views[0].strides[0];
  out.quant_matmul = p;
}

NodeRef quant_compose(const Node& n) {
  return node_of(cast(matmul(cast(input(n, 0), DType::f32), transpose(cast(input(n, 1), DType::f32))), n.dtype));
}

const Anchor quant_matmul_anchor{"quant_matmul", 2, true, quant_takes, no_attributes, quant_parameters, quant_compose};

// ------------------------------------------------------------------------------------------------------- attention

// ints: {causal, has kv_len, has q_start, scale bits}
bool attention_takes(int, const OperandView& v) { return v.shape[3] <= 1 || v.strides[3] == 1; }

std::vector<int64_t> attention_attributes(const Node& n) { return {n.ints[0]}; }

void attention_parameters(const Node& n, std::span<const OperandView> v, std::span<const uint32_t> slots, Params& out) {
  AttentionParams p{};
  const Strides o = dense_strides(n.shape);
  p.b = n.shape[0], p.h = n.shape[1], p.t = n.shape[2], p.d = n.shape[3];
  p.g = v[1].shape[1], p.s = v[1].shape[2];
  p.q_b = v[0].strides[0], p.q_h = v[0].strides[1], p.q_t = v[0].strides[2];
  p.k_b = v[1].strides[0], p.k_g = v[1].strides[1], p.k_s = v[1].strides[2];
  p.v_b = v[2].strides[0], p.v_g = v[2].strides[1], p.v_s = v[2].strides[2];
  p.out_b = o[0], p.out_h = o[1], p.out_t = o[2];
  p.scale = std::bit_cast<float>(uint32_t(n.ints[3]));
  p.kv_len_slot = n.ints[1] ? slots[0] : no_slot;
  p.q_start_slot = n.ints[2] ? slots[size_t(n.ints[1])] : no_slot;
  out.attention = p;
}

// Scores, mask, softmax, values. Keys beyond kv_len are masked by selection, values too: a stale tail may hold NaN.
NodeRef attention_compose(const Node& n) {
  const Tensor q = cast(input(n, 0), DType::f32), k = cast(input(n, 1), DType::f32), v = cast(input(n, 2), DType::f32);
  const int64_t B = q.dim(0), H = q.dim(1), T = q.dim(2), D = q.dim(3), G = k.dim(1), S = k.dim(2), R = H / G;
  const auto& device = n.device;
  auto position = [&](Shape shape, int axis) { return to_tensor(graph::iota(device, DType::i32, std::move(shape), axis)); };
  const Tensor key = position({S, 1}, 0);
  const Tensor keys = n.ints[1] ? cast(input(n, 3), DType::i32) : full({}, double(S), DType::i32, Device(device));
  const Tensor start = n.ints[2] ? cast(input(n, size_t(3 + n.ints[1])), DType::i32) : keys - full({}, double(T), DType::i32, Device(device));
  const Tensor values = where(less(key, keys), reshape(v, {B, G, 1, S, D}), full({}, 0, DType::f32, Device(device)));
  const Tensor scale = full({}, double(std::bit_cast<float>(uint32_t(n.ints[3]))), DType::f32, Device(device));
  Tensor scores = matmul(reshape(q, {B, G, R, T, D}), transpose(reshape(k, {B, G, 1, S, D}))) * scale;
  const Tensor key_row = position({1, S}, 1), query = position({T, 1}, 0) + start;
  Tensor seen = less(key_row, keys);
  if (n.ints[0]) seen = logical_and(seen, less_equal(key_row, query));
  scores = where(seen, scores, full({}, -std::numeric_limits<double>::infinity(), DType::f32, Device(device)));
  return node_of(cast(reshape(matmul(softmax(scores), values), {B, H, T, D}), n.dtype));
}

const Anchor attention_anchor{"attention", 3, true, attention_takes, attention_attributes, attention_parameters, attention_compose};

Tensor with_leading_axis(const Tensor& x, bool one_d, int64_t axis) { return one_d ? expand_dims(x, axis) : x; }

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  const DType t = promote("matmul", a, b);
  if (!is_float(t)) fail_dtype("matmul", {&a, &b}, "needs f32, f16 or bf16; cast() first");
  if (a.rank() == 0 || b.rank() == 0) fail_shape("matmul", {&a, &b}, "0-d operands have no axis to sum over; multiply() instead");
  const bool row = a.rank() == 1, column = b.rank() == 1;
  const Tensor x = with_leading_axis(a, row, 0), y = with_leading_axis(b, column, 1);
  if (x.dim(-1) != y.dim(-2)) fail_shape("matmul", {&a, &b}, cat("the last axis of the first (", x.dim(-1), ") must be the ", column ? "first" : "second-last", " of the second (", y.dim(-2), ")"));
  const int64_t M = x.dim(-2), K = x.dim(-1), N = y.dim(-1);
  Shape bx(x.shape().begin(), x.shape().end() - 2), by(y.shape().begin(), y.shape().end() - 2);
  const Tensor shape_x = full(bx, 0, t, a.device()), shape_y = full(by, 0, t, a.device());
  Shape batch = bx == by ? bx : broadcast_shapes("matmul", shape_x, shape_y);
  auto shaped = [&](int64_t p, int64_t q) { Shape s = batch; s.push_back(p); s.push_back(q); return s; };
  Tensor l = broadcast_to(x, shaped(M, K)), r = broadcast_to(y, shaped(K, N));
  const Shape full_shape = shaped(M, N);
  if (batch.size() > 3) {  // the kernels take three batch axes: the leading ones become one
    const int64_t leading = element_count(Shape(batch.begin(), batch.end() - 2));
    l = reshape(l, {leading, batch[batch.size() - 2], batch.back(), M, K});
    r = reshape(r, {leading, batch[batch.size() - 2], batch.back(), K, N});
  }
  Shape out = l.shape();
  out.back() = N;
  Tensor result = to_tensor(graph::anchor(matmul_anchor, t, std::move(out), {node_of(l), node_of(r)}));
  Shape final_shape = full_shape;
  if (column) final_shape.pop_back();
  if (row) final_shape.erase(final_shape.end() - (column ? 1 : 2));
  return reshape(result, std::move(final_shape));
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (weight.rank() != 2 || x.rank() < 1 || x.dim(-1) != weight.dim(1))
    fail_shape("linear", {&x, &weight}, "x must be [.., K] and the weight [N, K]");
  require_float("linear", x);
  if (bias.defined() && bias.shape() != Shape{weight.dim(0)}) fail_shape("linear", {&weight, &bias}, "the bias must be [N] for a weight [N, K]");
  Tensor y;
  if (is_quantised(weight.dtype())) {
    Shape out = x.shape();
    out.back() = weight.dim(0);
    const Tensor rows = reshape(x, {element_count(Shape(out.begin(), out.end() - 1)), x.dim(-1)});
    y = reshape(to_tensor(graph::anchor(quant_matmul_anchor, x.dtype(), {rows.dim(0), weight.dim(0)}, {node_of(rows), node_of(weight)})), out);
  } else {
    y = matmul(x, transpose(weight));
  }
  return bias.defined() ? y + cast(bias, y.dtype()) : y;
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& o) {
  for (const Tensor* t : {&q, &k, &v}) require_float("attention", *t);
  const bool rank = q.rank() == 4 && k.rank() == 4 && v.rank() == 4;
  if (!rank || k.shape() != v.shape() || q.dim(0) != k.dim(0) || q.dim(3) != k.dim(3))
    fail_shape("attention", {&q, &k, &v}, "q must be [B,H,T,D], k and v [B,G,S,D] with the same B and D");
  if (k.dim(1) == 0 || q.dim(1) % k.dim(1) != 0)
    fail_shape("attention", {&q, &k, &v}, cat("the number of key heads (", k.dim(1), ") must divide that of query heads (", q.dim(1), ")"));
  std::vector<NodeRef> inputs{node_of(q), node_of(k), node_of(v)};
  for (const auto* s : {&o.kv_len, &o.q_start}) {
    if (!*s) continue;
    if ((*s)->tensor().dtype() != DType::u32) fail_dtype("attention", {&q, &(*s)->tensor()}, "kv_len and q_start must be u32 Scalars");
    inputs.push_back(node_of((*s)->tensor()));
  }
  const float scale = o.scale.value_or(float(1 / std::sqrt(double(q.dim(3)))));
  return to_tensor(graph::anchor(attention_anchor, q.dtype(), q.shape(), std::move(inputs),
                                 {o.causal, o.kv_len.has_value(), o.q_start.has_value(), int64_t(std::bit_cast<uint32_t>(scale))}));
}

}  // namespace tenon
