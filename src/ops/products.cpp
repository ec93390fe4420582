// matmul and linear: anchors, each with the composition that gives the same value where a device has no
// kernel for it.
#include <iterator>

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
  const DType t = is_float(n.dtype) ? real_dtype(n.dtype) : n.dtype;
  const Tensor a = cast(input(n, 0), t), b = cast(input(n, 1), t);
  const Tensor products = expand_dims(a, -1) * expand_dims(b, -3);  // [.., M, K, N]
  const Tensor s = to_tensor(graph::reduce(ReduceOp::sum, node_of(products), {products.rank() - 2}));
  return node_of(cast(s, n.dtype));
}

const Anchor matmul_anchor{"matmul", 2, true, matmul_takes, no_attributes, matmul_parameters, matmul_compose};

// ------------------------------------------------------------------------------------------------- quantised matmul

// Inputs: x [M, K], then one to four weights [N, K], each with its own format, whose results lie side by side.
bool quant_takes(int operand, const OperandView& v) {
  if (operand > 0) return v.strides == dense_strides(v.shape);
  return v.shape[1] <= 1 || v.strides[1] == 1;
}

void quant_parameters(const Node& n, std::span<const OperandView> views, std::span<const uint32_t>, Params& out) {
  QuantMatmulParams p{};
  p.m = n.shape[0];
  p.n = n.shape[1];
  p.k = views[0].shape[1];
  p.x_row = views[0].strides[0];
  for (size_t i = 1; i + 1 < views.size(); ++i) p.rows[i - 1] = views[i].shape[0];
  out.quant_matmul = p;
}

NodeRef quant_compose(const Node& n) {
  if (n.inputs.size() > 2) {
    std::vector<Tensor> parts;
    for (size_t i = 1; i < n.inputs.size(); ++i) parts.push_back(linear(input(n, 0), input(n, i)));
    return node_of(concat(parts, 1));
  }
  return node_of(cast(matmul(cast(input(n, 0), DType::f32), transpose(cast(input(n, 1), DType::f32))), n.dtype));
}

constexpr Anchor quant_matmul_with(int weights) {
  return {"quant_matmul", 1 + weights, true, quant_takes, no_attributes, quant_parameters, quant_compose};
}
const Anchor quant_matmul_anchors[] = {quant_matmul_with(1), quant_matmul_with(2), quant_matmul_with(3), quant_matmul_with(4)};
static_assert(std::size(quant_matmul_anchors) == size_t(quant_matmul_max_weights));

// x: [.., K] and quantised weights [N, K] -> [.., sum of N].
Tensor quant_matmul(const Tensor& x, const std::vector<Tensor>& weights) {
  Shape out = x.shape();
  out.back() = 0;
  for (const Tensor& w : weights) out.back() += w.dim(0);
  const Tensor rows = reshape(x, {element_count(Shape(out.begin(), out.end() - 1)), x.dim(-1)});
  std::vector<NodeRef> inputs{node_of(rows)};
  for (const Tensor& w : weights) inputs.push_back(node_of(w));
  const Anchor& op = quant_matmul_anchors[weights.size() - 1];
  return reshape(to_tensor(graph::anchor(op, x.dtype(), {rows.dim(0), out.back()}, std::move(inputs))), out);
}

void check_linear(const Tensor& x, const Tensor& weight) {
  require_one_device("linear", {&x, &weight});
  if (weight.rank() != 2 || x.rank() < 1 || x.dim(-1) != weight.dim(1))
    fail_shape("linear", {&x, &weight}, cat("x must be [.., K] and the weight [N, K]", weight.rank() != 2 || x.rank() < 1 ? std::string()
                                            : cat("; their last axes have ", x.dim(-1), " and ", weight.dim(1))));
  if (!is_quantised(weight.dtype())) return;
  require_float("linear", x);
  if (x.dtype() == DType::f64)
    fail_dtype("linear", {&x, &weight}, "a quantised weight takes f32, f16 or bf16; cast() one of them");
}

Tensor with_bias(const Tensor& y, const Tensor& bias) {
  if (!bias.defined()) return y;
  promote("linear", y, bias);  // its errors are ours; the result keeps the product's dtype
  return y + cast(bias, y.dtype());
}

Tensor with_leading_axis(const Tensor& x, bool one_d, int64_t axis) { return one_d ? expand_dims(x, axis) : x; }

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  const DType t = promote("matmul", a, b);
  if (t == DType::bool_) fail_dtype("matmul", {&a, &b}, "no arithmetic on bool; cast() first");
  if (a.rank() == 0 || b.rank() == 0) fail_shape("matmul", {&a, &b}, "0-d operands have no axis to sum over; multiply() instead");
  const bool row = a.rank() == 1, column = b.rank() == 1;
  const Tensor x = with_leading_axis(a, row, 0), y = with_leading_axis(b, column, 1);
  if (x.dim(-1) != y.dim(-2)) fail_shape("matmul", {&a, &b}, cat("the last axis of the first (", x.dim(-1), ") must be the ", column ? "first" : "second-last", " of the second (", y.dim(-2), ")"));
  const int64_t M = x.dim(-2), K = x.dim(-1), N = y.dim(-1);
  Shape bx(x.shape().begin(), x.shape().end() - 2), by(y.shape().begin(), y.shape().end() - 2);
  const Shape batch = broadcast_leading("matmul", a, b, bx, by, 2);
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
  check_linear(x, weight);
  if (bias.defined() && bias.shape() != Shape{weight.dim(0)}) fail_shape("linear", {&weight, &bias}, "the bias must be [N] for a weight [N, K]");
  if (is_quantised(weight.dtype())) return with_bias(quant_matmul(x, {weight}), bias);
  promote("linear", x, weight);  // its errors are ours
  return with_bias(matmul(x, transpose(weight)), bias);
}

Tensor linear(const Tensor& x, const std::vector<Tensor>& weights, const Tensor& bias) {
  if (weights.empty()) throw Error(ErrorCode::invalid_argument, "linear: no weights", {.op = "linear"});
  int64_t n = 0;
  bool one_launch = weights.size() <= size_t(quant_matmul_max_weights);
  for (const Tensor& w : weights) {
    check_linear(x, w);
    n = checked_add(n, w.dim(0));
    one_launch = one_launch && is_quantised(w.dtype());
  }
  if (bias.defined() && bias.shape() != Shape{n}) fail_shape("linear", {&weights[0], &bias}, cat("the bias must be [", n, "], one for each row of the weights"));
  if (one_launch) return with_bias(quant_matmul(x, weights), bias);
  std::vector<Tensor> parts;
  for (const Tensor& w : weights) parts.push_back(linear(x, w));
  Tensor widest = parts[0];
  for (const Tensor& p : parts)
    if (const DType t = promote("linear", widest, p); t != widest.dtype()) widest = cast(widest, t);
  for (Tensor& p : parts) p = cast(p, widest.dtype());
  return with_bias(concat(parts, -1), bias);
}

}  // namespace tenon
