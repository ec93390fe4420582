// Process-wide modes of planning, for tests and for finding bugs. A mode that changes plans is part of every plan's key.
#pragma once
#include "runtime/plan.h"

namespace tenon::graph {

// Whether regions may hold more than one op. TENON_FUSE=0 in the environment turns it off: each op is then a launch of
// its own, and its values must be the same bit for bit.
bool fusion_enabled();
void set_fusion(bool enabled);

// Whether an update of a State that has to copy is an error. TENON_STRICT=1 in the environment turns it on.
bool strict_states();
void set_strict_states(bool strict);

// Where the ladder of lowering stops: TENON_LOWER=tuned|generated|composed. A device whose limits say `one_way` has none.
enum class LowerMode {
  tuned,      // the default: the best kernel that a device has
  generated,  // only kernels that share no code with tuned ones
  composed,   // every anchor that has a composition is replaced by it
};
// Throws Error(invalid_argument), naming the three, when the environment holds another word.
LowerMode lower_mode();
void set_lower_mode(LowerMode mode);
// What a word means; null or empty is the default. Throws as lower_mode() does.
LowerMode lower_mode_from(const char* word);
// What backends are asked for in this mode.
KernelChoice kernel_choice();

// Called with every plan that is made, under its device's lock; null: nothing is.
using PlanObserver = void (*)(const Plan& plan, const Limits& limits);
PlanObserver plan_observer();
void set_plan_observer(PlanObserver observer);

}  // namespace tenon::graph
