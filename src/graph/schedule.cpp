#include "graph/schedule.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "graph/fixed.h"
#include "graph/needs.h"

namespace tenon::graph {
namespace {

struct Place {
  Region* region;
  int use;
};

struct NodeState {
  std::vector<Place> places;  // where the value is wanted
  bool root = false;
  bool force = false;  // has to exist in memory
  int buffer = -1;
  int cost = 0;  // operations to compute it again from memory; large when it should not be
};

constexpr int not_cheap = 1000;
constexpr int cheap_limit = 4;
constexpr int max_reductions = 8;  // of one region: what a kernel keeps in flight

bool is_free(const Node& n) { return n.kind == Kind::constant || n.kind == Kind::scalar || n.kind == Kind::iota; }

class Scheduler {
 public:
  Scheduler(std::span<const NodeRef> roots, const ScheduleOptions& options) : roots_(roots), options_(options) {}

  Schedule run() {
    order_ = topological_order(roots_);
    for (Node* n : order_) states_[n].cost = recompute_cost(*n);
    for (const NodeRef& r : roots_) states_[r.get()].root = true;
    for (size_t i = order_.size(); i-- > 0;) place(order_[i]);
    for (const NodeRef& r : roots_) out_.roots.push_back(root_of(r.get()));
    sort_regions(out_);
    return std::move(out_);
  }

 private:
  // ------------------------------------------------------------------------------------------ deciding per node

  int recompute_cost(const Node& n) {
    if (n.kind == Kind::leaf || is_free(n)) return 0;
    if (n.is_view()) return states_[n.inputs[0].get()].cost;
    if (n.kind != Kind::map && n.kind != Kind::cast) return not_cheap;
    int cost = 1, bases = 0;
    for (const NodeRef& i : n.inputs) {
      if (is_free(*i)) continue;
      ++bases;
      const int c = states_[i.get()].cost;
      if (c < not_cheap) cost += c;  // an expensive input will be in memory
    }
    return bases <= 1 ? cost : not_cheap;
  }

  void place(Node* n) {
    NodeState& s = states_[n];
    if (n->kind == Kind::leaf) return place_leaf(n, s);
    if (element_count(n->shape) == 0 && (s.root || s.force)) buffer_of(n);
    if (n->is_view()) return place_view(n, s);
    if (is_free(*n)) {
      for (Place p : s.places) {
        Use& u = p.region->uses[size_t(p.use)];
        if (u.anchor_operand >= 0 || u.gathered || (options_.fixed && must_load(p))) s.force = true;
        else u.state = Use::State::computed;
      }
      if (s.root || s.force) seed(n);
      return load_places(n, s);
    }
    if (n->kind == Kind::concat || n->kind == Kind::update) {
      n->kind == Kind::concat ? seed_concat(n) : seed_update(n);
      return load_places(n, s);
    }
    if (!s.root && !s.force && joins(n, s)) return;
    seed(n);
    load_places(n, s);
  }

  // Of a canonical launch: whether a value that costs nothing is an argument, or is stored at a run-time position.
  static bool must_load(Place p) {
    const Region& r = *p.region;
    const auto is_it = [&](int use) { return r.value_of(use) == p.use; };
    if (r.outputs[0].map.dynamic && is_it(r.outputs[0].use)) return true;
    return std::any_of(r.uses.begin(), r.uses.end(), [&](const Use& u) { return !u.alias && std::any_of(u.args.begin(), u.args.end(), is_it); });
  }

  void place_leaf(Node* n, NodeState& s) {
    const bool dense = n->strides == dense_strides(n->shape);
    if (s.force && !dense) seed(n);  // a dense copy for those who could not read it through its strides
    for (Place p : s.places) {
      Use& u = p.region->uses[size_t(p.use)];
      if (u.state == Use::State::open) load(u, leaf_buffer(n), n->strides);
    }
  }

  void place_view(Node* n, NodeState& s) {
    const bool may_push = n->kind != Kind::dynamic_slice || (!options_.fixed && scalars_fit(s));
    for (Place p : s.places) {
      if (!(may_push && push_through(n, p))) {
        (n->kind == Kind::reshape ? states_[n->inputs[0].get()].force : s.force) = true;
      }
    }
    if (s.root && !leaf_alias(n)) s.force = true;
    if (s.force) seed(n);
    for (Place p : s.places) {
      Use& u = p.region->uses[size_t(p.use)];
      if (u.state != Use::State::open || u.node != n) continue;  // moved on to the view's input
      if (s.force) load(u, buffer_of(n), dense_strides(n->shape));
      else load_reshaped(u, n);
    }
  }

