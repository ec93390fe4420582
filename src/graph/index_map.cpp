#include "graph/index_map.h"

#include "base/check.h"

namespace tenon::graph {

IndexMap IndexMap::identity(int64_t rank) {
  IndexMap m;
  m.offset.assign(size_t(rank), 0);
  m.coef.assign(size_t(rank), std::vector<int64_t>(size_t(rank), 0));
  for (size_t d = 0; d < size_t(rank); ++d) m.coef[d][d] = 1;
  return m;
}

bool IndexMap::depends_on(size_t axis) const {
  for (const auto& row : coef)
    if (row[axis] != 0) return true;
  return false;
}

void IndexMap::split_axis(size_t axis, int64_t inner) {
  for (auto& row : coef) {
    const int64_t c = row[axis];
    row.insert(row.begin() + int64_t(axis) + 1, c);
    row[axis] = c * inner;
  }
}

void IndexMap::append_axes(size_t count) {
  for (auto& row : coef) row.insert(row.end(), count, 0);
}

namespace {

// A run of view axes and a run of input axes with the same number of elements.
struct Group {
  size_t from_begin, from_end;  // axes of the view
  size_t to_begin, to_end;      // axes of the input
};

std::vector<Group> reshape_groups(const Shape& from, const Shape& to) {
  std::vector<Group> groups;
  size_t f = 0, t = 0;
  while (f < from.size() || t < to.size()) {
    Group g{f, f, t, t};
    int64_t a = 1, b = 1;
    do {
      if (f < from.size() && (a <= b || t == to.size())) a *= from[f++];
      else b *= to[t++];
    } while (a != b);
    // Trailing axes of size 1 belong to the group before them.
    while (f < from.size() && from[f] == 1) ++f;
    while (t < to.size() && to[t] == 1) ++t;
    g.from_end = f;
    g.to_end = t;
    groups.push_back(g);
  }
  return groups;
}

// One linear index over the axes [begin, end) of a shape.
struct Linear {
  std::vector<int64_t> coef;
  int64_t offset = 0;
  int64_t dynamic = 0;
};

Linear linearise(const IndexMap& map, const Shape& shape, size_t begin, size_t end, size_t axes) {
  Linear l;
  l.coef.assign(axes, 0);
  int64_t stride = 1;
  for (size_t d = end; d-- > begin;) {
    for (size_t j = 0; j < axes; ++j) l.coef[j] += map.coef[d][j] * stride;
    l.offset += map.offset[d] * stride;
    if (map.dynamic && map.dynamic->axis == int(d)) l.dynamic += map.dynamic->scale * stride;
    stride *= shape[d];
  }
  return l;
}

enum class Outcome { done, split, impossible };

// Distributes a linear index over several axes: each term goes to the axis whose stride divides it. A term that runs
// over its axis asks for its iteration axis to be cut.
Outcome delinearise(const Linear& l, const Shape& shape, size_t begin, size_t end, const std::vector<int64_t>& dims,
                    const SplitAxis& split, IndexMap& out) {
  std::vector<int64_t> stride(end - begin, 1);
  for (size_t k = end - begin; k-- > 1;) stride[k - 1] = stride[k] * shape[begin + k];
  std::vector<int64_t> low(end - begin), high(end - begin);
  for (size_t k = 0; k < end - begin; ++k)
    low[k] = high[k] = out.offset[begin + k] = (l.offset / stride[k]) % shape[begin + k];

  for (size_t j = 0; j < dims.size(); ++j) {
    const int64_t c = l.coef[j], size = c < 0 ? -c : c;
    if (c == 0 || dims[j] <= 1) continue;
    size_t k = 0;
    while (k + 1 < end - begin && (stride[k] > size || shape[begin + k] == 1)) ++k;
    if (size % stride[k] != 0) return Outcome::impossible;
    const int64_t step = size / stride[k], extent = shape[begin + k];
    if (step * (dims[j] - 1) >= extent) {
      if (step >= extent || extent % step != 0 || dims[j] % (extent / step) != 0) return Outcome::impossible;
      return split && split(j, extent / step) ? Outcome::split : Outcome::impossible;
    }
    out.coef[begin + k][j] = c < 0 ? -step : step;
    (c < 0 ? low : high)[k] += (c < 0 ? -step : step) * (dims[j] - 1);
  }
  for (size_t k = 0; k < end - begin; ++k)
    if (low[k] < 0 || high[k] >= shape[begin + k]) return Outcome::impossible;
  return Outcome::done;
}

Outcome reshape_once(const Shape& from, const Shape& to, const IndexMap& map, const std::vector<int64_t>& dims,
                     const SplitAxis& split, IndexMap& out) {
  const size_t axes = dims.size();
  out = IndexMap();
  out.offset.assign(to.size(), 0);
  out.coef.assign(to.size(), std::vector<int64_t>(axes, 0));
  for (const Group& g : reshape_groups(from, to)) {
    std::vector<size_t> real;  // input axes that are not of size 1
    for (size_t t = g.to_begin; t < g.to_end; ++t)
      if (to[t] != 1) real.push_back(t);
    if (real.empty()) continue;
    const Linear l = linearise(map, from, g.from_begin, g.from_end, axes);
    if (real.size() == 1) {
      out.coef[real[0]] = l.coef;
      out.offset[real[0]] = l.offset;
      if (l.dynamic != 0)
        out.dynamic = IndexMap::Dynamic{map.dynamic->scalar, int(real[0]), l.dynamic, map.dynamic->max};
      continue;
    }
    if (l.dynamic != 0) return Outcome::impossible;
    if (const Outcome o = delinearise(l, to, g.to_begin, g.to_end, dims, split, out); o != Outcome::done) return o;
  }
  return Outcome::done;
}

std::optional<IndexMap> through_reshape(const Node& view, IndexMap& map, const std::vector<int64_t>& dims,
                                        const SplitAxis& split) {
  const Shape& to = view.inputs[0]->shape;
  if (element_count(view.shape) == 0) {
    IndexMap zero;
    zero.offset.assign(to.size(), 0);
    zero.coef.assign(to.size(), std::vector<int64_t>(dims.size(), 0));
    return zero;
  }
  for (;;) {
    IndexMap out;
    const Outcome o = reshape_once(view.shape, to, map, dims, split, out);
    if (o == Outcome::done) return out;
    if (o == Outcome::impossible) return std::nullopt;
  }
}

}  // namespace

std::optional<IndexMap> through_view(const Node& view, IndexMap& map, const std::vector<int64_t>& dims,
                                     const SplitAxis& split) {
  const size_t rank = view.shape.size();
  IndexMap out = map;
  switch (view.kind) {
    case Kind::reshape: return through_reshape(view, map, dims, split);
    case Kind::permute:
      for (size_t i = 0; i < rank; ++i) {
        const size_t axis = size_t(view.ints[i]);
        out.coef[axis] = map.coef[i];
        out.offset[axis] = map.offset[i];
        if (map.dynamic && map.dynamic->axis == int(i)) out.dynamic->axis = int(axis);
      }
      return out;
    case Kind::slice:
      for (size_t i = 0; i < rank; ++i) {
        const int64_t start = view.ints[i], step = view.ints[rank + i];
        for (int64_t& c : out.coef[i]) c *= step;
        out.offset[i] = start + step * map.offset[i];
        if (map.dynamic && map.dynamic->axis == int(i)) out.dynamic->scale *= step;
      }
      return out;
    case Kind::expand:
      for (size_t i = 0; i < rank; ++i) {
        if (view.inputs[0]->shape[i] == view.shape[i]) continue;
        out.coef[i].assign(out.coef[i].size(), 0);
        out.offset[i] = 0;
        if (map.dynamic && map.dynamic->axis == int(i)) out.dynamic.reset();
      }
      return out;
    case Kind::dynamic_slice: {
      if (map.dynamic) return std::nullopt;  // one run-time offset per operand
      const int axis = int(view.ints[0]);
      const int64_t max = view.inputs[0]->shape[size_t(axis)] - view.shape[size_t(axis)];
      out.dynamic = IndexMap::Dynamic{view.inputs[1].get(), axis, 1, max};
      return out;
    }
    default: TENON_CHECK(false, "not a view: ", to_string(view.kind));
  }
  return std::nullopt;
}

LinearAccess linear_access(const IndexMap& map, const Strides& storage_strides, size_t iteration_axes) {
  LinearAccess a;
  a.strides.assign(iteration_axes, 0);
  for (size_t d = 0; d < map.coef.size(); ++d) {
    for (size_t j = 0; j < a.strides.size(); ++j) a.strides[j] += map.coef[d][j] * storage_strides[d];
    a.offset += map.offset[d] * storage_strides[d];
    if (map.dynamic && map.dynamic->axis == int(d)) a.dynamic_stride = map.dynamic->scale * storage_strides[d];
  }
  return a;
}

}  // namespace tenon::graph
