// Recordings of plans by what they were bound to: a step that comes again at the same memory is submitted as one object.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/backend.h"

namespace tenon {

struct Plan;

// One plan at one set of places.
struct Replay {
  std::vector<uint64_t> bound;           // every buffer's address
  std::shared_ptr<Recording> recording;  // none until the second run
  uint64_t used = 0;
};

class Replays {
 public:
  // Bindings of one plan that are remembered: results that feed the next step lie now here, now there.
  static constexpr size_t most_bindings = 8;
  // Plans of fewer steps gain nothing.
  static constexpr size_t least_steps = 4;

  // `plan` at `bound`; null when it is new there, and from then on remembered. Valid until the next call.
  Replay* find(const std::shared_ptr<const Plan>& plan, std::vector<uint64_t> bound);

 private:
  struct OfPlan {
    std::weak_ptr<const Plan> plan;
    std::vector<Replay> replays;
  };
  void forget_gone();
  std::unordered_map<const Plan*, OfPlan> plans_;
  size_t sweep_at_ = 64;
  uint64_t clock_ = 0;
};

}  // namespace tenon
