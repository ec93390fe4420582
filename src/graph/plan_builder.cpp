#include "graph/plan_builder.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "graph/fit.h"
#include "graph/lower.h"
#include "graph/mode.h"
#include "graph/prologue.h"
#include "graph/schedule.h"
#include "runtime/grid.h"

namespace tenon::graph {

PlanInputs plan_inputs(std::span<const NodeRef> roots) {
  PlanInputs in;
  in.order = topological_order(roots);
  std::map<std::pair<DType, uint64_t>, uint32_t> fixed;  // dtype and bits -> slot
  for (Node* n : in.order) {
    if (n->kind == Kind::leaf) in.leaves.push_back(n);
    if (n->kind != Kind::scalar) continue;
    uint32_t slot = uint32_t(in.scalar_words);
    if (n->fixed) slot = fixed.try_emplace({n->dtype, n->value.load()}, slot).first->second;
    if (slot == uint32_t(in.scalar_words)) {
      in.scalars.push_back(n);
      in.scalar_words += scalar_words(*n);
    }
    in.scalar_slots[n] = slot;
  }
  return in;
}

namespace {

// Memory is handed out in units of this; it satisfies every backend's binding alignment.
constexpr int64_t arena_alignment = 256;
int64_t aligned(int64_t bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; }

class PlanBuilder {
 public:
  PlanBuilder(DeviceContext& device, std::span<const NodeRef> roots, const PlanInputs& inputs,
              const std::unordered_set<const Node*>& donated, KernelChoice choice)
      : device_(device), inputs_(inputs), donated_(donated), choice_(choice), fuse_(device.limits().fuses && fusion_enabled() && choice != KernelChoice::fixed),
        roots_(legalise(device.backend(), roots, choice)) {}

  // Null where the device has not all of the plan's kernels.
  std::shared_ptr<const Plan> build() {
    for (size_t i = 0; i < inputs_.leaves.size(); ++i) leaf_number_[inputs_.leaves[i]] = int(i);
    const Limits& limits = device_.limits();
    schedule_ = schedule(roots_, {fuse_, limits.max_bindings, limits.max_instructions, is_fixed()});
    plan_->leaves = int(inputs_.leaves.size());
    plan_->scalars = inputs_.scalar_words;
    add_steps();
    if (fuse_) add_prologues();
    if (limits.fixed_kernels && !is_fixed() && !device_.backend().serves(planned_launches())) return nullptr;
    describe_buffers();
    drop_moves();
    place_memory();
    add_roots();
    check_limits();
    prepare_kernels();
    return std::move(plan_);
  }

 private:
  bool is_fixed() const { return choice_ == KernelChoice::fixed; }

  void add_steps() {
    std::vector<bool> copied(schedule_.copies.size(), false);
    std::unordered_map<int, size_t> copy_to;
    for (size_t c = 0; c < copied.size(); ++c) copy_to[schedule_.copies[c].to] = c;
    // An update of an update: what the first one starts from is copied first.
    auto copy_for = [&](int buffer) {
      std::vector<size_t> chain;
      for (auto it = copy_to.find(buffer); it != copy_to.end() && !copied[it->second];
           it = copy_to.find(schedule_.copies[it->second].from)) {
        copied[it->second] = true;
        chain.push_back(it->second);
      }
      for (size_t i = chain.size(); i-- > 0;) add_copy(schedule_.copies[chain[i]]);
    };
    const std::function<uint32_t(const Node*)> slot_of = [&](const Node* n) { return inputs_.scalar_slots.at(n); };
    for (const auto& region : schedule_.regions) {
      for (const Use& u : region->uses)
        if (u.state == Use::State::loaded) copy_for(u.buffer);
      for (const Output& o : region->outputs) copy_for(o.buffer);
      for (Launch& l : lower(*region, schedule_, slot_of, is_fixed())) add_launch(std::move(l));
    }
    for (const BufferCopy& c : schedule_.copies) copy_for(c.to);
  }

  void add_prologues() {
    std::vector<int> kept;
    for (const Schedule::Root& r : schedule_.roots) kept.push_back(r.buffer);
    join_prologues(*plan_, kept, device_.backend(), choice_);
  }

