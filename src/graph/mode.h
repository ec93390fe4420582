// Process-wide modes of planning, for tests and for finding bugs. A mode is part of every plan's key.
#pragma once

namespace tenon::graph {

// Whether regions may hold more than one op. TENON_FUSE=0 in the environment turns it off: each op is then a launch of
// its own, and its values must be the same bit for bit.
bool fusion_enabled();
void set_fusion(bool enabled);

}  // namespace tenon::graph
