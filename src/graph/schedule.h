// Cuts a graph into regions: each becomes one launch.
//
// Greedy, from the roots to the leaves. A node joins its consumers' region when all of them are in that one region (or
// it is cheap to compute again) and it can be computed in the region's iteration space within the device's limits;
// otherwise its value goes to memory and it starts a region of its own. Reductions give a region inner axes (a row
// region); a matmul or another anchor takes the element-wise nodes behind it as its epilogue.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "graph/index_map.h"
#include "graph/node.h"

namespace tenon::graph {

// A dense run of memory that a plan gives to a node's value.
struct Buffer {
  const Node* node = nullptr;  // dtype and shape; a leaf: bound at run time
  bool leaf = false;
  int64_t bytes = 0;
};

// One value at one place of a region's iteration space.
struct Use {
  enum class State : uint8_t {
    open,      // not decided yet
    computed,  // from args, inside the region
    loaded,    // from a buffer
  };
  Node* node = nullptr;
  IndexMap map;
  State state = State::open;
  bool gathered = false;   // base of a gather: `map` leaves out the gathered axis
  int gather_axis = 0;
  int anchor_operand = -1; // operand of the region's anchor: `map` is over the operand's own axes
  bool accumulator = false;  // the anchor's result
  bool alias = false;        // computed: the same value as its one arg
  std::vector<int> args;   // other uses
  int buffer = -1;         // loaded: which
  Strides strides;         // loaded: the buffer's strides in the node's axes
};

struct Output {
  int use = -1;
  int buffer = -1;
  IndexMap map;          // of the buffer's coordinates
  Strides strides;       // of the buffer
};

struct Region {
  std::vector<int64_t> dims;
  std::vector<bool> inner;  // per axis: reduced over
  std::vector<Use> uses;
  std::vector<Output> outputs;
  Node* anchor = nullptr;
  std::vector<int> anchor_uses;  // uses that are the anchor's tensor operands, in order
  bool has_inner() const;
  int long_axes() const;   // of a size other than 1
  // An anchor's epilogue has no more axes than one launch takes; other regions can be several launches.
  bool may_split() const { return !anchor || long_axes() < region_max_rank; }
  int value_of(int use) const;  // the use itself, or what it is an alias of
  // Same node at the same place: the same use. New uses are open.
  int find_or_add(Node* node, IndexMap map, bool* added);
  bool split_axis(size_t axis, int64_t inner_size);
  bool depends_on_inner(const IndexMap& map) const;
};

// A value that an update starts from: moved when the source dies there, copied otherwise.
struct BufferCopy {
  int to = -1, from = -1;
};

struct Schedule {
  std::vector<Buffer> buffers;
  std::vector<std::unique_ptr<Region>> regions;  // in an order that can run
  std::vector<BufferCopy> copies;                // each before the region that writes `to`
  struct Root {
    int buffer = -1;
    Strides strides;     // elements
    int64_t offset = 0;  // bytes
  };
  std::vector<Root> roots;
};

struct ScheduleOptions {
  bool fuse = true;
  int max_bindings = 32;
  int max_instructions = 256;
  // Canonical launches (see graph/fixed.h): no fusion, and each launch reads memory only.
  bool fixed = false;
};

Schedule schedule(std::span<const NodeRef> roots, const ScheduleOptions& options);

// Puts the regions into an order that can run (part of schedule()).
void sort_regions(Schedule& schedule);

}  // namespace tenon::graph