  void add_copy(const BufferCopy& c) {
    PlanStep s;
    s.kind = PlanStep::Kind::copy;
    s.bytes = schedule_.buffers[size_t(c.to)].bytes;
    s.views = {{c.to, 0, Access::out}, {c.from, 0, Access::in}};
    if (s.bytes > 0) plan_->steps.push_back(std::move(s));
  }

  void add_launch(Launch l) {
    PlanStep s;
    s.kernel = device_.backend().kernel(l.desc, choice_);
    if (!s.kernel)
      throw Error(ErrorCode::unsupported, cat("device ", device_.backend().name(), " has no kernel for ", kernel_name(l.desc)),
                  {.op = l.desc.family, .device = device_.backend().name()});
    s.grid = device_.backend().grid(*s.kernel, l.params);
    if (s.grid.groups == 0) return;
    if (!grid_dimensions(s.grid.groups, device_.limits().max_groups)) return add_halves(l, s.grid.groups);
    align_views(l, device_.limits().view_alignment, [&](int buffer) { return start_of(schedule_.buffers[size_t(buffer)]); });
    s.desc = std::move(l.desc);
    s.params = l.params;
    s.scalars = l.scalars;
    for (const LaunchView& v : l.views) s.views.push_back({v.buffer, v.offset, v.access});
    plan_->steps.push_back(std::move(s));
  }

  // More groups than one launch may have.
  void add_halves(const Launch& l, int64_t groups) {
    auto both = halves(l);
    if (!both)
      throw Error(ErrorCode::unsupported,
                  cat(kernel_name(l.desc), " needs ", groups, " groups, over the limit of device ", device_.backend().name(), " (",
                      device_.limits().max_groups, " in each of three dimensions), and cannot be cut; use smaller tensors or another device"),
                  {.op = l.desc.family, .device = device_.backend().name()});
    add_launch(std::move(both->first));
    add_launch(std::move(both->second));
  }

  // Where a buffer begins in its storage, modulo 256: the plan's own memory is aligned, a leaf's view of a storage need not be.
  static int64_t start_of(const Buffer& b) {
    if (!b.leaf) return 0;
    TENON_CHECK(!is_quantised(b.node->dtype) || b.node->offset == 0);
    return b.node->offset % arena_alignment;
  }

  void describe_buffers() {
    for (const Buffer& b : schedule_.buffers) {
      PlanBuffer p;
      p.bytes = b.bytes;
      p.dtype = b.node->dtype;
      p.shape = b.node->shape;
      p.label = b.node->label;
      if (b.leaf) {
        p.where = PlanBuffer::Where::leaf;
        p.index = leaf_number_.at(b.node);
        p.start = start_of(b);
        p.bytes = leaf_span(*b.node);
        plan_->leaf_bytes += p.bytes;
      }
      plan_->buffers.push_back(std::move(p));
    }
    for (const Schedule::Root& r : schedule_.roots) {
      PlanBuffer& b = plan_->buffers[size_t(r.buffer)];
      if (b.where == PlanBuffer::Where::arena) make_output(b);
    }
  }

  void make_output(PlanBuffer& b) {
    b.where = PlanBuffer::Where::output;
    b.index = int(plan_->outputs.size());
    plan_->outputs.push_back({b.bytes});
    plan_->output_bytes += b.bytes;
  }

  // A copy whose source is not read afterwards and may be given up is no copy: both are one buffer.
  void drop_moves() {
    for (size_t i = 0; i < plan_->steps.size(); ++i) {
      if (plan_->steps[i].kind != PlanStep::Kind::copy) continue;
      const int to = plan_->steps[i].views[0].buffer, from = plan_->steps[i].views[1].buffer;
      if (!may_give_up(from) || read_after(from, i)) continue;
      merge(to, from);
      plan_->steps.erase(plan_->steps.begin() + int64_t(i));
      --i;
    }
  }

  bool may_give_up(int buffer) const {
    const PlanBuffer& b = plan_->buffers[size_t(buffer)];
    if (b.where == PlanBuffer::Where::arena) return true;
    return b.where == PlanBuffer::Where::leaf && donated_.contains(inputs_.leaves[size_t(b.index)]);
  }

  bool read_after(int buffer, size_t step) const {
    for (size_t i = step + 1; i < plan_->steps.size(); ++i)
      for (const PlanView& v : plan_->steps[i].views)
        if (v.buffer == buffer) return true;
    for (const Schedule::Root& r : schedule_.roots)
      if (r.buffer == buffer) return true;
    return false;
  }

