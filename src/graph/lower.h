// A region as launches: a kernel's description (structure), its parameters (sizes) and the views that it binds.
#pragma once
#include <functional>
#include <vector>

#include "graph/schedule.h"

namespace tenon::graph {

struct LaunchView {
  int buffer;      // of the schedule
  int64_t offset;  // bytes
  Access access;
  int64_t below = 0;  // an anchor's own operand: elements before its origin that it reads (negative strides)
};

struct Launch {
  KernelDesc desc;
  Params params;
  std::vector<LaunchView> views;  // one per buffer operand, in order
  bool scalars = false;           // reads the plan's scalar block
};

// `slot_of` gives the place of a run-time scalar in the plan's scalar block. Usually one launch; more when the axes
// left after collapsing are too many for one; none when there is nothing to compute. `fixed`: the region is one of a
// schedule of canonical launches, and its description is made canonical (graph/fixed.h).
std::vector<Launch> lower(const Region& region, const Schedule& schedule,
                          const std::function<uint32_t(const Node*)>& slot_of, bool fixed = false);

// What an anchor's kernel would be asked for, without its epilogue: to find out whether a device has one.
KernelDesc anchor_desc(const Node& node);

}  // namespace tenon::graph
