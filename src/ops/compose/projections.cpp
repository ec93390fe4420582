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
    const int a = normalise_axis("linear_general", axes[size_t(i)], x.rank());
    if (contains(right.labels, a)) fail_shape("linear_general", {&x, &weight}, cat("axis ", a, " is named twice"));
    if (x.dim(a) != weight.dim(i)) fail_shape("linear_general", {&x, &weight}, cat("axis ", a, " of x (", x.dim(a), ") and axis ", i, " of the weight (", weight.dim(i), ") differ"));
    right.labels[size_t(i)] = a;
  }
  const Shape features(weight.shape().begin() + summed, weight.shape().end());
  if (bias.defined() && bias.shape() != features) fail_shape("linear_general", {&weight, &bias}, cat("the bias must be ", to_string(features)));
  const Tensor y = contract(left, right, {}).x;
  return bias.defined() ? y + cast(bias, y.dtype()) : y;
}

Qkv qkv_projection(const Tensor& x, const Tensor& weight, int64_t heads, int64_t kv_heads, const Tensor& bias) {
  const int64_t parts = heads > 0 && kv_heads > 0 ? checked_add(heads, checked_mul(2, kv_heads)) : 0;
  if (parts == 0) throw Error(ErrorCode::invalid_argument, cat("qkv_projection: ", heads, " query heads and ", kv_heads, " key heads"), {.op = "qkv_projection"});
  if (x.rank() != 3 || weight.rank() != 2 || x.dim(2) != weight.dim(1) || weight.dim(0) % parts != 0)
    fail_shape("qkv_projection", {&x, &weight}, cat("x must be [B, T, C] and the weight [", parts, " * D, C]: query heads, key heads, value heads"));
  const int64_t d = weight.dim(0) / parts;
  const Tensor all = reshape(linear(x, weight, bias), {x.dim(0), x.dim(1), parts, d});
  auto part = [&](int64_t from, int64_t count) { return permute(slice(all, 2, from, from + count), {0, 2, 1, 3}); };
  return {part(0, heads), part(heads, kv_heads), part(heads + kv_heads, kv_heads)};
}

}  // namespace tenon