  // `to` is from now on another name of `from`; an output block that `to` had goes to `from`.
  void merge(int to, int from) {
    PlanBuffer& a = plan_->buffers[size_t(to)];
    PlanBuffer& b = plan_->buffers[size_t(from)];
    if (b.where == PlanBuffer::Where::arena && a.where == PlanBuffer::Where::output) {
      b.where = a.where;
      b.index = a.index;
    } else if (b.where == PlanBuffer::Where::leaf && a.where == PlanBuffer::Where::output) {
      drop_output(a.index);
    }
    for (PlanStep& s : plan_->steps)
      for (PlanView& v : s.views)
        if (v.buffer == to) {
          v.buffer = from;
          if (v.access == Access::out) v.access = Access::inout;
        }
    for (Schedule::Root& r : schedule_.roots)
      if (r.buffer == to) r.buffer = from;
    a.bytes = 0;
    a.where = PlanBuffer::Where::arena;
    a.index = -1;  // in no block: no step uses it
  }

  void drop_output(int index) {
    plan_->output_bytes -= plan_->outputs[size_t(index)].bytes;
    plan_->outputs.erase(plan_->outputs.begin() + index);
    for (PlanBuffer& b : plan_->buffers)
      if (b.where == PlanBuffer::Where::output && b.index > index) --b.index;
  }

  // Bytes of a leaf's storage that its view spans; a broadcast leaf is small however large its shape is.
  static int64_t leaf_span(const Node& n) {
    if (is_quantised(n.dtype) || element_count(n.shape) == 0) return dense_bytes(n.dtype, n.shape);
    int64_t low = 0, high = 0;
    for (size_t d = 0; d < n.shape.size(); ++d) (n.strides[d] < 0 ? low : high) += n.strides[d] * (n.shape[d] - 1);
    return (high - low + 1) * block_bytes(n.dtype);
  }

  // First fit over the buffers in the order of their first step, each living from its first to its last step.
  void place_memory() {
    struct Life {
      int buffer;
      size_t first, last;
    };
    std::vector<Life> lives;
    std::unordered_map<int, size_t> at;
    for (size_t i = 0; i < plan_->steps.size(); ++i)
      for (const PlanView& v : plan_->steps[i].views) {
        if (plan_->buffers[size_t(v.buffer)].where != PlanBuffer::Where::arena) continue;
        auto [it, added] = at.try_emplace(v.buffer, lives.size());
        if (added) lives.push_back({v.buffer, i, i});
        lives[it->second].last = i;
      }
    const Limits& limits = device_.limits();
    const int64_t most = std::min(limits.max_binding_bytes, limits.max_buffer_bytes) / arena_alignment * arena_alignment;
    struct Placed {
      Life life;
      int block;
      int64_t begin, end;
    };
    std::vector<Placed> placed;
    for (const Life& l : lives) {
      PlanBuffer& b = plan_->buffers[size_t(l.buffer)];
      const int64_t bytes = aligned(b.bytes);
      for (int block = 0;; ++block) {
        std::vector<std::pair<int64_t, int64_t>> taken;
        for (const Placed& p : placed)
          if (p.block == block && p.life.last >= l.first && p.life.first <= l.last) taken.push_back({p.begin, p.end});
        std::sort(taken.begin(), taken.end());
        int64_t offset = 0;
        for (const auto& [begin, end] : taken) {
          if (begin - offset >= bytes) break;
          offset = std::max(offset, end);
        }
        if (offset > 0 && offset + bytes > most) continue;  // the next block; a tensor over the limit is an error of its own
        b.index = block;
        b.offset = offset;
        placed.push_back({l, block, offset, offset + bytes});
        if (size_t(block) == plan_->arena_blocks.size()) plan_->arena_blocks.push_back(0);
        plan_->arena_blocks[size_t(block)] = std::max(plan_->arena_blocks[size_t(block)], offset + bytes);
        break;
      }
    }
    for (int64_t bytes : plan_->arena_blocks) plan_->arena_bytes += bytes;
  }

  void add_roots() {
    for (size_t i = 0; i < roots_.size(); ++i) {
      const Schedule::Root& r = schedule_.roots[i];
      plan_->roots.push_back({r.buffer, roots_[i]->dtype, roots_[i]->shape, r.strides, r.offset});
    }
  }

