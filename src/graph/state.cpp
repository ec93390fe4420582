#include "tenon/state.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "graph/evaluate.h"
#include "graph/handles.h"
#include "graph/mode.h"
#include "graph/plan_builder.h"
#include "runtime/execute.h"

namespace tenon {

using graph::Node;
using graph::NodeRef;

struct StateData {
  std::string label;
  NodeRef current;
  bool lost = false;
};

namespace {

// What a compiled function does with states while it is traced.
struct Trace {
  struct Touched {
    std::shared_ptr<StateData> state;
    NodeRef place;  // stands for the state's value at the start of a call
    NodeRef next;   // its value at the end, if it is set
  };
  std::vector<Touched> touched;
  Touched& of(const std::shared_ptr<StateData>& s) {
    for (Touched& t : touched)
      if (t.state == s) return t;
    touched.push_back({s, graph::placeholder(s->current->device, s->current->dtype, s->current->shape), {}});
    touched.back().place->label = s->label;
    return touched.back();
  }
};

thread_local Trace* tracing = nullptr;

bool is_lost(const StateData& s) { return s.lost || s.current->storage->lost(); }

void check_alive(const StateData& s) {
  if (is_lost(s))
    throw Error(ErrorCode::state_lost, "this State's value was lost when a plan that updated it failed; set it again with reset()");
}

void check_same(const StateData& s, const Tensor& next) {
  if (next.dtype() == s.current->dtype && next.shape() == s.current->shape) return;
  throw Error(ErrorCode::shape, cat("State is ", to_string(s.current->dtype), to_string(s.current->shape), ", set() got ",
                                    to_string(next.dtype()), to_string(next.shape()), "; use reset() to change shape or dtype"),
              {.op = "State::set"});
}

// A node whose value will be dense: views of leaves would keep the leaf's strides.
NodeRef densely(NodeRef n) {
  const bool strided = n->is_view() || (n->kind == graph::Kind::leaf && n->strides != dense_strides(n->shape));
  return strided && !n->shape.empty() ? graph::concat({n}, 0) : n;
}

NodeRef evaluated(const Tensor& t) { return graph::evaluate_dense(graph::node_of(t)); }

}  // namespace

State::State(const Tensor& initial, std::string label) : data_(std::make_shared<StateData>()) {
  data_->label = std::move(label);
  data_->current = evaluated(initial);
}

Tensor State::value() const {
  check_alive(*data_);
  if (!tracing) return graph::to_tensor(data_->current);
  const Trace::Touched& t = tracing->of(data_);
  return graph::to_tensor(t.next ? t.next : t.place);
}

bool State::lost() const { return is_lost(*data_); }

void State::set(const Tensor& next) {
  check_same(*data_, next);
  if (tracing) {
    tracing->of(data_).next = graph::node_of(next);
    return;
  }
  const StateUpdate update{*this, next};
  eval({}, {&update, 1});
}

void State::reset(const Tensor& value) {
  if (tracing) throw Error(ErrorCode::invalid_argument, "State::reset() inside compile(); use set() with the same shape");
  data_->current = evaluated(value);
  data_->lost = false;
}

namespace {

// Nodes that somebody outside the graph still holds may be computed once more, later: what they read must stay.
std::unordered_set<const Node*> needed_later(std::span<Node* const> order, std::span<const NodeRef> roots,
                                             std::unordered_map<const Node*, int64_t>& edges) {
  std::unordered_set<const Node*> is_root, needed;
  for (const NodeRef& r : roots) is_root.insert(r.get());
  for (size_t i = order.size(); i-- > 0;) {
    const Node* n = order[i];
    const bool held = !is_root.contains(n) && n->kind != graph::Kind::leaf && n->owners() > edges[n];
    if (held || needed.contains(n))
      for (const NodeRef& input : n->inputs) needed.insert(input.get());
  }
  return needed;
}

void refuse_copy_if_strict() {
  if (graph::strict_states())
    throw Error(ErrorCode::invalid_argument, "State: the value that is updated is still held elsewhere (a snapshot, its initial tensor or a "
                                             "view of it), so the update has to copy it; let go of it, use State::apply(), or leave strict mode",
                {.op = "State::set"});
}

// Whether an update() in the graph starts from the value itself.
bool is_updated(const Node* n, std::span<Node* const> order) {
  return std::any_of(order.begin(), order.end(), [&](const Node* u) { return u->kind == graph::Kind::update && u->inputs[0].get() == n; });
}

// A state's value may be overwritten when only the state and the graph that is being run hold it.
std::unordered_set<const Node*> donations(std::span<const NodeRef> roots, std::span<const StateUpdate> updates) {
  std::unordered_map<const Node*, int64_t> edges;
  const std::vector<Node*> order = graph::topological_order(roots);
  for (const Node* n : order)
    for (const NodeRef& i : n->inputs) ++edges[i.get()];
  const auto needed = needed_later(order, roots, edges);
  std::unordered_set<const Node*> donated;
  for (const StateUpdate& u : updates) {
    Node* n = u.state.data()->current.get();
    if (n->kind != graph::Kind::leaf || !edges.contains(n)) continue;
    if (n->owners() == 1 + edges[n] && n->storage->owners() == 1 && !needed.contains(n)) {
      donated.insert(n);
    } else if (is_updated(n, order)) {
      refuse_copy_if_strict();
      ++n->device->counters().state_copies;
    }
  }
  return donated;
}

}  // namespace

void eval(std::span<const Tensor> tensors, std::span<const StateUpdate> updates) {
  std::vector<NodeRef> roots;
  for (const Tensor& t : tensors) roots.push_back(graph::node_of(t));
  for (const StateUpdate& u : updates) {
    check_same(*u.state.data(), u.next);
    roots.push_back(densely(graph::node_of(u.next)));
  }
  if (roots.empty()) return;
  RecursiveLock lock(roots[0]->device->mutex());
  const auto donated = donations(roots, updates);
  try {
    graph::evaluate(roots, donated);
  } catch (const FailedRun&) {
    for (const StateUpdate& u : updates) u.state.data()->lost = true;
    throw;
  }
  for (size_t i = 0; i < updates.size(); ++i) {
    StateData& s = *updates[i].state.data();
    s.current = roots[tensors.size() + i];
    s.lost = false;
  }
}

// ------------------------------------------------------------------------------------------------------- compile

struct Compiled::Impl {
  std::shared_ptr<DeviceContext> device;
  std::shared_ptr<const Plan> plan;
  std::vector<NodeRef> inputs;  // placeholders
  struct Leaf {
    int input = -1;               // of the call
    std::shared_ptr<StateData> state;
    NodeRef constant;
    bool donated = false;
  };
  std::vector<Leaf> leaves;
  std::vector<NodeRef> scalars;
  size_t results = 0;
  std::vector<std::shared_ptr<StateData>> set_states;  // after the results, in order

