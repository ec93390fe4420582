// Attention: an anchor with the composition that gives the same value where a device has no kernel for it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/cat.h"
#include "ops/rules.h"

namespace tenon {

using namespace ops;
using graph::Anchor;
using graph::Node;
using graph::OperandView;

namespace {

constexpr int64_t largest_i32 = std::numeric_limits<int32_t>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();

// What Node::ints holds. Inputs: q, k, v, then what is there of mask, bias, kv_len, q_start.
enum Int : size_t { causal, has_kv_len, has_q_start, scale, window, soft_cap, has_mask, has_bias };

double number_at(const Node& n, Int i) { return std::bit_cast<double>(n.ints[i]); }
int64_t bits_of(double x) { return std::bit_cast<int64_t>(x); }
size_t bias_input(const Node& n) { return size_t(3 + n.ints[has_mask]); }
size_t kv_len_input(const Node& n) { return bias_input(n) + size_t(n.ints[has_bias]); }
size_t q_start_input(const Node& n) { return kv_len_input(n) + size_t(n.ints[has_kv_len]); }

// The kernel walks heads along D; the mask and the bias may have any strides.
bool takes(int operand, const OperandView& v) { return operand > 2 || v.shape[3] <= 1 || v.strides[3] == 1; }

std::vector<int64_t> attributes(const Node& n) {
  return {n.ints[causal], n.ints[window] > 0, n.ints[soft_cap] != 0, n.ints[has_mask], n.ints[has_bias]};
}

void copy_strides(I64* to, const OperandView& v) { std::copy(v.strides.begin(), v.strides.end(), to); }

void parameters(const Node& n, std::span<const OperandView> v, std::span<const uint32_t> slots, Params& out) {
  AttentionParams p{};
  p.b = n.shape[0], p.h = n.shape[1], p.t = n.shape[2], p.d = n.shape[3];
  p.g = v[1].shape[1], p.s = v[1].shape[2];
  p.q_b = v[0].strides[0], p.q_h = v[0].strides[1], p.q_t = v[0].strides[2];
  p.k_b = v[1].strides[0], p.k_g = v[1].strides[1], p.k_s = v[1].strides[2];
  p.v_b = v[2].strides[0], p.v_g = v[2].strides[1], p.v_s = v[2].strides[2];
  if (n.ints[has_mask]) copy_strides(p.mask, v[3]);
  if (n.ints[has_bias]) copy_strides(p.bias, v[bias_input(n)]);
  p.window = n.ints[window];
  p.scale = float(number_at(n, scale));
  p.soft_cap = float(number_at(n, soft_cap));
  p.kv_len_slot = n.ints[has_kv_len] ? slots[0] : no_slot;
  p.q_start_slot = n.ints[has_q_start] ? slots[size_t(n.ints[has_kv_len])] : no_slot;
  out.attention = p;
}

// ---------------------------------------------------------------------------------------------------- composition

class Composition {
 public:
  explicit Composition(const Node& n)
      : n_(n), B(n.shape[0]), H(n.shape[1]), T(n.shape[2]), D(n.shape[3]), G(n.inputs[1]->shape[1]), S(n.inputs[1]->shape[2]), R(H / G) {}

  // Scores, mask, softmax, values. What a query does not see may hold NaN: it is masked by selection, scores and values.
  // Keys and values stay in their dtype: the products are f32 (or f64) as one factor is.
  NodeRef run() const {
    const Tensor keys = kv_len(), seen = seen_keys(keys);
    const Tensor k = reshape(input(1), {B, G, 1, S, D}), q = reshape(real_input(0), {B, G, R, T, D});
    Tensor scores = matmul(q, transpose(k)) * real(number_at(n_, Int::scale));
    if (n_.ints[soft_cap]) scores = tanh(scores / real(number_at(n_, soft_cap))) * real(number_at(n_, soft_cap));
    if (n_.ints[has_bias]) scores = scores + of_scores(real_input(bias_input(n_)));
    scores = where(seen, scores, real(-infinity));
    return node_of(cast(reshape(weighted_values(softmax(scores), seen), {B, H, T, D}), n_.dtype));
  }

 private:
  Tensor input(size_t i) const { return to_tensor(n_.inputs[i]); }
  Tensor real_input(size_t i) const { return cast(input(i), real_dtype(n_.dtype)); }
  // Constants: a composition makes no run-time scalars.
  Tensor real(double value) const { return full({}, value, real_dtype(n_.dtype), Device(n_.device)); }
  Tensor like(const Tensor& x, double value) const { return full({}, value, x.dtype(), Device(n_.device)); }
  Tensor i32(int64_t value) const { return full({}, double(value), DType::i32, Device(n_.device)); }
  Tensor position(Shape shape, int axis) const { return to_tensor(graph::iota(n_.device, DType::i32, std::move(shape), axis)); }
  // [B,H,T,S] as the scores lie.
  Tensor of_scores(const Tensor& x) const { return reshape(x, {B, G, R, T, S}); }

  // A run-time scalar (u32) as i32, at most `most`.
  Tensor run_time(size_t i, int64_t most) const {
    return cast(minimum(input(i), full({}, double(most), DType::u32, Device(n_.device))), DType::i32);
  }
  Tensor kv_len() const { return n_.ints[has_kv_len] ? run_time(kv_len_input(n_), S) : i32(S); }

  // Which keys a query sees: [1,S] where all see the same, [T,S], or [B,G,R,T,S].
  Tensor seen_keys(const Tensor& keys) const {
    const Tensor key = position({1, S}, 1);
    Tensor seen = less(key, keys);
    if (n_.ints[causal]) {
      const Tensor start = n_.ints[has_q_start] ? run_time(q_start_input(n_), largest_i32 - T) : keys - i32(T);
      const Tensor query = position({T, 1}, 0) + start;
      seen = logical_and(seen, less_equal(key, query));
      if (const int64_t w = n_.ints[window]; w > 0 && w <= largest_i32) seen = logical_and(seen, less(query - key, i32(w)));
    }
    return n_.ints[has_mask] ? logical_and(seen, of_scores(input(3))) : seen;
  }