  // The use's value from the view's input at the composed place.
  bool push_through(Node* view, Place p) {
    Region& r = *p.region;
    if (r.uses[size_t(p.use)].gathered) return false;
    const int operand = r.uses[size_t(p.use)].anchor_operand;
    Node* input = view->inputs[0].get();
    if (operand >= 0) return push_operand(view, r, p.use);
    if (input->kind == Kind::constant || input->kind == Kind::scalar) {  // the same everywhere
      move_use(r, p.use, input, IndexMap());
      return true;
    }
    SplitAxis split = [&r](size_t axis, int64_t inner) { return r.may_split() && r.split_axis(axis, inner); };
    // The map lives inside the region, so that cutting an axis changes it too; r.uses does not grow meanwhile.
    auto map = through_view(*view, r.uses[size_t(p.use)].map, r.dims, split);
    if (!map) return false;
    move_use(r, p.use, input, std::move(*map));
    if (view->kind == Kind::dynamic_slice) want(r, view->inputs[1].get(), IndexMap());
    return true;
  }

  // The use reads `node` from now on; a view costs no use of its own, however long a chain of them is.
  void move_use(Region& r, int use, Node* node, IndexMap map) {
    r.uses[size_t(use)].node = nullptr;  // not found as its own equal
    bool added;
    const int equal = r.find_or_add(node, std::move(map), &added);
    Use& u = r.uses[size_t(use)];
    u.node = node;
    if (added) {
      u.map = std::move(r.uses.back().map);
      r.uses.pop_back();
      states_[node].places.push_back({&r, use});
      return;
    }
    u.state = Use::State::computed;
    u.args = {equal};
    u.alias = true;
    u.map = r.uses[size_t(equal)].map;  // where `node` is read, so that a later search finds the right value
  }

  // An anchor's operand keeps its own axes; it only changes the node that it is read from.
  bool push_operand(Node* view, Region& r, int use) {
    Use& u = r.uses[size_t(use)];
    const Shape& own = r.anchor->inputs[size_t(u.anchor_operand)]->shape;
    auto map = through_view(*view, u.map, own, nullptr);
    Node* input = view->inputs[0].get();
    if (!map || map->dynamic) return false;
    if (!operand_ok(r, u, input, *map)) return false;
    u.node = input;
    u.map = std::move(*map);
    states_[input].places.push_back({&r, use});
    return true;
  }

  // Whether the anchor takes the strides that reading `base` through `map` would give.
  bool operand_ok(const Region& r, const Use& u, const Node* base, const IndexMap& map) {
    const Node* own = r.anchor->inputs[size_t(u.anchor_operand)].get();
    const Strides storage = base->kind == Kind::leaf ? base->strides : dense_strides(base->shape);
    OperandView view{own->dtype, own->shape, linear_access(map, storage, own->shape.size()).strides};
    return r.anchor->anchor->takes(u.anchor_operand, view);
  }

  // A reshape whose input is in memory, dense: the same bytes with other strides.
  void load_reshaped(Use& u, Node* reshape) {
    Node* input = reshape->inputs[0].get();
    load(u, buffer_of(input), dense_strides(reshape->shape));
  }

  bool joins(Node* n, NodeState& s) {
    if (s.places.empty()) return true;
    for (Place p : s.places) {
      const Use& u = p.region->uses[size_t(p.use)];
      if (u.anchor_operand >= 0 || u.gathered) return false;
    }
    if (!options_.fuse || options_.fixed) return false;
    if (s.places.size() > 1 && s.cost > cheap_limit) return false;  // it would be computed several times
    for (Place p : s.places)
      if (!fits(*p.region, *n, s) || cuts_reduction(*p.region, *n, p.region->uses[size_t(p.use)].map)) return false;
    if (n->kind == Kind::reduce) return join_reduce(n, s.places[0]);
    if (n->kind == Kind::anchor) return join_anchor(n, s.places[0]);
    for (Place p : s.places) expand_use(*p.region, p.use);
    return true;
  }

