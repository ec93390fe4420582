#include "graph/needs.h"

namespace tenon::graph {
namespace {

template <class T>
void add(std::vector<T>& list, const T& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

bool rests_on_reduction(const Region& r, const Node& n, const IndexMap& at, int64_t size, int& budget) {
  if (--budget < 0 || !r.depends_on_inner(at)) return false;
  if (n.kind == Kind::reduce) return element_count(n.shape) >= size;
  if (n.is_view()) {
    IndexMap own = at;
    const auto map = through_view(n, own, r.dims, nullptr);
    return map && rests_on_reduction(r, *n.inputs[0], *map, size, budget);
  }
  if (n.kind != Kind::map && n.kind != Kind::cast) return false;
  return std::any_of(n.inputs.begin(), n.inputs.end(), [&](const NodeRef& i) { return rests_on_reduction(r, *i, at, size, budget); });
}

}  // namespace

void Needs::want(const Node* n, bool as_memory) {
  const Node* source = n;        // what the chain of views looks at
  const Node* buffer = nullptr;  // the first node on it that may have to exist in memory
  for (; source->is_view(); source = source->inputs[0].get()) {
    if (source->kind == Kind::dynamic_slice) add<const Node*>(scalars, source->inputs[1].get());
    if (!buffer && (source->kind == Kind::dynamic_slice || source->kind == Kind::reshape)) buffer = source;
  }
  if (!as_memory && source->kind == Kind::constant) return;
  if (!as_memory && source->kind == Kind::scalar) return add(scalars, source);
  if (source->kind == Kind::iota || source->kind == Kind::random_bits) ++indices;
  if (!as_memory && source->kind == Kind::iota && !buffer) return;
  ++operands;
  add(buffers, {as_memory ? n : buffer ? buffer : source, as_memory && n->is_view()});
}

Needs needs(const Region& region, const Node* without) {
  Needs all;
  for (const Use& u : region.uses) {
    if (u.state == Use::State::computed) {
      if (u.node->kind == Kind::iota || u.node->kind == Kind::random_bits) ++all.indices;
      if (u.node->kind == Kind::scalar) add<const Node*>(all.scalars, u.node);
    } else if (u.node != without) {
      all.want(u.node, u.anchor_operand >= 0 || u.gathered);
      if (u.anchor_operand >= 0) --all.operands;
    }
  }
  all.operands += int(region.outputs.size());
  return all;
}

bool cuts_reduction(const Region& region, const Node& n, const IndexMap& at) {
  int budget = 64;  // nodes looked at
  return region.has_inner() && (n.kind == Kind::map || n.kind == Kind::cast) && rests_on_reduction(region, n, at, element_count(n.shape), budget);
}

}  // namespace tenon::graph
