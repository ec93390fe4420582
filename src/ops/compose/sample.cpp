// sample() from other ops. It keeps a prefix of the tokens sorted by falling logit, finds the last one that it keeps,
// and then takes, in the order of the tokens, the largest noisy score among those that are no worse than that one.
#include "ops/compose/sample.h"

#include <limits>

#include "ops/rules.h"
#include "ops/sort_order.h"

namespace tenon {

using namespace ops;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class Sampling {
 public:
  explicit Sampling(const graph::Node& n)
      : n_(n), raw_(input(0)), temperature_(input(1)), top_k_(input(2)), top_p_(input(3)), min_p_(input(4)),
        rows_(raw_.dim(0)), tokens_(raw_.dim(1)) {
    logits_ = where(isnan(raw_), literal(raw_, -infinity), raw_);
    largest_ = max(logits_, {1}, true);
  }

  graph::NodeRef run() const {
    const Tensor chosen = first_largest(where(kept(), scaled(logits_) + noise(), literal(raw_, -infinity)));
    const Tensor best = first_largest(cast(equal(raw_, largest_), DType::u32));
    return node_of(where(greedy(), best, chosen));
  }

 private:
  Tensor input(size_t i) const { return to_tensor(n_.inputs[i]); }
  static Tensor first_largest(const Tensor& x) { return to_tensor(graph::reduce(ReduceOp::argmax, node_of(x), {1})); }
  Tensor scaled(const Tensor& logits) const { return (logits - largest_) / temperature_; }

  // [N]: rows whose token is the first of the largest logits.
  Tensor greedy() const {
    const Tensor hot = greater_equal(temperature_, literal(temperature_, 1e-6));
    const Tensor usable = logical_and(hot, logical_and(isfinite(largest_), isfinite(largest_ / temperature_)));
    const Tensor all = logical_or(logical_not(usable), equal(top_k_, literal(top_k_, 1)));
    return reshape(all, {rows_});
  }

  // [N, V], in the order of the tokens.
  Tensor kept() const {
    const Tensor order = sort_order("sample", logits_, 1, true), sorted = take_along_axis(logits_, order, 1);
    const Tensor place = to_tensor(graph::iota(n_.device, DType::u32, {1, tokens_}, 1));
    const Tensor count = sum(cast(in_prefix(sorted, place), DType::u32), {1}, true);
    const Tensor last = count - literal(count, 1);
    const Tensor bar = take_along_axis(sorted, last, 1), bar_token = take_along_axis(order, last, 1);
    const Tensor tie = logical_and(equal(logits_, bar), less_equal(place, bar_token));
    return logical_or(greater(logits_, bar), tie);
  }

  // Whether the token at each place of the sorted order is kept; the first one always is.
  Tensor in_prefix(const Tensor& sorted, const Tensor& place) const {
    const Tensor k_off = logical_or(equal(top_k_, literal(top_k_, 0)), greater_equal(top_k_, literal(top_k_, double(tokens_))));
    const Tensor eligible = logical_and(logical_or(k_off, less(place, top_k_)), greater(sorted, literal(sorted, -infinity)));
    const Tensor weight = where(eligible, exp(scaled(sorted)), literal(sorted, 0));
    const Tensor total = sum(weight, {1}, true), mass = cumsum(weight, 1) / total;
    const Tensor mass_before = concat({broadcast_to(literal(mass, 0), {rows_, 1}), slice(mass, 1, 0, -1)}, 1);
    const Tensor within_p = logical_or(logical_not(less(top_p_, literal(top_p_, 1))), less(mass_before, top_p_));
    const Tensor within_min = logical_or(logical_not(greater(min_p_, literal(min_p_, 0))), greater_equal(weight, min_p_));
    const Tensor chosen = logical_and(eligible, logical_and(within_p, within_min));
    return logical_or(chosen, equal(place, literal(place, 0)));
  }

  // Gumbel noise, -log(-log(u)), from the random word of each element.
  Tensor noise() const {
    const Tensor words = to_tensor(graph::make_node(graph::Kind::random_bits, DType::u32, {rows_, tokens_},
                                                    {n_.inputs[5], n_.inputs[6], n_.inputs[7]}));
    const Tensor high = cast(bitwise_right_shift(words, literal(words, 9)), DType::f32);
    const Tensor u = (high + literal(high, 0.5)) * literal(high, 0x1p-23);
    return negative(log(negative(log(u))));
  }

  const graph::Node& n_;
  const Tensor raw_, temperature_, top_k_, top_p_, min_p_;
  const int64_t rows_, tokens_;
  Tensor logits_, largest_;  // logits: NaN as -infinity; their largest: [N, 1]
};

}  // namespace

graph::NodeRef ops::compose_sample(const graph::Node& n) { return Sampling(n).run(); }

}  // namespace tenon
