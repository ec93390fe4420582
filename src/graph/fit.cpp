#include "graph/fit.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace tenon::graph {

namespace {

// Elements before a region operand's origin that are touched: along negative strides.
int64_t below(const Launch& l, const Operand& o, const RegionOperandParams& p) {
  int64_t elements = 0;
  const auto walk = [&](int64_t steps, int64_t stride) {
    if (stride < 0 && steps > 0) elements -= steps * stride;
  };
  for (int a = 0; a < l.desc.outer_rank + l.desc.inner_rank; ++a) walk(l.params.region.dims[a] - 1, p.strides[a]);
  if (o.gathered) walk(p.gather_extent - 1, p.gather_stride);
  if (o.dynamic) walk(p.dynamic_max, p.dynamic_stride);
  return elements;
}

void set_base(Launch& l, size_t operand, int64_t base) {
  const size_t own = size_t(l.desc.anchor_operands);
  if (operand >= own) {
    l.params.region.operands[operand - own].base = base;
    return;
  }
  if (base > int64_t(UINT32_MAX))
    throw Error(ErrorCode::unsupported, cat(l.desc.family, ": operand ", int64_t(operand), " is read backwards over ", base,
                                            " elements, more than a kernel's parameters hold; copy it first (x + 0)"),
                {.op = l.desc.family});
  l.params.anchor_base[operand] = uint32_t(base);
}

}  // namespace

void align_views(Launch& l, int64_t alignment, const std::function<int64_t(int)>& start_of) {
  const size_t own = size_t(l.desc.anchor_operands);
  TENON_CHECK(own <= size_t(anchor_max_operands));
  size_t view = 0;
  for (size_t i = 0; i < l.desc.operands.size(); ++i) {
    const Operand& o = l.desc.operands[i];
    if (o.kind != Operand::Kind::buffer) continue;
    LaunchView& v = l.views[view++];
    const int64_t bytes = block_bytes(o.dtype), elements = block_elements(o.dtype);
    const RegionOperandParams* region = i < own ? nullptr : &l.params.region.operands[i - own];
    // The origin is `base` elements behind the block that holds the first element touched.
    const int64_t base = region ? int64_t(region->base) : 0, before = region ? below(l, o, *region) : v.below;
    int64_t first = base - before;
    first -= (first % elements + elements) % elements;
    const int64_t start = start_of(v.buffer), at = start + v.offset + first / elements * bytes;
    // A view of blocks starts at a block.
    const int64_t unit = std::lcm(alignment, bytes), rest = (at % unit + unit) % unit;  // a leaf's `at` may be negative
    TENON_CHECK(rest % bytes == 0, "a view starts inside an element");
    v.offset = at - rest - start;
    set_base(l, i, base - first + rest / bytes * elements);
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
