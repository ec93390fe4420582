// Canonical launches: for devices that cannot compile, so few descriptions that a kernel of each can be shipped.
//
// Each node is a launch of its own and reads memory only: constants, run-time scalars and positions are written there
// first. Ranks are filled up with axes of size 1, all strides are general, an argument is an operand even where two are
// the same, and a constant is the base of an index operand. What is left is an op and its dtypes.
#pragma once
#include "graph/node.h"

namespace tenon::graph {

// Axes of maps, and of rows: so many outer and as many inner ones.
inline constexpr size_t fixed_map_rank = region_max_rank, fixed_row_rank = region_max_rank / 2;
static_assert(2 * fixed_row_rank == region_max_rank);

// Of a reduction: more axes than canonical rows have. Its input is then made in memory, what is reduced last.
bool has_many_axes(const Node& reduce);

// The node in other words where it would not be canonical; null where it is.
NodeRef canonical(const Node& node);

// What a gather gives outside: NaN, or 0.
uint64_t outside_bits(Lane lane);

}  // namespace tenon::graph
