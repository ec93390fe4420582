#include "runtime/replays.h"

#include <algorithm>

namespace tenon {

Replay* Replays::find(const std::shared_ptr<const Plan>& plan, std::vector<uint64_t> bound) {
  if (plans_.size() >= sweep_at_) forget_gone();
  OfPlan& of = plans_[plan.get()];
  if (of.plan.lock() != plan) of = {plan, {}};  // a new plan where an old one lay
  ++clock_;
  for (Replay& r : of.replays) {
    if (r.bound != bound) continue;
    r.used = clock_;
    return &r;
  }
  const auto older = [](const Replay& a, const Replay& b) { return a.used < b.used; };
  if (of.replays.size() == most_bindings) of.replays.erase(std::min_element(of.replays.begin(), of.replays.end(), older));
  of.replays.push_back({std::move(bound), nullptr, clock_});
  return nullptr;
}

void Replays::forget_gone() {
  std::erase_if(plans_, [](const auto& entry) { return entry.second.plan.expired(); });
  sweep_at_ = std::max<size_t>(64, 2 * plans_.size());
}

}  // namespace tenon
