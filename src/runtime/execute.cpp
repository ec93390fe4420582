#include "runtime/execute.h"

#include <algorithm>

#include "base/check.h"
#include "base/trace.h"

namespace tenon {
namespace {

struct Place {
  Handle handle;
  int64_t offset;
};

Ref<Storage> allocate(const std::shared_ptr<DeviceContext>& device, int64_t bytes, const Plan& plan) {
  try {
    return make_ref<Storage>(device, bytes);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::out_of_memory) throw;
    throw Error(ErrorCode::out_of_memory, cat(e.what(), "; the plan needs ", plan.arena_bytes + plan.output_bytes,
                                              " bytes beside its inputs, its largest tensors are ", largest_tensors(plan)),
                e.context());
  }
}

Place place_of(const LeafBinding& leaf, const PlanBuffer& planned, const Limits& limits) {
  TENON_CHECK((leaf.offset - planned.start) % limits.view_alignment == 0, "a leaf does not lie where the plan was made for");
  return {leaf.storage->handle(), leaf.offset};
}

// The union of what the views do, buffer by buffer: a device that binds whole buffers must know it.
void unite_access(std::vector<BoundView>& views) {
  for (BoundView& v : views) {
    v.block_access = v.access;
    for (const BoundView& other : views)
      if (other.buffer == v.buffer && other.access != v.block_access) v.block_access = Access::inout;
  }
}

// The steps of a plan at their places.
class Steps {
 public:
  Steps(DeviceContext& device, const std::shared_ptr<const Plan>& plan, const std::vector<Place>& places, BoundView scalars)
      : device_(device), backend_(device.backend()), plan_(plan), places_(places), scalars_(scalars) {}

  // As one object where the same plan met the same memory before, one by one otherwise.
  void run() {
    Replay* known = device_.limits().replays && plan_->steps.size() >= Replays::least_steps
                        ? device_.replays().find(plan_, addresses())
                        : nullptr;
    if (!known || !replay(*known)) one_by_one();
    for (const PlanStep& step : plan_->steps)
      if (step.kind == PlanStep::Kind::launch) ++device_.census()[step.kernel];
    device_.counters().launches += plan_->launches();
  }

 private:
  std::vector<uint64_t> addresses() const {
    std::vector<uint64_t> all{scalars_.buffer.id};
    for (const Place& p : places_) {
      all.push_back(p.handle.id);
      all.push_back(uint64_t(p.offset));
    }
    return all;
  }

  // False: the device does not replay now.
  bool replay(Replay& known) {
    if (known.recording && backend_.replay(*known.recording)) return true;
    if (!backend_.begin_recording()) return false;
    try {
      one_by_one();
    } catch (...) {
      stop_recording();
      throw;
    }
    known.recording = backend_.end_recording();
    return backend_.replay(*known.recording);
  }
  void stop_recording() {
    try {
      backend_.end_recording();
    } catch (const Error&) {
      // The error that ended the recording says more.
    }
  }

  void one_by_one() {
    for (const PlanStep& step : plan_->steps) record(step);
  }
  void record(const PlanStep& step) {
    std::vector<BoundView> views;
    for (const PlanView& v : step.views) {
      const Place& p = places_[size_t(v.buffer)];
      views.push_back({p.handle, p.offset + v.offset, v.access, v.access});
    }
    if (step.kind == PlanStep::Kind::copy) return backend_.copy(views[0].buffer, views[0].offset, views[1].buffer, views[1].offset, step.bytes);
    unite_access(views);
    backend_.dispatch(*step.kernel, views, step.params, step.scalars ? scalars_ : BoundView{}, step.grid);
  }

  DeviceContext& device_;
  Backend& backend_;
  const std::shared_ptr<const Plan>& plan_;
  const std::vector<Place>& places_;
  const BoundView scalars_;
};

// What the plan writes in place is from now on as good as its run.
void follow_written(const Plan& plan, std::span<const LeafBinding> leaves, const std::shared_ptr<Outcome>& outcome) {
  for (const PlanStep& step : plan.steps)
    for (const PlanView& v : step.views) {
      const PlanBuffer& b = plan.buffers[size_t(v.buffer)];
      if (v.access != Access::in && b.where == PlanBuffer::Where::leaf) leaves[size_t(b.index)].storage->set_outcome(outcome);
    }
}

}  // namespace

Execution execute(const std::shared_ptr<DeviceContext>& device, const std::shared_ptr<const Plan>& plan,
                  std::span<const LeafBinding> leaves, std::span<const uint32_t> scalars) {
  TENON_CHECK(int(leaves.size()) == plan->leaves && int(scalars.size()) == plan->scalars);
  const TraceSpan span("submit a plan");
  RecursiveLock lock(device->mutex());
  Backend& backend = device->backend();
  device->release_passed();
  const auto outcome = std::make_shared<Outcome>();
  for (const LeafBinding& leaf : leaves) {
    leaf.storage->require_content();
    outcome->depends_on(leaf.storage->outcome());
  }
  // Blocks may go back to the pool at the end of this function: later work is ordered behind this plan's. Only the
  // plan itself, whose parameters the queue reads, has to live until the queue has passed it.
  std::vector<Ref<Storage>> own;
  Execution result;
  for (const PlanOutput& o : plan->outputs) result.outputs.push_back(allocate(device, o.bytes, *plan));
  std::vector<Handle> arena;
  Handle scalar_block;
  auto take = [&](int64_t bytes) {
    own.push_back(allocate(device, bytes, *plan));
    return own.back()->handle();
  };
  for (int64_t bytes : plan->arena_blocks) arena.push_back(take(bytes));
  if (!scalars.empty()) scalar_block = take(int64_t(scalars.size_bytes()));

  std::vector<Place> places;
  for (const PlanBuffer& b : plan->buffers) {
    const size_t i = size_t(b.index);
    if (b.where == PlanBuffer::Where::leaf) places.push_back(place_of(leaves[i], b, device->limits()));
    else if (b.where == PlanBuffer::Where::output) places.push_back({result.outputs[i]->handle(), 0});
    else if (arena.empty()) places.push_back({});  // a buffer that no step uses
    else places.push_back({arena[size_t(std::max(b.index, 0))], b.offset});
  }
  for (const Ref<Storage>& output : result.outputs) output->set_outcome(outcome);
  if (!scalars.empty()) {
    backend.write(scalar_block, 0, std::as_bytes(scalars));
    device->counters().bytes_up += int64_t(scalars.size_bytes());
  }
  follow_written(*plan, leaves, outcome);
  try {
    Steps(*device, plan, places, {scalar_block, 0, Access::in, Access::in}).run();
  } catch (const Error& e) {
    outcome->fail(e);
    device->keep_until(backend.submit(), plan, outcome);  // the launches before it run
    throw FailedRun(e);
  }
  result.ticket = backend.submit();
  device->keep_until(result.ticket, plan, outcome);
  return result;
}

}  // namespace tenon
