// Row regions as prologues of the products that read them.
#pragma once
#include <span>

#include "runtime/backend.h"
#include "runtime/plan.h"

namespace tenon::graph {

// A matrix-vector product whose x another launch makes row by row, for it alone, computes those rows itself: one launch
// instead of two, where the device's limits say that this is worthwhile and the device has a kernel for it. `kept`:
// buffers that have to exist. The plan's steps are complete, its memory is not placed yet.
void join_prologues(Plan& plan, std::span<const int> kept, Backend& backend, KernelChoice choice);

}  // namespace tenon::graph