  LeafBinding bind(const Leaf& leaf, const std::vector<Tensor>& args);
  Execution run(std::span<const LeafBinding> bound, std::span<const uint32_t> values);
};

namespace {

void check_device(const char* what, const DeviceContext* want, const DeviceContext* got) {
  if (want == got) return;
  throw Error(ErrorCode::device, cat("compiled function: ", what, " is on a device other than the one it was compiled for; move it with to(device)"),
              {.op = "compile"});
}

void check_input(size_t i, const Node& want, const Tensor& got) {
  check_device("an input", want.device.get(), got.device().context());
  if (got.dtype() == want.dtype && got.shape() == want.shape) return;
  throw Error(ErrorCode::shape, cat("compiled function: input ", int64_t(i), " is ", to_string(got.dtype()), to_string(got.shape()),
                                    ", it was compiled for ", to_string(want.dtype), to_string(want.shape)),
              {.op = "compile"});
}

// Only one handle to the value and to its memory: a plan may write into it.
bool only_owner(const Node& n) { return n.owners() == 1 && n.storage->owners() == 1; }

// A compiled plan takes its inputs to begin where the device's bindings may begin.
bool aligned(const Node& n) { return n.offset % n.device->limits().view_alignment == 0; }

NodeRef copy(const Node& n) {
  auto to = make_ref<Storage>(n.device, dense_bytes(n.dtype, n.shape));
  n.device->backend().copy(to->handle(), 0, n.storage->handle(), n.offset, to->bytes());
  to->set_outcome(n.storage->outcome());
  return graph::leaf(std::move(to), n.dtype, n.shape);
}

NodeRef counted_copy(const Node& n) {
  refuse_copy_if_strict();
  ++n.device->counters().state_copies;
  return copy(n);
}

struct TraceScope {
  explicit TraceScope(Trace& t) : before(tracing) { tracing = &t; }
  ~TraceScope() { tracing = before; }
  Trace* before;
};

}  // namespace

LeafBinding Compiled::Impl::bind(const Leaf& leaf, const std::vector<Tensor>& args) {
  NodeRef n = leaf.constant;
  if (leaf.input >= 0) n = evaluated(args[size_t(leaf.input)]);
  if (leaf.state) {
    check_alive(*leaf.state);
    if (leaf.donated && !only_owner(*leaf.state->current)) leaf.state->current = counted_copy(*leaf.state->current);
    if (!aligned(*leaf.state->current)) leaf.state->current = copy(*leaf.state->current);
    n = leaf.state->current;
  }
  if (!leaf.constant && !aligned(*n)) n = copy(*n);
  return {n->storage, n->offset};
}

Execution Compiled::Impl::run(std::span<const LeafBinding> bound, std::span<const uint32_t> values) {
  try {
    return execute(device, plan, bound, values);
  } catch (const FailedRun&) {
    for (const auto& s : set_states) s->lost = true;
    throw;
  }
}

std::vector<Tensor> Compiled::operator()(const std::vector<Tensor>& args) const {
  Impl& f = *impl_;
  if (args.size() != f.inputs.size())
    throw Error(ErrorCode::invalid_argument, cat("compiled function takes ", int64_t(f.inputs.size()), " inputs, got ",
                                                 int64_t(args.size())));
  for (size_t i = 0; i < args.size(); ++i) check_input(i, *f.inputs[i], args[i]);
  RecursiveLock lock(f.device->mutex());
  std::vector<LeafBinding> leaves;
  std::vector<Ref<Storage>> storages;
  std::vector<int64_t> offsets;
  for (const Impl::Leaf& l : f.leaves) {
    leaves.push_back(f.bind(l, args));
    storages.push_back(leaves.back().storage);
    offsets.push_back(leaves.back().offset);
  }
  std::vector<uint32_t> scalars;
  for (const NodeRef& s : f.scalars) append_scalar(*s, scalars);
  const Execution run = f.run(leaves, scalars);
  const auto values = graph::result_leaves(f.device, *f.plan, run.outputs, storages, offsets);
  std::vector<Tensor> results;
  for (size_t i = 0; i < f.results; ++i) results.push_back(graph::to_tensor(values[i]));
  for (size_t i = 0; i < f.set_states.size(); ++i) f.set_states[i]->current = values[f.results + i];
  return results;
}

std::string Compiled::plan_text() const { return to_string(*impl_->plan); }
std::string Compiled::plan_json() const { return to_json(*impl_->plan); }
int64_t Compiled::launches() const { return impl_->plan->launches(); }
int64_t Compiled::copies() const { return int64_t(impl_->plan->steps.size()) - impl_->plan->launches(); }
int64_t Compiled::peak_bytes() const { return impl_->plan->arena_bytes + impl_->plan->output_bytes; }

Compiled compile(const Compiled::Function& function, const std::vector<Tensor>& example_inputs, const Device& device) {
  auto impl = std::make_shared<Compiled::Impl>();
  impl->device = device.shared();
  std::vector<Tensor> args;
  for (const Tensor& t : example_inputs) {
    check_device("an example input", device.context(), t.device().context());
    impl->inputs.push_back(graph::placeholder(device.shared(), t.dtype(), t.shape()));
    impl->inputs.back()->label = cat("input", int64_t(args.size()));
    args.push_back(graph::to_tensor(impl->inputs.back()));
  }
  Trace trace;
  std::vector<NodeRef> roots;
  {
    TraceScope scope(trace);
    for (const Tensor& t : function(args)) roots.push_back(graph::node_of(t));
  }
  impl->results = roots.size();
  std::unordered_set<const Node*> donated;
  for (Trace::Touched& t : trace.touched) {
    if (!t.next || t.next == t.place) continue;
    roots.push_back(densely(t.next));
    impl->set_states.push_back(t.state);
    donated.insert(t.place.get());
  }
  for (const NodeRef& r : roots) check_device("a result", device.context(), r->device.get());
  if (roots.empty()) throw Error(ErrorCode::invalid_argument, "compile: the function returns nothing and sets no State");

  RecursiveLock lock(impl->device->mutex());
  const graph::PlanInputs inputs = graph::plan_inputs(roots);
  for (Node* n : inputs.leaves) {
    Compiled::Impl::Leaf leaf;
    for (size_t i = 0; i < impl->inputs.size(); ++i)
      if (impl->inputs[i].get() == n) leaf.input = int(i);
    for (const Trace::Touched& t : trace.touched)
      if (t.place.get() == n) leaf.state = t.state;
    leaf.donated = donated.contains(n);
    if (leaf.input < 0 && !leaf.state) leaf.constant = NodeRef(n);
    impl->leaves.push_back(std::move(leaf));
  }
  for (Node* n : inputs.scalars) impl->scalars.emplace_back(n);
  impl->plan = graph::build_plan(impl->device, roots, inputs, donated);
  ++impl->device->counters().plans;
  return Compiled(std::move(impl));
}

}  // namespace tenon
