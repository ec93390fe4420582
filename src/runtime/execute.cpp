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

std::string largest_buffers(const Plan& plan) {
  std::vector<const PlanBuffer*> all;
  for (const PlanBuffer& b : plan.buffers)
    if (b.where != PlanBuffer::Where::leaf) all.push_back(&b);
  std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->bytes > b->bytes; });
  std::string out;
  for (size_t i = 0; i < all.size() && i < 3; ++i)
    out += cat(i ? ", " : "", to_string(all[i]->dtype), to_string(all[i]->shape), " (", all[i]->bytes, " bytes)");
  return out;
}

Ref<Storage> allocate(const std::shared_ptr<DeviceContext>& device, int64_t bytes, const Plan& plan) {
  try {
    return make_ref<Storage>(device, bytes);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::out_of_memory) throw;
    throw Error(ErrorCode::out_of_memory, cat(e.what(), "; the plan needs ", plan.arena_bytes + plan.output_bytes,
                                              " bytes beside its inputs, its largest tensors are ", largest_buffers(plan)),
                e.context());
  }
}

}  // namespace

Execution execute(const std::shared_ptr<DeviceContext>& device, const std::shared_ptr<const Plan>& plan,
                  std::span<const LeafBinding> leaves, std::span<const uint32_t> scalars) {
  TENON_CHECK(int(leaves.size()) == plan->leaves && int(scalars.size()) == plan->scalars);
  const TraceSpan span("submit a plan");
  RecursiveLock lock(device->mutex());
  Backend& backend = device->backend();
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
    if (b.where == PlanBuffer::Where::leaf) places.push_back({leaves[i].storage->handle(), leaves[i].offset});
    else if (b.where == PlanBuffer::Where::output) places.push_back({result.outputs[i]->handle(), 0});
    else if (arena.empty()) places.push_back({});  // a buffer that no step uses
    else places.push_back({arena[size_t(std::max(b.index, 0))], b.offset});
  }
  if (!scalars.empty()) {
    backend.write(scalar_block, 0, std::as_bytes(scalars));
    device->counters().bytes_up += int64_t(scalars.size_bytes());
  }
  std::vector<BoundView> views;
  for (const PlanStep& step : plan->steps) {
    views.clear();
    for (const PlanView& v : step.views)
      views.push_back({places[size_t(v.buffer)].handle, places[size_t(v.buffer)].offset + v.offset, v.access});
    if (step.kind == PlanStep::Kind::copy) {
      backend.copy(views[0].buffer, views[0].offset, views[1].buffer, views[1].offset, step.bytes);
      continue;
    }
    backend.dispatch(*step.kernel, views, step.params, {scalar_block, 0, Access::in}, step.grid);
    ++device->counters().launches;
    ++device->census()[step.kernel];
  }
  result.ticket = backend.submit();
  device->keep_until(result.ticket, plan);
  return result;
}

}  // namespace tenon