  // weights: [B,G,R,T,S]. A weight of 0 times NaN or an infinity is NaN, so values that a query does not see must not be
  // multiplied. Where they are the same for all queries they become 0. Otherwise the product takes finite values, and two
  // more columns for each of theirs: how much weight lies on +infinity and on -infinity, NaN being both.
  Tensor weighted_values(const Tensor& weights, const Tensor& seen) const {
    const Tensor v = reshape(input(2), {B, G, 1, S, D}), nothing = like(v, 0);
    if (seen.dim(-2) == 1) return matmul(weights, where(transpose(seen), v, nothing));
    const Tensor up = logical_not(less(v, like(v, infinity))), down = logical_not(greater(v, like(v, -infinity)));
    const Tensor sums = matmul(weights, concat({where(isfinite(v), v, nothing), cast(up, v.dtype()), cast(down, v.dtype())}, -1));
    const auto infinite = [&](int64_t part, double value) {
      return where(greater(slice(sums, -1, part * D, (part + 1) * D), real(0)), real(value), real(0));
    };
    return slice(sums, -1, 0, D) + infinite(1, infinity) + infinite(2, -infinity);
  }

  const Node& n_;
  int64_t B, H, T, D, G, S, R;
};

NodeRef compose(const Node& n) { return Composition(n).run(); }

constexpr Anchor with_tensors(int tensors) { return {"attention", tensors, true, takes, attributes, parameters, compose}; }
const Anchor plain_anchor = with_tensors(3), one_more_anchor = with_tensors(4), two_more_anchor = with_tensors(5);
const Anchor& anchor_for(bool mask, bool bias) { return mask && bias ? two_more_anchor : mask || bias ? one_more_anchor : plain_anchor; }

// --------------------------------------------------------------------------------------------------------- the rules

void check_heads(const Tensor& q, const Tensor& k, const Tensor& v) {
  require_one_device("attention", {&q, &k, &v});
  for (const Tensor* t : {&q, &k, &v}) require_float("attention", *t);
  const bool rank = q.rank() == 4 && k.rank() == 4 && v.rank() == 4;
  if (!rank || k.shape() != v.shape() || q.dim(0) != k.dim(0) || q.dim(3) != k.dim(3))
    fail_shape("attention", {&q, &k, &v}, "q must be [B,H,T,D], k and v [B,G,S,D] with the same B and D");
  if (k.dim(1) == 0 || q.dim(1) % k.dim(1) != 0)
    fail_shape("attention", {&q, &k, &v}, cat("the number of key heads (", k.dim(1), ") must divide that of query heads (", q.dim(1), ")"));
}

void check_numbers(const Tensor& q, const AttentionOptions& o) {
  const char* wrong = o.window < 0 ? "window must be a number of keys, or 0 for none" : nullptr;
  if (!(o.soft_cap >= 0) || std::isinf(o.soft_cap)) wrong = "soft_cap must be a positive number, or 0 for none";
  if (!wrong) return;
  throw Error(ErrorCode::invalid_argument, cat("attention with window ", o.window, " and soft_cap ", o.soft_cap, ": ", wrong),
              {.op = "attention", .device = q.device().name()});
}

// The mask or bias as [B,H,T,S].
NodeRef over_scores(const char* what, const Tensor& x, const Tensor& q, const Tensor& k) {
  const Shape scores{q.dim(0), q.dim(1), q.dim(2), k.dim(2)};
  bool fits = x.rank() <= 4;
  for (int64_t i = 1; fits && i <= x.rank(); ++i) fits = x.dim(-i) == 1 || x.dim(-i) == scores[size_t(4 - i)];
  if (!fits) fail_shape("attention", {&q, &k, &x}, cat("the ", what, " ", to_string(x.shape()), " does not broadcast to [B,H,T,S] = ", to_string(scores)));
  return broadcast(node_of(x), scores);
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& o) {
  check_heads(q, k, v);
  check_numbers(q, o);
  std::vector<NodeRef> inputs{node_of(q), node_of(k), node_of(v)};
  const bool mask = o.mask.defined(), bias = o.bias.defined();
  if (mask) {
    if (o.mask.dtype() != DType::bool_) fail_dtype("attention", {&q, &o.mask}, "the mask must be bool (true: may attend); a float mask to add is the bias");
    inputs.push_back(over_scores("mask", o.mask, q, k));
  }
  if (bias) {
    if (!is_float(o.bias.dtype())) fail_dtype("attention", {&q, &o.bias}, "the bias must be a float; a bool mask is the option mask");
    inputs.push_back(over_scores("bias", o.bias, q, k));
  }
  for (const auto* s : {&o.kv_len, &o.q_start}) {
    if (!*s) continue;
    if ((*s)->tensor().dtype() != DType::u32) fail_dtype("attention", {&q, &(*s)->tensor()}, "kv_len and q_start must be u32 Scalars");
    inputs.push_back(node_of((*s)->tensor()));
  }
  const double s = o.scale.value_or(1 / std::sqrt(double(q.dim(3))));
  return to_tensor(graph::anchor(anchor_for(mask, bias), q.dtype(), q.shape(), std::move(inputs),
                                 {o.causal || o.window > 0, o.kv_len.has_value(), o.q_start.has_value(), bits_of(s), o.window,
                                  o.soft_cap > 0 ? bits_of(o.soft_cap) : 0, mask, bias}));
}

}  // namespace tenon
