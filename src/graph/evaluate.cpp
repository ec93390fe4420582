#include "graph/evaluate.h"

#include <unordered_map>

#include "base/check.h"
#include "base/trace.h"
#include "graph/plan_builder.h"
#include "runtime/execute.h"

namespace tenon::graph {
namespace {

// Plans by structure. Bounded: programs whose shapes never repeat must not grow without end.
class PlanCache {
 public:
  static constexpr size_t limit = 512;
  std::shared_ptr<const Plan> find(const std::vector<uint64_t>& key) const {
    auto [begin, end] = plans_.equal_range(hash_of(key));
    for (auto it = begin; it != end; ++it)
      if (it->second.first == key) return it->second.second;
    return nullptr;
  }
  void add(std::vector<uint64_t> key, std::shared_ptr<const Plan> plan) {
    if (plans_.size() >= limit) plans_.clear();
    const uint64_t h = hash_of(key);
    plans_.emplace(h, std::make_pair(std::move(key), std::move(plan)));
  }

 private:
  static uint64_t hash_of(const std::vector<uint64_t>& key) {
    uint64_t h = 0x9e3779b97f4a7c15ull;
    for (uint64_t w : key) h = (h ^ w) * 0xff51afd7ed558ccdull, h ^= h >> 32;
    return h;
  }
  std::unordered_multimap<uint64_t, std::pair<std::vector<uint64_t>, std::shared_ptr<const Plan>>> plans_;
};

PlanCache& plan_cache(DeviceContext& device) {
  if (!device.attachment()) device.attachment() = std::make_shared<PlanCache>();
  return *static_cast<PlanCache*>(device.attachment().get());
}

std::shared_ptr<const Plan> cached_plan(const std::shared_ptr<DeviceContext>& device, std::span<const NodeRef> roots,
                                        const PlanInputs& inputs, const std::unordered_set<const Node*>& donated) {
  std::vector<uint64_t> key = plan_key(roots, inputs, donated);
  PlanCache& cache = plan_cache(*device);
  if (auto plan = cache.find(key)) return plan;
  const TraceSpan span("make a plan");
  auto plan = build_plan(device, roots, inputs, donated);
  ++device->counters().plans;
  cache.add(std::move(key), plan);
  return plan;
}

void require_value(const Node& leaf) {
  if (!leaf.storage)
    throw Error(ErrorCode::invalid_argument, "a compiled function's input has no value while it is traced; return the tensor "
                                             "from the function instead of reading it");
}

void upload(const Node& leaf) {
  RecursiveLock lock(leaf.device->mutex());
  leaf.storage->handle();
}

void become_leaf(Node& n, const Node& value) {
  std::vector<NodeRef> dropped = std::move(n.inputs);
  n.inputs.clear();
  n.ints.clear();
  n.kind = Kind::leaf;
  n.anchor = nullptr;
  n.storage = value.storage;
  n.offset = value.offset;
  n.strides = value.strides;
}

}  // namespace

std::shared_ptr<const Plan> plan_for(std::span<const NodeRef> roots, const std::unordered_set<const Node*>& donated) {
  TENON_CHECK(!roots.empty());
  const std::shared_ptr<DeviceContext> device = roots[0]->device;
  RecursiveLock lock(device->mutex());
  return cached_plan(device, roots, plan_inputs(roots), donated);
}

std::vector<NodeRef> result_leaves(const std::shared_ptr<DeviceContext>& device, const Plan& plan,
                                   std::span<const Ref<Storage>> outputs, std::span<const Ref<Storage>> leaf_storages,
                                   std::span<const int64_t> leaf_offsets) {
  std::vector<NodeRef> results;
  for (const PlanRoot& r : plan.roots) {
    const PlanBuffer& b = plan.buffers[size_t(r.buffer)];
    NodeRef n = placeholder(device, r.dtype, r.shape);
    const bool of_leaf = b.where == PlanBuffer::Where::leaf;
    n->storage = of_leaf ? leaf_storages[size_t(b.index)] : outputs[size_t(b.index)];
    n->offset = r.offset + (of_leaf ? leaf_offsets[size_t(b.index)] : 0);
    n->strides = r.strides;
    results.push_back(std::move(n));
  }
  return results;
}

void evaluate(std::span<const NodeRef> roots, const std::unordered_set<const Node*>& donated) {
  std::vector<NodeRef> pending;
  for (const NodeRef& r : roots) {
    if (r->kind != Kind::leaf) pending.push_back(r);
    else if (r->storage) upload(*r);
  }
  if (pending.empty()) return;
  const std::shared_ptr<DeviceContext> device = pending[0]->device;
  for (const NodeRef& r : pending)
    if (r->device != device)
      throw Error(ErrorCode::device, cat("eval: tensors on ", device->backend().name(), " and on ",
                                         r->device->backend().name(), "; evaluate each device's tensors by themselves"));
  RecursiveLock lock(device->mutex());
  const PlanInputs inputs = plan_inputs(pending);
  const auto plan = cached_plan(device, pending, inputs, donated);
  std::vector<LeafBinding> leaves;
  std::vector<Ref<Storage>> storages;
  std::vector<int64_t> offsets;
  for (const Node* n : inputs.leaves) {
    require_value(*n);
    leaves.push_back({n->storage, n->offset});
    storages.push_back(n->storage);
    offsets.push_back(n->offset);
  }
  std::vector<uint32_t> scalars;
  for (const Node* n : inputs.scalars) append_scalar(*n, scalars);
  const Execution run = execute(device, plan, leaves, scalars);
  const std::vector<NodeRef> results = result_leaves(device, *plan, run.outputs, storages, offsets);
  for (size_t i = 0; i < pending.size(); ++i) become_leaf(*pending[i], *results[i]);
}

NodeRef evaluate_dense(NodeRef n) {
  evaluate({&n, 1});
  if (n->strides == dense_strides(n->shape) || element_count(n->shape) == 0) return n;
  n = concat({n}, 0);  // one part: a dense copy
  evaluate({&n, 1});
  return n;
}

struct PendingRead {
  std::shared_ptr<DeviceContext> device;
  std::shared_ptr<std::vector<std::byte>> bytes;
  std::shared_ptr<Outcome> outcome = std::make_shared<Outcome>();
  Backend::Ticket ticket = 0;
};

std::shared_ptr<PendingRead> start_read(const Node& n) {
  require_value(n);
  TENON_CHECK(n.kind == Kind::leaf && (element_count(n.shape) == 0 || n.strides == dense_strides(n.shape)));
  auto r = std::make_shared<PendingRead>();
  r->device = n.device;
  r->bytes = std::make_shared<std::vector<std::byte>>(size_t(dense_bytes(n.dtype, n.shape)));
  if (r->bytes->empty()) return r;
  RecursiveLock lock(n.device->mutex());
  Backend& backend = n.device->backend();
  n.device->release_passed();
  n.storage->require_content();
  r->outcome->depends_on(n.storage->outcome());
  backend.read(n.storage->handle(), n.offset, *r->bytes);
  n.device->counters().bytes_down += int64_t(r->bytes->size());
  r->ticket = backend.submit();
  n.device->keep_until(r->ticket, r->bytes, r->outcome);  // also when nobody waits for it
  return r;
}

std::vector<std::byte> finish_read(PendingRead& r) {
  if (r.bytes->empty()) return {};
  {
    RecursiveLock lock(r.device->mutex());
    ++r.device->counters().waits;
  }
  const TraceSpan span("wait for a value");
  r.device->backend().wait(r.ticket);  // not under the lock: other threads may submit meanwhile
  RecursiveLock lock(r.device->mutex());
  r.device->release_passed();
  if (r.outcome->failed()) {
    r.device->take_failure();  // told here
    throw Error(r.outcome->error());
  }
  return std::move(*r.bytes);
}

}  // namespace tenon::graph
