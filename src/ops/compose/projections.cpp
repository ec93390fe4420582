// Linear maps over any axes, and the one matmul that makes queries, keys and values.
#include <algorithm>

#include "base/check.h"
#include "ops/contract.h"

namespace tenon {

using namespace ops;

Tensor linear_general(const Tensor& x, const Tensor& weight, const std::vector<int64_t>& axes, const Tensor& bias) {
  require_float("linear_general", x);
  require_float("linear_general", weight);
  const int64_t summed = int64_t(axes.size());
  if (summed == 0 || summed > weight.rank()) fail_shape("linear_general", {&x, &weight}, "the weight's first axes must be those that are summed over, at least one");
  Labelled left{x, {}}, right{weight, {}};
  for (int64_t i = 0; i < x.rank(); ++i) left.labels.push_back(int(i));
  for (int64_t i = 0; i < weight.rank(); ++i) right.labels.push_back(int(x.rank() + i));
  for (int64_t i = 0; i < summed; ++i) {
    const int a = axis_in("linear_general", x, axes[size_t(i)]);
    if (contains(right.labels, a)) fail_shape("linear_general", {&x, &weight}, cat("axis ", a, " is named twice"));
    if (x.dim(a) != weight.dim(i)) fail_shape("linear_general", {&x, &weight}, cat("axis ", a, " of x (", x.dim(a), ") and axis ", i, " of the weight (", weight.dim(i), ") differ"));
    right.labels[size_t(i)] = a;
  }
  const Shape features(weight.shape().begin() + summed, weight.shape().end());
  if (bias.defined() && bias.shape() != features) fail_shape("linear_general", {&weight, &bias}, cat("the bias must be ", to_string(features)));
  const Tensor y = contract(left, right, {}).x;
  return bias.defined() ? y + cast(bias, y.dtype()) : y;
}

namespace {

// The parts of one projection: the heads of queries, keys and values, D each.
int64_t parts_of(int64_t heads, int64_t kv_heads) {
  if (heads <= 0 || kv_heads <= 0)
    throw Error(ErrorCode::invalid_argument, cat("qkv_projection: ", heads, " query heads and ", kv_heads, " key heads"), {.op = "qkv_projection"});
  return checked_add(heads, checked_mul(2, kv_heads));
}

// all: [B, T, parts * D]
Qkv split_qkv(const Tensor& all, int64_t heads, int64_t kv_heads) {
  const int64_t parts = parts_of(heads, kv_heads);
  const Tensor apart = reshape(all, {all.dim(0), all.dim(1), parts, all.dim(2) / parts});
  auto part = [&](int64_t from, int64_t count) { return permute(slice(apart, 2, from, from + count), {0, 2, 1, 3}); };
  return {part(0, heads), part(heads, kv_heads), part(heads + kv_heads, kv_heads)};
}

}  // namespace

Qkv qkv_projection(const Tensor& x, const Tensor& weight, int64_t heads, int64_t kv_heads, const Tensor& bias) {
  const int64_t parts = parts_of(heads, kv_heads);
  if (x.rank() != 3 || weight.rank() != 2 || x.dim(2) != weight.dim(1) || weight.dim(0) % parts != 0)
    fail_shape("qkv_projection", {&x, &weight}, cat("x must be [B, T, C] and the weight [", parts, " * D, C]: query heads, key heads, value heads"));
  return split_qkv(linear(x, weight, bias), heads, kv_heads);
}

Qkv qkv_projection(const Tensor& x, const std::vector<Tensor>& weights, int64_t heads, int64_t kv_heads, const Tensor& bias) {
  parts_of(heads, kv_heads);
  if (weights.size() == 1) return qkv_projection(x, weights[0], heads, kv_heads, bias);
  if (weights.size() != 3)
    throw Error(ErrorCode::invalid_argument, cat("qkv_projection: ", weights.size(), " weights; it takes those of queries, keys and values, or one of all three"), {.op = "qkv_projection"});
  const Tensor &q = weights[0], &k = weights[1], &v = weights[2];
  const auto fits = [&](const Tensor& w, int64_t of) {
    return w.rank() == 2 && w.dim(1) == x.dim(-1) && w.dim(0) % of == 0 && w.dim(0) / of == q.dim(0) / heads;
  };
  if (x.rank() != 3 || !fits(q, heads) || !fits(k, kv_heads) || !fits(v, kv_heads))
    fail_shape("qkv_projection", {&x, &q, &k, &v}, cat("x must be [B, T, C] and the weights [", heads, " * D, C], [", kv_heads, " * D, C] and [", kv_heads, " * D, C]"));
  return split_qkv(linear(x, weights, bias), heads, kv_heads);
}

}  // namespace tenon
