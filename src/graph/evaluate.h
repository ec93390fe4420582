// Running graphs: plans from the cache or new, leaves bound, results turned into leaves.
#pragma once
#include <span>
#include <unordered_set>

#include "graph/node.h"
#include "runtime/plan.h"

namespace tenon::graph {

// Evaluates the roots in one plan and turns each into a leaf. `donated` as in build_plan(). Returns after submission.
void evaluate(std::span<const NodeRef> roots, const std::unordered_set<const Node*>& donated = {});

// The node evaluated, as a dense leaf: itself, or a copy where its value is a strided look at another leaf.
NodeRef evaluate_dense(NodeRef node);

std::shared_ptr<const Plan> plan_for(std::span<const NodeRef> roots, const std::unordered_set<const Node*>& donated = {});

// Results of an execution as new leaves.
std::vector<NodeRef> result_leaves(const std::shared_ptr<DeviceContext>& device, const Plan& plan,
                                   std::span<const Ref<Storage>> outputs, std::span<const Ref<Storage>> leaf_storages,
                                   std::span<const int64_t> leaf_offsets);

// Reading a dense leaf: recorded behind what was submitted so far.
struct PendingRead;
std::shared_ptr<PendingRead> start_read(const Node& leaf);
// Waits for the read, not for what was submitted after it.
std::vector<std::byte> finish_read(PendingRead& read);

}  // namespace tenon::graph