  // Whether an element-wise node's input is one of the region's values already, at the node's own place.
  static bool wanted_at(const Region& r, const Node& n, const Node* input, const IndexMap& map) {
    if (n.kind != Kind::map && n.kind != Kind::cast) return false;
    return std::any_of(r.uses.begin(), r.uses.end(), [&](const Use& u) {
      return u.node == input && u.anchor_operand < 0 && !u.gathered && u.map == map;
    });
  }

  // Operands and instructions if `n` were replaced by its inputs, at each of its places.
  bool fits(const Region& r, const Node& n, const NodeState& s) {
    Needs all = needs(r, &n);
    const size_t tensors = n.kind == Kind::anchor ? size_t(n.anchor->tensors) : 0;
    for (Place p : s.places) {
      if (p.region != &r) continue;
      for (size_t i = 0; i < n.inputs.size(); ++i)
        if (!wanted_at(r, n, n.inputs[i].get(), r.uses[size_t(p.use)].map))
          all.want(n.inputs[i].get(), i < tensors || (n.kind == Kind::gather && i == 0));
      if (n.kind == Kind::random_bits) ++all.indices;
    }
    return all.operands + all.indices - int(tensors) <= region_max_operands && int(all.scalars.size()) <= region_max_scalars &&
           all.bindings() + int(r.outputs.size()) <= options_.max_bindings && int(r.uses.size()) + 3 < options_.max_instructions;
  }

  // Whether the run-time scalars that open uses bring (a dynamic slice's position) have a binding left everywhere.
  bool scalars_fit(const NodeState& s) const {
    return std::all_of(s.places.begin(), s.places.end(), [&](Place p) {
      return needs(*p.region, nullptr).bindings() + int(p.region->outputs.size()) <= options_.max_bindings;
    });
  }

  // ---------------------------------------------------------------------------------------- growing a region

  // The value of `node` at `map` is wanted in the region.
  int want(Region& r, Node* node, const IndexMap& map) {
    bool added;
    const int use = r.find_or_add(node, map, &added);
    if (added) states_[node].places.push_back({&r, use});
    return use;
  }

  // Makes a use computed: its inputs are wanted at the places that follow from its own.
  void expand_use(Region& r, int use) {
    Node* n = r.uses[size_t(use)].node;
    r.uses[size_t(use)].state = Use::State::computed;
    std::vector<int> args;
    switch (n->kind) {
      case Kind::map:
      case Kind::cast:
        for (const NodeRef& i : n->inputs) args.push_back(want(r, i.get(), IndexMap(r.uses[size_t(use)].map)));
        break;
      case Kind::random_bits:
        for (const NodeRef& i : n->inputs) args.push_back(want(r, i.get(), IndexMap()));
        break;
      case Kind::gather: args = n->ints.size() > 1 ? expand_gather_along(r, use) : expand_gather(r, use); break;
      default: TENON_CHECK(is_free(*n), "cannot expand ", to_string(n->kind));
    }
    r.uses[size_t(use)].args = std::move(args);
  }

  std::vector<int> expand_gather(Region& r, int use) {
    Node* n = r.uses[size_t(use)].node;
    const Node* x = n->inputs[0].get();
    const IndexMap map = r.uses[size_t(use)].map;
    const size_t axis = size_t(n->ints[0]), index_rank = n->inputs[1]->shape.size();
    IndexMap at_index, at_x;
    for (size_t d = 0; d < index_rank; ++d) {
      at_index.coef.push_back(map.coef[axis + d]);
      at_index.offset.push_back(map.offset[axis + d]);
    }
    for (size_t d = 0; d < x->shape.size(); ++d) {
      const size_t from = d < axis ? d : d + index_rank - 1;
      at_x.coef.push_back(d == axis ? std::vector<int64_t>(r.dims.size(), 0) : map.coef[from]);
      at_x.offset.push_back(d == axis ? 0 : map.offset[from]);
    }
    if (map.dynamic) {
      const int d = map.dynamic->axis;
      const bool of_index = d >= int(axis) && d < int(axis + index_rank);
      IndexMap& target = of_index ? at_index : at_x;
      target.dynamic = map.dynamic;
      target.dynamic->axis = of_index ? d - int(axis) : (d < int(axis) ? d : d - int(index_rank) + 1);
    }
    return gather_uses(r, *n, at_index, std::move(at_x));
  }