  void check_limits() const {
    const Limits& limits = device_.limits();
    for (const PlanBuffer& b : plan_->buffers) {
      if (b.bytes <= limits.max_binding_bytes && b.bytes <= limits.max_buffer_bytes) continue;
      throw Error(ErrorCode::unsupported,
                  cat("a tensor ", to_string(b.dtype), to_string(b.shape), " of ", b.bytes, " bytes is over the limit of ",
                      std::min(limits.max_binding_bytes, limits.max_buffer_bytes), " bytes for one binding on device ",
                      device_.backend().name(), "; use a smaller dtype or another device"),
                  {.shapes = to_string(b.shape), .device = device_.backend().name()});
    }
    if (const int64_t need = plan_->arena_bytes + plan_->output_bytes + plan_->leaf_bytes; need > limits.memory_bytes)
      throw Error(ErrorCode::out_of_memory, cat("the plan needs ", need, " bytes, device ", device_.backend().name(), " has ",
                                                limits.memory_bytes, "; its largest tensors are ", largest_tensors(*plan_),
                                                "; evaluate parts of it one after the other, or use a smaller dtype"),
                  {.device = device_.backend().name()});
  }

  std::vector<PlannedLaunch> planned_launches() const {
    std::vector<PlannedLaunch> launches;
    for (const PlanStep& s : plan_->steps)
      if (s.kernel) launches.push_back({s.kernel, s.grid});
    return launches;
  }
  void prepare_kernels() { device_.backend().prepare(planned_launches()); }

  DeviceContext& device_;
  const PlanInputs& inputs_;
  const std::unordered_set<const Node*>& donated_;
  const KernelChoice choice_;
  const bool fuse_;
  std::vector<NodeRef> roots_;
  std::unordered_map<const Node*, int> leaf_number_;
  Schedule schedule_;
  std::shared_ptr<Plan> plan_ = std::make_shared<Plan>();
};

}  // namespace

std::shared_ptr<const Plan> build_plan(const std::shared_ptr<DeviceContext>& device, std::span<const NodeRef> roots,
                                       const PlanInputs& inputs, const std::unordered_set<const Node*>& donated) {
  auto plan = PlanBuilder(*device, roots, inputs, donated, kernel_choice()).build();
  if (!plan) plan = PlanBuilder(*device, roots, inputs, donated, KernelChoice::fixed).build();
  if (const PlanObserver observe = plan_observer()) observe(*plan, device->limits());
  return plan;
}

std::vector<uint64_t> plan_key(std::span<const NodeRef> roots, const PlanInputs& inputs,
                               const std::unordered_set<const Node*>& donated) {
  std::vector<uint64_t> key{uint64_t(fusion_enabled()) | uint64_t(lower_mode()) << 8};
  std::unordered_map<const Node*, uint64_t> number;
  std::unordered_map<const Storage*, uint64_t> storages;
  for (const Node* n : inputs.order) {
    const uint64_t own = number.size();
    number[n] = own;
    key.push_back(uint64_t(n->kind) | uint64_t(n->op) << 8 | uint64_t(n->reduce) << 16 | uint64_t(n->dtype) << 24 |
                  uint64_t(n->shape.size()) << 32);
    key.push_back(n->inputs.size());
    key.push_back(n->ints.size());
    for (int64_t d : n->shape) key.push_back(uint64_t(d));
    for (int64_t i : n->ints) key.push_back(uint64_t(i));
    for (const NodeRef& i : n->inputs) key.push_back(number.at(i.get()));
    if (n->kind == Kind::scalar) key.push_back(inputs.scalar_slots.at(n));
    if (n->kind == Kind::anchor) key.push_back(uint64_t(reinterpret_cast<uintptr_t>(n->anchor)));
    if (n->kind != Kind::leaf) continue;
    for (int64_t s : n->strides) key.push_back(uint64_t(s));
    const uint64_t shared = storages.try_emplace(n->storage.get(), own).first->second;
    key.push_back(uint64_t(n->offset % 256) | uint64_t(donated.contains(n)) << 16 | shared << 32);
  }
  for (const NodeRef& r : roots) key.push_back(number.at(r.get()));
  return key;
}

}  // namespace tenon::graph
