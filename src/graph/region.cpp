#include "base/check.h"
#include "graph/schedule.h"

namespace tenon::graph {

bool Region::has_inner() const {
  for (bool b : inner)
    if (b) return true;
  return false;
}

int Region::value_of(int use) const {
  while (uses[size_t(use)].alias) use = uses[size_t(use)].args[0];
  return use;
}

int Region::long_axes() const {
  int n = 0;
  for (int64_t d : dims) n += d != 1;
  return n;
}

int Region::find_or_add(Node* node, IndexMap map, bool* added) {
  *added = false;
  // Along an axis of size 1 nothing moves: maps that differ only there are the same place.
  for (size_t j = 0; j < dims.size(); ++j)
    if (dims[j] == 1)
      for (auto& row : map.coef) row[j] = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    const Use& u = uses[i];
    if (u.node == node && u.anchor_operand < 0 && !u.gathered && u.map == map) return int(i);
  }
  *added = true;
  Use u;
  u.node = node;
  u.map = std::move(map);
  uses.push_back(std::move(u));
  return int(uses.size()) - 1;
}

bool Region::split_axis(size_t axis, int64_t inner_size) {
  dims.insert(dims.begin() + int64_t(axis) + 1, inner_size);
  dims[axis] /= inner_size;
  inner.insert(inner.begin() + int64_t(axis) + 1, inner[axis]);
  for (Use& u : uses)
    if (u.anchor_operand < 0) u.map.split_axis(axis, inner_size);
  for (Output& o : outputs) o.map.split_axis(axis, inner_size);
  return true;
}

bool Region::depends_on_inner(const IndexMap& map) const {
  for (size_t j = 0; j < dims.size(); ++j)
    if (inner[j] && map.depends_on(j)) return true;
  return false;
}

}  // namespace tenon::graph
