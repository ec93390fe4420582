#include "graph/fit.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace tenon::graph {

void align_views(Launch& l, int64_t alignment, const std::function<int64_t(int)>& start_of) {
  const size_t own = size_t(l.desc.anchor_operands);
  TENON_CHECK(own <= size_t(anchor_max_operands));
  size_t view = 0;
  for (size_t i = 0; i < l.desc.operands.size(); ++i) {
    const Operand& o = l.desc.operands[i];
    if (o.kind != Operand::Kind::buffer) continue;
    LaunchView& v = l.views[view++];
    const int64_t bytes = block_bytes(o.dtype), elements = block_elements(o.dtype);
    const int64_t base = i < own ? 0 : int64_t(l.params.region.operands[i - own].base);
    const int64_t start = start_of(v.buffer), at = start + v.offset + base / elements * bytes;
    // A view of blocks starts at a block.
    const int64_t unit = std::lcm(alignment, bytes), rest = at % unit;
    TENON_CHECK(at >= 0 && rest % bytes == 0, "a view starts inside an element");
    v.offset = at - rest - start;
    const int64_t inside = rest / bytes * elements + base % elements;
    if (i < own) l.params.anchor_base[i] = uint32_t(inside);
    else l.params.region.operands[i - own].base = inside;
  }
}

std::optional<std::pair<Launch, Launch>> halves(const Launch& l) {
  const RegionParams& r = l.params.region;
  int axis = 0;
  for (int a = 1; a < l.desc.outer_rank; ++a)
    if (int64_t(r.dims[a]) > int64_t(r.dims[axis])) axis = a;
  if (l.desc.anchor_operands > 0 || l.desc.outer_rank == 0 || r.dims[axis] < 2) return std::nullopt;
  std::pair<Launch, Launch> both{l, l};
  const int64_t first = r.dims[axis] / 2;
  both.first.params.region.dims[axis] = first;
  RegionParams& second = both.second.params.region;
  second.dims[axis] = r.dims[axis] - first;
  for (size_t i = 0; i < l.desc.operands.size(); ++i)
    second.operands[i].base = second.operands[i].base + first * second.operands[i].strides[axis];
  return both;
}

}  // namespace tenon::graph
