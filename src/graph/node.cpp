#include "graph/node.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "base/check.h"
#include "core/half.h"

namespace tenon::graph {

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::leaf: return "leaf";
    case Kind::constant: return "constant";
    case Kind::scalar: return "scalar";
    case Kind::iota: return "iota";
    case Kind::random_bits: return "random_bits";
    case Kind::map: return "map";
    case Kind::cast: return "cast";
    case Kind::reshape: return "reshape";
    case Kind::permute: return "permute";
    case Kind::slice: return "slice";
    case Kind::expand: return "expand";
    case Kind::dynamic_slice: return "dynamic_slice";
    case Kind::reduce: return "reduce";
    case Kind::gather: return "gather";
    case Kind::concat: return "concat";
    case Kind::update: return "update";
    case Kind::anchor: return "anchor";
  }
  return "unknown";
}

void Node::destroy(const Node* node) {
  std::vector<const Node*> dead{node};
  while (!dead.empty()) {
    auto* n = const_cast<Node*>(dead.back());
    dead.pop_back();
    // Take over each input's reference; the ones that die are destroyed here, not inside a destructor.
    for (NodeRef& input : n->inputs) {
      Node* raw = input.get();
      if (!raw) continue;
      raw->retain();
      input = NodeRef();
      if (raw->drop()) dead.push_back(raw);
    }
    delete n;
  }
}

NodeRef make_node(Kind kind, DType dtype, Shape shape, std::vector<NodeRef> inputs, std::vector<int64_t> ints) {
  NodeRef n = make_ref<Node>();
  n->kind = kind;
  n->dtype = dtype;
  n->shape = std::move(shape);
  n->inputs = std::move(inputs);
  n->ints = std::move(ints);
  for (const NodeRef& input : n->inputs) {
    if (!n->device) n->device = input->device;
    if (n->device != input->device)
      throw Error(ErrorCode::device,
                  cat("tensors on different devices, ", n->device->backend().name(), " and ",
                      input->device->backend().name(), "; move one with to(device)"),
                  {.device = input->device->backend().name()});
  }
  return n;
}

NodeRef leaf(Ref<Storage> storage, DType dtype, Shape shape) {
  NodeRef n = placeholder(storage->device(), dtype, std::move(shape));
  n->storage = std::move(storage);
  return n;
}

NodeRef placeholder(std::shared_ptr<DeviceContext> device, DType dtype, Shape shape) {
  NodeRef n = make_node(Kind::leaf, dtype, std::move(shape), {});
  n->device = std::move(device);
  n->strides = dense_strides(n->shape);
  return n;
}

Lane lane_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return Lane::f64;
    case DType::i64: return Lane::i64;
    case DType::i32: case DType::i8: return Lane::i32;
    case DType::u32: case DType::u8: case DType::bool_: return Lane::u32;
    default: return Lane::f32;
  }
}

uint64_t lane_bits(DType dtype, Number n) {
  const double value = n.real();
  const int64_t whole = n.is_integer() || !is_integer(dtype) ? n.whole() : int64_t(value);
  switch (dtype) {
    case DType::f64: return std::bit_cast<uint64_t>(value);
    case DType::i64: return uint64_t(whole);
    case DType::i32: case DType::u32: return uint32_t(whole);
    case DType::i8: return uint32_t(int32_t(int8_t(whole)));
    case DType::u8: return uint8_t(whole);
    case DType::bool_: return value != 0;
    case DType::f16: return std::bit_cast<uint32_t>(f32_from_f16(f16_from_f32(float(value))));
    case DType::bf16: return std::bit_cast<uint32_t>(f32_from_bf16(bf16_from_f32(float(value))));
    default: return std::bit_cast<uint32_t>(float(value));
  }
}

int scalar_words(const Node& scalar) { return is_wide(scalar.dtype) ? 2 : 1; }
void append_scalar(const Node& scalar, std::vector<uint32_t>& words) {
  const uint64_t bits = scalar.value.load();
  words.push_back(uint32_t(bits));
  if (is_wide(scalar.dtype)) words.push_back(uint32_t(bits >> 32));
}

NodeRef constant(std::shared_ptr<DeviceContext> device, DType dtype, Number value, Shape shape) {
  NodeRef n = make_node(Kind::constant, dtype, std::move(shape), {}, {int64_t(lane_bits(dtype, value))});
  n->device = std::move(device);
  return n;
}

NodeRef scalar(std::shared_ptr<DeviceContext> device, DType dtype, uint64_t bits) {
  NodeRef n = make_node(Kind::scalar, dtype, {}, {});
  n->device = std::move(device);
  n->value.store(bits);
  return n;
}

NodeRef iota(std::shared_ptr<DeviceContext> device, DType dtype, Shape shape, int axis) {
  NodeRef n = make_node(Kind::iota, dtype, std::move(shape), {}, {axis});
  n->device = std::move(device);
  return n;
}

NodeRef map(ScalarOp op, DType dtype, std::vector<NodeRef> inputs) {
  Shape shape = inputs.at(0)->shape;
  for (const NodeRef& i : inputs) TENON_CHECK(i->shape == shape, info(op).name, " on different shapes");
  NodeRef n = make_node(Kind::map, dtype, std::move(shape), std::move(inputs));
  n->op = op;
  return n;
}

