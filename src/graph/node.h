// The graph: immutable nodes that hold their inputs. Only the kinds below exist; every op of the library is built of
// them (src/ops). Nothing runs until eval().
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ref.h"
#include "core/shape.h"
#include "runtime/device_context.h"
#include "runtime/kernel.h"
#include "tenon/number.h"

namespace tenon::graph {

using tenon::to_string;

struct Node;
using NodeRef = Ref<Node>;

enum class Kind : uint8_t {
  leaf,           // a storage, or the place of one in a compiled function
  constant,       // one value for every element; ints: {lane bits}
  scalar,         // run-time scalar, 0-d f32, u32, f64 or i64: its value is no part of a plan
  iota,           // the coordinate along an axis, i32, u32 or i64; ints: {axis}
  random_bits,    // Philox4x32-10 words, u32; inputs: scalars seed low, seed high, stream
  map,            // a scalar op on inputs of the node's own shape
  cast,           // to the node's dtype
  reshape,        // same elements in row-major order
  permute,        // ints: axis of the input for each output axis
  slice,          // ints: start per axis, then step per axis (any sign but 0)
  expand,         // axes of size 1 repeated; same rank
  dynamic_slice,  // part of an axis from a run-time scalar, clamped; ints: {axis}; inputs: x, scalar
  reduce,         // ints: axes, ascending; they are dropped from the shape
  gather,         // out[.., i.., ..] = x[.., index[i..], ..]; ints: {axis}; inputs: x, index. ints: {axis, 1}: along the
                  // axis only, out[i..] = x[.., index[i..], ..] with x's other coordinates from i (0 where its size is 1)
  concat,         // ints: {axis}
  update,         // dst with src at a run-time position; ints: {axis}; inputs: dst, src, scalar
  anchor,         // an op with kernels of its own; see Anchor
};
const char* to_string(Kind kind);

// Strided look at a storage, as an anchor's kernel will get it.
struct OperandView {
  DType dtype;
  Shape shape;
  Strides strides;
};

// What the lower layers need to know of an op with kernels of its own. One constant per op, in src/ops.
struct Anchor {
  const char* family;  // of its kernels
  int tensors;         // the first inputs are tensors, the rest run-time scalars
  bool epilogue;       // element-wise consumers may join its store
  // Whether the kernel takes an operand with these strides; if not, it gets a dense copy.
  bool (*takes)(int operand, const OperandView& view);
  std::vector<int64_t> (*attributes)(const Node& node);
  // `slots`: the plan's slot of each run-time scalar input.
  void (*parameters)(const Node& node, std::span<const OperandView> views, std::span<const uint32_t> slots, Params& out);
  // The same value from other ops, for devices without a kernel. It makes no run-time scalars of its own: a plan's
  // scalars are numbered before.
  NodeRef (*compose)(const Node& node);
};

struct Node : RefCounted<Node> {
  Kind kind = Kind::leaf;
  ScalarOp op{};
  ReduceOp reduce{};
  DType dtype = DType::f32;
  Shape shape;
  std::shared_ptr<DeviceContext> device;
  std::vector<NodeRef> inputs;
  std::vector<int64_t> ints;
  const Anchor* anchor = nullptr;

  // leaf: empty storage means a place that a compiled function fills.
  Ref<Storage> storage;
  int64_t offset = 0;  // bytes
  Strides strides;     // elements
  std::string label;   // for plans as text: the name of a weight, say

  std::atomic<uint64_t> value{0};  // scalar: lane bits
  bool fixed = false;              // scalar: never changes, so equal ones share a place in a plan

  ~Node() = default;
  static void destroy(const Node* node);  // no recursion: chains may be long
  bool is_view() const { return kind >= Kind::reshape && kind <= Kind::dynamic_slice; }
};

// Makes a node; the device is that of the inputs unless given. Throws Error(device) when inputs are on different ones.
NodeRef make_node(Kind kind, DType dtype, Shape shape, std::vector<NodeRef> inputs, std::vector<int64_t> ints = {});

NodeRef leaf(Ref<Storage> storage, DType dtype, Shape shape);
// A place for a value of a compiled function.
NodeRef placeholder(std::shared_ptr<DeviceContext> device, DType dtype, Shape shape);
NodeRef constant(std::shared_ptr<DeviceContext> device, DType dtype, Number value, Shape shape);
NodeRef scalar(std::shared_ptr<DeviceContext> device, DType dtype, uint64_t bits);
NodeRef iota(std::shared_ptr<DeviceContext> device, DType dtype, Shape shape, int axis);
NodeRef map(ScalarOp op, DType dtype, std::vector<NodeRef> inputs);
NodeRef cast(NodeRef x, DType dtype);
NodeRef reshape(NodeRef x, Shape shape);
NodeRef permute(NodeRef x, std::vector<int64_t> axes);
NodeRef slice(NodeRef x, std::vector<int64_t> start, std::vector<int64_t> step, Shape shape);
NodeRef expand(NodeRef x, Shape shape);
NodeRef dynamic_slice(NodeRef x, NodeRef at, int axis, int64_t length);
NodeRef reduce(ReduceOp op, NodeRef x, std::vector<int64_t> axes);
NodeRef gather(NodeRef x, NodeRef index, int axis);
NodeRef gather_along(NodeRef x, NodeRef index, int axis);  // as many axes; the result has the index's shape
NodeRef concat(std::vector<NodeRef> parts, int axis);
NodeRef update(NodeRef dst, NodeRef src, NodeRef at, int axis);
NodeRef anchor(const Anchor& op, DType dtype, Shape shape, std::vector<NodeRef> inputs, std::vector<int64_t> ints = {});

// Lane bits of a value in a dtype's lane (f16 and bf16 rounded to their dtype, kept as f32).
uint64_t lane_bits(DType dtype, Number value);
Lane lane_of(DType dtype);
// A run-time scalar's words in a plan's scalar block: one, or two for a wide lane, the lower half first.
int scalar_words(const Node& scalar);
void append_scalar(const Node& scalar, std::vector<uint32_t>& words);

// All nodes that the roots need, inputs before their users. No recursion.
std::vector<Node*> topological_order(std::span<const NodeRef> roots);

}  // namespace tenon::graph
