// Launches made to fit a device: what its bindings may start at, and how many groups one launch may have.
#pragma once
#include <functional>
#include <optional>
#include <utility>

#include "graph/lower.h"

namespace tenon::graph {

// Every view starts at a multiple of the alignment, at or before the first byte that the kernel touches through it; the
// rest of its offset goes into the parameters, in elements.
// `start_of` a buffer: where it begins in its storage, modulo 256.
void align_views(Launch& launch, int64_t alignment, const std::function<int64_t(int)>& start_of);

// The same work as two launches, cut across the longest outer axis. Nothing for an anchor, or when no axis can be cut.
std::optional<std::pair<Launch, Launch>> halves(const Launch& launch);

}  // namespace tenon::graph
