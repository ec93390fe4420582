// From a graph to a plan: legalise (anchors without a kernel become compositions), schedule, lower, give memory.
#pragma once
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/node.h"
#include "runtime/plan.h"

namespace tenon::graph {

// What a plan is made from, numbered: the plan's leaves and scalars are in this order.
struct PlanInputs {
  std::vector<Node*> order;    // topological
  std::vector<Node*> leaves;
  std::vector<Node*> scalars;                              // in the order of their slots
  int scalar_words = 0;                                    // of the scalar block; a slot is a scalar's first word
  std::unordered_map<const Node*, uint32_t> scalar_slots;  // of every scalar node; equal fixed ones share a slot
};
PlanInputs plan_inputs(std::span<const NodeRef> roots);

// `donated`: leaves that nobody needs after the plan; an update may write into them.
std::shared_ptr<const Plan> build_plan(const std::shared_ptr<DeviceContext>& device, std::span<const NodeRef> roots,
                                       const PlanInputs& inputs, const std::unordered_set<const Node*>& donated);

// The graph's structure as words: equal words, equal plan. Leaves count with dtype, strides, offset modulo 256, which
// of them share a storage, and donation; run-time scalars without their value; and the modes of graph/mode.h.
std::vector<uint64_t> plan_key(std::span<const NodeRef> roots, const PlanInputs& inputs,
                               const std::unordered_set<const Node*>& donated);

// The roots with every anchor that the device has no kernel for replaced by its composition; of a `fixed` choice every
// node that is not canonical too (graph/fixed.h).
std::vector<NodeRef> legalise(Backend& backend, std::span<const NodeRef> roots, KernelChoice choice);

}  // namespace tenon::graph