NodeRef cast(NodeRef x, DType dtype) {
  if (x->dtype == dtype) return x;
  Shape shape = x->shape;
  return make_node(Kind::cast, dtype, std::move(shape), {std::move(x)});
}

NodeRef reshape(NodeRef x, Shape shape) {
  if (x->shape == shape) return x;
  TENON_CHECK(element_count(x->shape) == element_count(shape));
  const DType dtype = x->dtype;
  if (x->kind == Kind::reshape) x = x->inputs[0];  // only the outermost of several matters
  if (x->shape == shape) return x;
  return make_node(Kind::reshape, dtype, std::move(shape), {std::move(x)});
}

NodeRef permute(NodeRef x, std::vector<int64_t> axes) {
  Shape shape;
  bool moved = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    shape.push_back(x->shape[size_t(axes[i])]);
    moved = moved || axes[i] != int64_t(i);
  }
  if (!moved) return x;
  const DType dtype = x->dtype;
  return make_node(Kind::permute, dtype, std::move(shape), {std::move(x)}, std::move(axes));
}

NodeRef slice(NodeRef x, std::vector<int64_t> start, std::vector<int64_t> step, Shape shape) {
  const DType dtype = x->dtype;
  std::vector<int64_t> ints = std::move(start);
  ints.insert(ints.end(), step.begin(), step.end());
  return make_node(Kind::slice, dtype, std::move(shape), {std::move(x)}, std::move(ints));
}

NodeRef expand(NodeRef x, Shape shape) {
  if (x->shape == shape) return x;
  const DType dtype = x->dtype;
  return make_node(Kind::expand, dtype, std::move(shape), {std::move(x)});
}

NodeRef dynamic_slice(NodeRef x, NodeRef at, int axis, int64_t length) {
  Shape shape = x->shape;
  shape[size_t(axis)] = length;
  const DType dtype = x->dtype;
  return make_node(Kind::dynamic_slice, dtype, std::move(shape), {std::move(x), std::move(at)}, {axis});
}

NodeRef reduce(ReduceOp op, NodeRef x, std::vector<int64_t> axes) {
  Shape shape;
  for (int64_t i = 0; i < int64_t(x->shape.size()); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) shape.push_back(x->shape[size_t(i)]);
  const DType dtype = op == ReduceOp::argmax ? DType::u32 : x->dtype;
  NodeRef n = make_node(Kind::reduce, dtype, std::move(shape), {std::move(x)}, std::move(axes));
  n->reduce = op;
  return n;
}

NodeRef gather(NodeRef x, NodeRef index, int axis) {
  Shape shape(x->shape.begin(), x->shape.begin() + axis);
  shape.insert(shape.end(), index->shape.begin(), index->shape.end());
  shape.insert(shape.end(), x->shape.begin() + axis + 1, x->shape.end());
  const DType dtype = is_quantised(x->dtype) ? DType::f32 : x->dtype;
  return make_node(Kind::gather, dtype, std::move(shape), {std::move(x), std::move(index)}, {axis});
}

NodeRef gather_along(NodeRef x, NodeRef index, int axis) {
  const DType dtype = x->dtype;
  Shape shape = index->shape;
  return make_node(Kind::gather, dtype, std::move(shape), {std::move(x), std::move(index)}, {axis, 1});
}

NodeRef concat(std::vector<NodeRef> parts, int axis) {
  Shape shape = parts.at(0)->shape;
  shape[size_t(axis)] = 0;
  for (const NodeRef& p : parts) shape[size_t(axis)] = checked_add(shape[size_t(axis)], p->shape[size_t(axis)]);
  const DType dtype = parts[0]->dtype;
  return make_node(Kind::concat, dtype, std::move(shape), std::move(parts), {axis});
}

NodeRef update(NodeRef dst, NodeRef src, NodeRef at, int axis) {
  Shape shape = dst->shape;
  const DType dtype = dst->dtype;
  return make_node(Kind::update, dtype, std::move(shape), {std::move(dst), std::move(src), std::move(at)}, {axis});
}

NodeRef anchor(const Anchor& op, DType dtype, Shape shape, std::vector<NodeRef> inputs, std::vector<int64_t> ints) {
  NodeRef n = make_node(Kind::anchor, dtype, std::move(shape), std::move(inputs), std::move(ints));
  n->anchor = &op;
  return n;
}

std::vector<Node*> topological_order(std::span<const NodeRef> roots) {
  std::vector<Node*> order;
  std::unordered_map<Node*, bool> placed;  // false: entered, true: in the order
  std::vector<std::pair<Node*, size_t>> stack;
  for (const NodeRef& root : roots) {
    if (placed.contains(root.get())) continue;
    stack.emplace_back(root.get(), 0);
    placed[root.get()] = false;
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == node->inputs.size()) {
        placed[node] = true;
        order.push_back(node);
        stack.pop_back();
        continue;
      }
      Node* input = node->inputs[next++].get();
      if (!placed.contains(input)) {
        placed[input] = false;
        stack.emplace_back(input, 0);
      }
    }
  }
  return order;
}

}  // namespace tenon::graph
