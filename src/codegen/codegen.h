// Text of kernels from their descriptions, and what a launch of one needs.
//
// A kernel's parameters, in order: one 64-bit device address for each buffer operand of the description, its byte
// offset applied; `const unsigned*`, the plan's scalar block; Params by value; and, where Source::scratch says so, the
// address of the launch's scratch. The number of a group is blockIdx.x + blockIdx.y * gridDim.x; a launch of more than
// 2^31 - 1 groups may start a few too many, which kernels leave at once.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/backend.h"

namespace tenon::codegen {

// What a device can do, from its limits.
struct Target {
  int capability = 80;              // compute capability: 10 * major + minor
  int max_threads = 1024;           // of one group
  int64_t shared_bytes = 48 << 10;  // of one group, static and dynamic; what is above 48 KiB must be dynamic
  bool plain = false;               // only kernels that share no code with tuned ones
  bool operator==(const Target&) const = default;
};

// What a launch of a generated kernel may have; how much memory and how many groups there are, the device says. A plan
// depends on nothing else.
inline constexpr int max_bindings = 32;
Limits limits();

// One entry of a kernel's text. Phases run one after the other; each sees all that the one before wrote.
struct Phase {
  std::string entry;
  int threads = 256;  // of a group
  int64_t dynamic_shared_bytes = 0;
};

struct Source {
  std::string text;           // a whole translation unit, which includes nothing
  std::vector<Phase> phases;  // empty: there is no generated kernel for the description
  bool scratch = false;
};
Source emit(const KernelDesc& desc, const Target& target);

// 10 * major + minor of "sm_90a" or "compute_75"; 0 where the text says none.
int capability_of(const std::string& architecture);

// What emit() needs to know of an architecture ("sm_90a", "compute_75") when there is no device to ask.
Target target_of(const std::string& architecture);

// Whether a kernel of the anchor ships for every op: structure that would multiply the number of kernels is left to
// compositions. Only the anchor's own operands and attributes are looked at.
bool ships(const KernelDesc& desc);

// What one launch needs, from its sizes.
struct Extent {
  std::vector<int64_t> groups;  // of each phase; 0: nothing to run
  int64_t scratch_bytes = 0;    // of the whole launch
};
// `source`: what emit() made of the description.
Extent extent(const KernelDesc& desc, const Source& source, const Params& params);
// As a plan holds it: the groups of the largest phase. Scratch is the whole launch's; launches run one after the other
// and share it.
Grid grid(const Extent& extent);

}  // namespace tenon::codegen
