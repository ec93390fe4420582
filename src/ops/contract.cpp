#include "ops/contract.h"

#include <algorithm>

#include "base/check.h"

namespace tenon::ops {

namespace {

using Labels = std::vector<int>;

int64_t size_of(const Labelled& t, int label) {
  return t.x.dim(std::find(t.labels.begin(), t.labels.end(), label) - t.labels.begin());
}
int64_t sizes(const Labelled& t, const Labels& labels, Shape& out) {
  int64_t n = 1;
  for (int l : labels) {
    out.push_back(size_of(t, l));
    n = checked_mul(n, out.back());
  }
  return n;
}
Labels joined(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The labels by their part in the contraction.
struct Classes {
  Labels batch, summed, of_a, of_b;
};
Classes classify(const Labelled& a, const Labelled& b, const Labels& keep) {
  Classes c;
  for (int l : a.labels) {
    if (!contains(b.labels, l)) c.of_a.push_back(l);
    else if (contains(keep, l)) c.batch.push_back(l);
    else c.summed.push_back(l);
  }
  for (int l : b.labels)
    if (!contains(a.labels, l)) c.of_b.push_back(l);
  return c;
}

// [batch.., a's own.., b's own.., summed..] of both, as far as they have them.
Tensor multiplied(const Labelled& a, const Labelled& b, const Classes& c) {
  Shape left, right;
  sizes(a, c.batch, left);
  right = left;
  sizes(a, c.of_a, left);
  left.insert(left.end(), c.of_b.size(), 1);
  right.insert(right.end(), c.of_a.size(), 1);
  sizes(b, c.of_b, right);
  sizes(a, c.summed, left);
  sizes(b, c.summed, right);
  return reshape(in_order(a, joined(joined(c.batch, c.of_a), c.summed)), left) *
         reshape(in_order(b, joined(joined(c.batch, c.of_b), c.summed)), right);
}

Tensor by_matmul(const Labelled& a, const Labelled& b, const Classes& c) {
  Shape batch, own_a, own_b, summed;
  sizes(a, c.batch, batch);
  const int64_t m = sizes(a, c.of_a, own_a), n = sizes(b, c.of_b, own_b), k = sizes(a, c.summed, summed);
  auto shaped = [&](int64_t p, int64_t q) { Shape s = batch; s.push_back(p); s.push_back(q); return s; };
  const Tensor left = reshape(in_order(a, joined(joined(c.batch, c.of_a), c.summed)), shaped(m, k));
  const Tensor right = reshape(in_order(b, joined(joined(c.batch, c.summed), c.of_b)), shaped(k, n));
  Shape out = batch;
  out.insert(out.end(), own_a.begin(), own_a.end());
  out.insert(out.end(), own_b.begin(), own_b.end());
  return reshape(matmul(left, right), out);
}

}  // namespace

bool contains(const std::vector<int>& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Tensor in_order(const Labelled& t, const std::vector<int>& labels) {
  std::vector<int64_t> axes;
  for (int l : labels) axes.push_back(std::find(t.labels.begin(), t.labels.end(), l) - t.labels.begin());
  return permute(t.x, std::move(axes));
}

Labelled contract(const Labelled& a, const Labelled& b, const std::vector<int>& keep) {
  const Classes c = classify(a, b, keep);
  const Labels labels = joined(joined(c.batch, c.of_a), c.of_b);
  if (c.summed.empty()) return {multiplied(a, b, c), labels};
  if (is_float(a.x.dtype())) return {by_matmul(a, b, c), labels};
  std::vector<int64_t> last;
  for (size_t i = 0; i < c.summed.size(); ++i) last.push_back(int64_t(labels.size() + i));
  return {cast(sum(multiplied(a, b, c), last), a.x.dtype()), labels};
}

}  // namespace tenon::ops