  // The index has the result's own coordinates, and so has x but for the gathered axis and axes of size 1.
  std::vector<int> expand_gather_along(Region& r, int use) {
    Node* n = r.uses[size_t(use)].node;
    const Shape& from = n->inputs[0]->shape;
    const IndexMap map = r.uses[size_t(use)].map;
    IndexMap at_x = map;
    for (size_t d = 0; d < from.size(); ++d) {
      if (d != size_t(n->ints[0]) && from[d] != 1) continue;
      at_x.coef[d].assign(r.dims.size(), 0);
      at_x.offset[d] = 0;
      if (at_x.dynamic && at_x.dynamic->axis == int(d)) at_x.dynamic.reset();
    }
    return gather_uses(r, *n, map, std::move(at_x));
  }

  std::vector<int> gather_uses(Region& r, const Node& n, const IndexMap& at_index, IndexMap at_x) {
    Node* x = n.inputs[0].get();
    const int index_use = want(r, n.inputs[1].get(), at_index);
    Use base;
    base.node = x;
    base.map = std::move(at_x);
    base.gathered = true;
    base.gather_axis = int(n.ints[0]);
    r.uses.push_back(std::move(base));
    const int base_use = int(r.uses.size()) - 1;
    states_[x].places.push_back({&r, base_use});
    return {base_use, index_use};
  }

  // A reduction joins when the region's inner axes are (or can become) the axes that it reduces.
  bool join_reduce(Node* n, Place p) {
    Region& r = *p.region;
    if (r.anchor || reductions(r) >= max_reductions) return false;
    const IndexMap& at = r.uses[size_t(p.use)].map;
    if (r.depends_on_inner(at)) return false;
    std::vector<int64_t> wanted;
    for (int64_t a : n->ints)
      if (const int64_t d = n->inputs[0]->shape[size_t(a)]; d != 1) wanted.push_back(d);
    std::vector<size_t> axes;
    if (!choose_inner(r, at, wanted, axes)) return false;
    for (size_t j = 0; j < r.dims.size(); ++j) {
      const bool chosen = std::find(axes.begin(), axes.end(), j) != axes.end();
      if (!chosen && !r.inner[j] && r.dims[j] != 1 && !at.depends_on(j)) return false;  // would compute rows again
    }
    for (size_t j : axes) r.inner[j] = true;
    if (!r.has_inner()) axes = append_inner(r, wanted.empty() ? std::vector<int64_t>{1} : wanted);
    expand_reduce(r, p.use, axes);
    return true;
  }

  static int reductions(const Region& r) {
    return int(std::count_if(r.uses.begin(), r.uses.end(), [](const Use& u) {
      return u.node->kind == Kind::reduce && u.state == Use::State::computed;
    }));
  }

  // Existing axes that can be the inner ones; empty with `true`: none are there yet, new ones are appended.
  bool choose_inner(const Region& r, const IndexMap& at, const std::vector<int64_t>& wanted, std::vector<size_t>& axes) {
    std::vector<size_t> candidates;
    for (size_t j = 0; j < r.dims.size(); ++j)
      if (r.dims[j] != 1 && (r.has_inner() ? bool(r.inner[j]) : !at.depends_on(j))) candidates.push_back(j);
    if (!r.has_inner()) {
      if (candidates.size() < wanted.size() || wanted.empty()) return candidates.empty();
      candidates.erase(candidates.begin(), candidates.end() - int64_t(wanted.size()));
    }
    if (candidates.size() != wanted.size()) return false;
    for (size_t i = 0; i < wanted.size(); ++i)
      if (r.dims[candidates[i]] != wanted[i]) return false;
    axes = candidates;
    return true;
  }

  std::vector<size_t> append_inner(Region& r, const std::vector<int64_t>& sizes) {
    std::vector<size_t> axes;
    for (int64_t d : sizes) {
      axes.push_back(r.dims.size());
      r.dims.push_back(d);
      r.inner.push_back(true);
    }
    for (Use& u : r.uses)
      if (u.anchor_operand < 0) u.map.append_axes(sizes.size());
    for (Output& o : r.outputs) o.map.append_axes(sizes.size());
    return axes;
  }

