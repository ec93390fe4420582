// What joining a node would ask of a region: what its kernel has to bind, at most (uses that are still open count as
// what their views may become), and whether it would tear a reduction from its consumers.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "graph/schedule.h"

namespace tenon::graph {

struct Needs {
  // Distinct; true: read as a whole, in a way that a plain use of the same view cannot share.
  std::vector<std::pair<const Node*, bool>> buffers;
  std::vector<const Node*> scalars;
  int operands = 0;  // that are buffers, an anchor's own not among them
  int indices = 0;   // virtual operands

  int bindings() const { return int(buffers.size()) + (scalars.empty() ? 0 : 1); }
  // `as_memory`: an anchor's operand, or what is gathered from.
  void want(const Node* n, bool as_memory);
};

// Of a region as it is, its outputs counted as operands only; without what it reads of `without`.
Needs needs(const Region& region, const Node* without);

// Whether `n`, at `at` of a row region, rests on a reduction that cannot join, as it varies along the row, and that is
// not smaller: with `n` in memory instead, the two share a region (mean(cross_entropy(..)) is two launches).
bool cuts_reduction(const Region& region, const Node& n, const IndexMap& at);

}  // namespace tenon::graph
