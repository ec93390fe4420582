#include "graph/mode.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/cat.h"
#include "tenon/error.h"

namespace tenon::graph {
namespace {

std::atomic<bool>& fusion() {
  static std::atomic<bool> enabled = [] {
    const char* wish = std::getenv("TENON_FUSE");
    return !wish || std::strcmp(wish, "0") != 0;
  }();
  return enabled;
}

std::atomic<bool>& strict() {
  static std::atomic<bool> enabled = [] {
    const char* wish = std::getenv("TENON_STRICT");
    return wish && std::strcmp(wish, "1") == 0;
  }();
  return enabled;
}

std::atomic<LowerMode>& mode() {
  static std::atomic<LowerMode> value = lower_mode_from(std::getenv("TENON_LOWER"));
  return value;
}

std::atomic<PlanObserver>& observer() {
  static std::atomic<PlanObserver> value{nullptr};
  return value;
}

}  // namespace

bool fusion_enabled() { return fusion().load(); }
void set_fusion(bool enabled) { fusion().store(enabled); }

bool strict_states() { return strict().load(); }
void set_strict_states(bool value) { strict().store(value); }

LowerMode lower_mode() { return mode().load(); }
void set_lower_mode(LowerMode value) { mode().store(value); }

LowerMode lower_mode_from(const char* word) {
  const std::string_view w = word ? word : "";
  if (w.empty() || w == "tuned") return LowerMode::tuned;
  if (w == "generated") return LowerMode::generated;
  if (w == "composed") return LowerMode::composed;
  throw Error(ErrorCode::invalid_argument, cat("TENON_LOWER is '", w, "'; it may be tuned, generated or composed"));
}

PlanObserver plan_observer() { return observer().load(); }
void set_plan_observer(PlanObserver value) { observer().store(value); }

KernelChoice kernel_choice() { return lower_mode() == LowerMode::generated ? KernelChoice::plain : KernelChoice::best; }

}  // namespace tenon::graph
