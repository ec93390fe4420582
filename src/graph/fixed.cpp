#include "graph/fixed.h"

#include <algorithm>
#include <limits>

namespace tenon::graph {
namespace {

bool is_reduced(const Node& n, size_t axis) { return std::find(n.ints.begin(), n.ints.end(), int64_t(axis)) != n.ints.end(); }

NodeRef constant_bits(const Node& like, uint64_t bits, Shape shape) {
  NodeRef n = make_node(Kind::constant, like.dtype, std::move(shape), {}, {int64_t(bits)});
  n->device = like.device;
  return n;
}

// A value of one element seen as the shape.
NodeRef spread(NodeRef one, const Shape& shape) { return expand(reshape(std::move(one), Shape(shape.size(), 1)), shape); }

// What a reduction over nothing gives.
uint64_t identity_bits(const Node& n) {
  if (n.reduce == ReduceOp::prod) return lane_bits(n.dtype, 1);
  if (n.reduce != ReduceOp::max) return 0;
  switch (n.dtype) {
    case DType::i8: return lane_bits(n.dtype, INT8_MIN);
    case DType::i32: return lane_bits(n.dtype, INT32_MIN);
    case DType::i64: return lane_bits(n.dtype, INT64_MIN);
    default: return is_float(n.dtype) ? lane_bits(n.dtype, -std::numeric_limits<double>::infinity()) : 0;
  }
}

NodeRef canonical_reduce(const Node& n) {
  const Node& x = *n.inputs[0];
  if (element_count(x.shape) == 0) return element_count(n.shape) == 0 ? nullptr : constant_bits(n, identity_bits(n), n.shape);
  if (!has_many_axes(n)) return nullptr;
  std::vector<int64_t> order, last;
  for (bool reduced : {false, true})
    for (size_t d = 0; d < x.shape.size(); ++d)
      if (is_reduced(n, d) == reduced) order.push_back(int64_t(d));
  for (size_t i = n.shape.size(); i < x.shape.size(); ++i) last.push_back(int64_t(i));
  return last == n.ints ? nullptr : reduce(n.reduce, permute(n.inputs[0], order), last);
}

NodeRef canonical_gather(const Node& n) {
  const NodeRef &x = n.inputs[0], &index = n.inputs[1];
  if (element_count(x->shape) == 0)
    return element_count(n.shape) == 0 ? nullptr : constant_bits(n, outside_bits(lane_of(n.dtype)), n.shape);
  if (index->dtype == DType::i64) return nullptr;
  return make_node(Kind::gather, n.dtype, n.shape, {x, cast(index, DType::i64)}, n.ints);
}

NodeRef canonical_iota(const Node& n) {
  Shape own(n.shape.size(), 1);
  own[size_t(n.ints[0])] = n.shape[size_t(n.ints[0])];
  return own == n.shape ? nullptr : expand(iota(n.device, n.dtype, own, int(n.ints[0])), n.shape);
}

}  // namespace

bool has_many_axes(const Node& n) {
  const Shape& shape = n.inputs[0]->shape;
  size_t reduced = 0, kept = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) ++(is_reduced(n, d) ? reduced : kept);
  return std::max(reduced, kept) > fixed_row_rank;
}

NodeRef canonical(const Node& n) {
  switch (n.kind) {
    case Kind::constant: return n.shape.empty() ? nullptr : spread(constant_bits(n, uint64_t(n.ints[0]), {}), n.shape);
    case Kind::iota: return canonical_iota(n);
    case Kind::reduce: return canonical_reduce(n);
    case Kind::gather: return canonical_gather(n);
    default: return nullptr;
  }
}

uint64_t outside_bits(Lane lane) {
  if (lane == Lane::f64) return 0x7ff8000000000000u;
  return lane == Lane::f32 ? 0x7fc00000u : 0u;
}

}  // namespace tenon::graph