  void expand_reduce(Region& r, int use, const std::vector<size_t>& axes) {
    Node* n = r.uses[size_t(use)].node;
    const IndexMap at = r.uses[size_t(use)].map;
    const Shape& shape = n->inputs[0]->shape;
    IndexMap map;
    size_t kept = 0, next = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      std::vector<int64_t> row(r.dims.size(), 0);
      int64_t offset = 0;
      if (std::find(n->ints.begin(), n->ints.end(), int64_t(d)) == n->ints.end()) {
        if (at.dynamic && at.dynamic->axis == int(kept)) {
          map.dynamic = at.dynamic;
          map.dynamic->axis = int(d);
        }
        row = at.coef[kept];
        offset = at.offset[kept++];
      } else if (shape[d] != 1) {
        row[axes[next++]] = 1;
      }
      map.coef.push_back(std::move(row));
      map.offset.push_back(offset);
    }
    // More inner axes than a kernel has: they collapse when the input lies in memory.
    if (axes.size() > size_t(region_max_rank) || (options_.fixed && has_many_axes(*n))) states_[n->inputs[0].get()].force = true;
    const int arg = want(r, n->inputs[0].get(), map);
    r.uses[size_t(use)].state = Use::State::computed;
    r.uses[size_t(use)].args = {arg};
  }

  // The region becomes the anchor's epilogue when it runs over exactly the anchor's results, in their order.
  bool join_anchor(Node* n, Place p) {
    Region& r = *p.region;
    if (!n->anchor->epilogue || r.anchor || r.has_inner() || r.outputs.size() != 1) return false;
    if (r.long_axes() > region_max_rank) return false;
    const Use& u = r.uses[size_t(p.use)];
    if (u.map.dynamic) return false;
    const LinearAccess at = linear_access(u.map, dense_strides(n->shape), r.dims.size());
    const Strides dense = dense_strides(r.dims);
    if (at.offset != 0 || element_count(r.dims) != element_count(n->shape)) return false;
    for (size_t j = 0; j < r.dims.size(); ++j)
      if (r.dims[j] != 1 && at.strides[j] != dense[j]) return false;
    attach_anchor(r, n, p.use);
    return true;
  }

  void attach_anchor(Region& r, Node* n, int use) {
    r.anchor = n;
    r.uses[size_t(use)].state = Use::State::computed;
    r.uses[size_t(use)].accumulator = true;
    for (int i = 0; i < int(n->inputs.size()); ++i) {
      if (i >= n->anchor->tensors) {
        want(r, n->inputs[size_t(i)].get(), IndexMap());
        continue;
      }
      Use operand;
      operand.node = n->inputs[size_t(i)].get();
      operand.map = IndexMap::identity(int64_t(operand.node->shape.size()));
      operand.anchor_operand = i;
      r.uses.push_back(std::move(operand));
      r.anchor_uses.push_back(int(r.uses.size()) - 1);
      states_[n->inputs[size_t(i)].get()].places.push_back({&r, r.anchor_uses.back()});
      check_leaf_operand(r, r.anchor_uses.back());
    }
  }

  // A leaf whose strides the anchor does not take is copied.
  void check_leaf_operand(Region& r, int use) {
    Use& u = r.uses[size_t(use)];
    if (u.node->kind != Kind::leaf || operand_ok(r, u, u.node, u.map)) return;
    states_[u.node].force = true;
    load(u, buffer_of(u.node), dense_strides(u.node->shape));
  }

  // --------------------------------------------------------------------------------------- values in memory

  Region& new_region(const Shape& dims) {
    out_.regions.push_back(std::make_unique<Region>());
    Region& r = *out_.regions.back();
    r.dims = dims;
    r.inner.assign(dims.size(), false);
    return r;
  }

  // A region that computes `n` into its dense buffer.
  void seed(Node* n) {
    const int buffer = buffer_of(n);
    if (element_count(n->shape) == 0) return;
    Region& r = new_region(n->shape);
    const IndexMap identity = IndexMap::identity(int64_t(n->shape.size()));
    bool added;
    const int use = r.find_or_add(n, identity, &added);
    r.outputs.push_back({use, buffer, identity, dense_strides(n->shape)});
    const Place p{&r, use};
    if (n->kind == Kind::leaf) load(r.uses[size_t(use)], leaf_buffer(n), n->strides);
    else if (n->is_view()) seed_view(n, p);
    else if (n->kind == Kind::reduce) TENON_CHECK(join_reduce(n, p), "a reduction cannot start its region");
    else if (n->kind == Kind::anchor) attach_anchor(r, n, use);
    else expand_use(r, use);
  }

  void seed_view(Node* n, Place p) {
    if (push_through(n, p)) return;
    TENON_CHECK(n->kind == Kind::reshape, "a view cannot start its region: ", to_string(n->kind));
    states_[n->inputs[0].get()].force = true;
    load_reshaped(p.region->uses[size_t(p.use)], n);
  }

