#include <unordered_map>

#include "base/check.h"
#include "graph/fixed.h"
#include "graph/lower.h"
#include "graph/mode.h"
#include "graph/plan_builder.h"

namespace tenon::graph {
namespace {

// A node is copied when one of its inputs was replaced.
NodeRef with_inputs(const Node& n, std::vector<NodeRef> inputs) {
  NodeRef copy = make_node(n.kind, n.dtype, n.shape, std::move(inputs), n.ints);
  copy->op = n.op;
  copy->reduce = n.reduce;
  copy->anchor = n.anchor;
  return copy;
}

// Whether one launch can bind its operands, its result and the plan's scalars.
bool fits(const Limits& limits, const Node& n) {
  const int tensors = n.anchor->tensors, scalars = int(n.inputs.size()) > tensors;
  return tensors + 1 + scalars <= limits.max_bindings;
}

// Whether the anchor stays and gets a kernel of the device's.
bool stays(Backend& backend, const Node& n, KernelChoice choice) {
  const bool compose = lower_mode() == LowerMode::composed && !backend.limits().one_way;
  if (!fits(backend.limits(), n)) return false;
  return !compose && backend.kernel(anchor_desc(n), choice);
}

// One pass over the graph; true when something was replaced.
bool replace_once(Backend& backend, std::vector<NodeRef>& roots, KernelChoice choice) {
  std::unordered_map<const Node*, NodeRef> replaced;
  for (Node* n : topological_order(roots)) {
    bool changed = false;
    std::vector<NodeRef> inputs;
    for (const NodeRef& i : n->inputs) {
      auto it = replaced.find(i.get());
      changed = changed || it != replaced.end();
      inputs.push_back(it == replaced.end() ? i : it->second);
    }
    NodeRef now = changed ? with_inputs(*n, std::move(inputs)) : NodeRef(n);
    if (now->kind == Kind::anchor && !stays(backend, *now, choice)) {
      now = now->anchor->compose(*now);
      changed = true;
    } else if (choice == KernelChoice::fixed) {
      if (NodeRef other = canonical(*now)) {
        now = std::move(other);
        changed = true;
      }
    }
    if (changed) replaced[n] = now;
  }
  for (NodeRef& r : roots)
    if (auto it = replaced.find(r.get()); it != replaced.end()) r = it->second;
  return !replaced.empty();
}

}  // namespace

std::vector<NodeRef> legalise(Backend& backend, std::span<const NodeRef> roots, KernelChoice choice) {
  std::vector<NodeRef> out(roots.begin(), roots.end());
  while (replace_once(backend, out, choice)) {
  }
  return out;
}

}  // namespace tenon::graph
