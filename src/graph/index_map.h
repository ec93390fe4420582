// Where a value is read while a region runs: its coordinates as affine functions of the iteration point. Views are
// composed here, so a region reads through any chain of them without a copy.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "graph/node.h"

namespace tenon::graph {

// coordinate[d] = offset[d] + sum over j of coef[d][j] * iteration[j]  (+ dynamic.scale * scalar on one axis)
struct IndexMap {
  std::vector<std::vector<int64_t>> coef;
  std::vector<int64_t> offset;
  struct Dynamic {
    Node* scalar = nullptr;
    int axis = 0;
    int64_t scale = 0;
    int64_t max = 0;  // the scalar is clamped to [0, max]
    bool operator==(const Dynamic&) const = default;
  };
  std::optional<Dynamic> dynamic;
  bool operator==(const IndexMap&) const = default;

  static IndexMap identity(int64_t rank);
  bool depends_on(size_t axis) const;  // any coordinate changes along this iteration axis
  void split_axis(size_t axis, int64_t inner);  // iteration axis n becomes (n / inner, inner)
  void append_axes(size_t count);
};

// Asked to cut iteration axis `axis` in two, the inner part of size `inner`; the owner changes every map, including
// the one in work. Returns false when axes may not be cut.
using SplitAxis = std::function<bool(size_t axis, int64_t inner)>;

// The map of a view's input from the map of the view itself; `dims` are the sizes of the iteration axes (changed by
// `split`). Empty: not expressible, the input or the view has to exist in memory.
std::optional<IndexMap> through_view(const Node& view, IndexMap& map, const std::vector<int64_t>& dims,
                                     const SplitAxis& split);

// Strides per iteration axis and the offset of the element read at the origin, for strides of the value's storage.
struct LinearAccess {
  std::vector<int64_t> strides;
  int64_t offset = 0;
  int64_t dynamic_stride = 0;
};
LinearAccess linear_access(const IndexMap& map, const Strides& storage_strides, size_t iteration_axes);

}  // namespace tenon::graph