  // Each part writes its own stretch of the result.
  void seed_concat(Node* n) {
    const int buffer = buffer_of(n);
    const size_t axis = size_t(n->ints[0]);
    int64_t at = 0;
    for (const NodeRef& part : n->inputs) {
      if (element_count(part->shape) != 0) {
        Region& r = new_region(part->shape);
        const IndexMap identity = IndexMap::identity(int64_t(part->shape.size()));
        IndexMap store = identity;
        store.offset[axis] = at;
        r.outputs.push_back({want(r, part.get(), identity), buffer, store, dense_strides(n->shape)});
      }
      at += part->shape[axis];
    }
  }

  void seed_update(Node* n) {
    Node *dst = n->inputs[0].get(), *src = n->inputs[1].get(), *at = n->inputs[2].get();
    const int buffer = buffer_of(n);
    const bool dense_leaf = dst->kind == Kind::leaf && dst->strides == dense_strides(dst->shape);
    if (!dense_leaf) states_[dst].force = true;
    out_.copies.push_back({buffer, dense_leaf ? leaf_buffer(dst) : buffer_of(dst)});
    if (element_count(src->shape) == 0) return;
    Region& r = new_region(src->shape);
    const size_t axis = size_t(n->ints[0]);
    const IndexMap identity = IndexMap::identity(int64_t(src->shape.size()));
    IndexMap store = identity;
    store.dynamic = IndexMap::Dynamic{at, int(axis), 1, n->shape[axis] - src->shape[axis]};
    want(r, at, IndexMap());
    r.outputs.push_back({want(r, src, identity), buffer, store, dense_strides(n->shape)});
  }

  void load_places(Node* n, NodeState& s) {
    for (Place p : s.places) {
      Use& u = p.region->uses[size_t(p.use)];
      if (u.state == Use::State::open) load(u, buffer_of(n), dense_strides(n->shape));
    }
  }

  void load(Use& u, int buffer, Strides strides) {
    u.state = Use::State::loaded;
    u.buffer = buffer;
    u.strides = std::move(strides);
  }

  int buffer_of(Node* n) {
    const bool dense_leaf = n->kind == Kind::leaf && n->strides == dense_strides(n->shape);
    if (dense_leaf) return leaf_buffer(n);
    NodeState& s = states_[n];
    if (s.buffer < 0) {
      s.buffer = int(out_.buffers.size());
      out_.buffers.push_back({n, false, dense_bytes(n->dtype, n->shape)});
    }
    return s.buffer;
  }

  int leaf_buffer(Node* n) {
    auto [it, added] = leaf_buffers_.try_emplace(n, int(out_.buffers.size()));
    if (added) out_.buffers.push_back({n, true, 0});
    return it->second;
  }

  // A root that is only a look at a leaf needs no launch.
  std::optional<Schedule::Root> leaf_alias(Node* n) {
    const std::vector<int64_t> dims = n->shape;
    IndexMap map = IndexMap::identity(int64_t(dims.size()));
    while (n->is_view()) {
      auto next = through_view(*n, map, dims, nullptr);
      if (!next || next->dynamic) return std::nullopt;
      map = std::move(*next);
      n = n->inputs[0].get();
    }
    if (n->kind != Kind::leaf || is_quantised(n->dtype)) return std::nullopt;
    LinearAccess a = linear_access(map, n->strides, dims.size());
    return Schedule::Root{leaf_buffer(n), std::move(a.strides), a.offset * block_bytes(n->dtype)};
  }

  Schedule::Root root_of(Node* n) {
    if (n->kind == Kind::leaf) return {leaf_buffer(n), n->strides, 0};
    if (n->is_view())
      if (auto alias = leaf_alias(n)) return *alias;
    return {buffer_of(n), dense_strides(n->shape), 0};
  }

  std::span<const NodeRef> roots_;
  ScheduleOptions options_;
  std::vector<Node*> order_;
  std::unordered_map<Node*, NodeState> states_;
  std::unordered_map<Node*, int> leaf_buffers_;
  Schedule out_;
};

}  // namespace

Schedule schedule(std::span<const NodeRef> roots, const ScheduleOptions& options) {
  return Scheduler(roots, options).run();
}

}  // namespace tenon::graph
