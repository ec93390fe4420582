// A plan: launches in order, what they bind, and where every buffer lies. It is data: it prints, compares, and runs as
// often as wanted with other leaves and other run-time scalars. It knows nothing of the graph that it was made from.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/shape.h"
#include "runtime/backend.h"

namespace tenon {

struct PlanBuffer {
  enum class Where : uint8_t {
    leaf,    // bound at run time: `index` in the list of leaves
    arena,   // `offset` in block `index` of the plan's own memory
    output,  // a block of its own that outlives the plan: `index` in the list of outputs
  };
  Where where = Where::arena;
  int index = -1;
  int64_t offset = 0;
  int64_t start = 0;  // leaf: where it begins in its storage, modulo 256; the plan holds for no other
  int64_t bytes = 0;
  DType dtype = DType::f32;
  Shape shape;
  std::string label;  // of a leaf, for people
};

struct PlanView {
  int buffer = -1;
  int64_t offset = 0;  // bytes
  Access access = Access::in;
};

struct PlanStep {
  enum class Kind : uint8_t { launch, copy };
  Kind kind = Kind::launch;
  // launch
  KernelDesc desc;
  const BackendKernel* kernel = nullptr;
  Params params;
  Grid grid;
  bool scalars = false;         // reads the scalar block
  std::vector<PlanView> views;  // copy: {to, from}
  int64_t bytes = 0;            // copy
};

struct PlanOutput {
  int64_t bytes = 0;
};

// A result: a look at an output's block, or at a leaf.
struct PlanRoot {
  int buffer = -1;
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;     // elements
  int64_t offset = 0;  // bytes
};

struct Plan {
  std::vector<PlanStep> steps;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanOutput> outputs;
  std::vector<PlanRoot> roots;
  int leaves = 0;
  int scalars = 0;  // words of the scalar block
  std::vector<int64_t> arena_blocks;  // bytes of each; more than one where a device bounds what can be bound
  int64_t arena_bytes = 0;   // of all blocks; exact
  int64_t output_bytes = 0;
  int64_t leaf_bytes = 0;    // of the leaves' dense sizes
  int64_t launches() const;
  int max_bindings() const;  // most distinct buffers that one launch binds
};

// For errors: the three largest tensors that the plan makes, each with its bytes.
std::string largest_tensors(const Plan& plan);
// Stable text: a header line, then one line per step. Equal plans print equal text.
std::string to_string(const Plan& plan);
// The same as a JSON object.
std::string to_json(const Plan& plan);

}  // namespace tenon
