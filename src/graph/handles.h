// Between the public Tensor and the graph's nodes.
#pragma once
#include "graph/node.h"
#include "tenon/tensor.h"

namespace tenon::graph {
Tensor to_tensor(const NodeRef& n);
// Throws Error(invalid_argument) for an empty Tensor.
NodeRef node_of(const Tensor& t);
}  // namespace tenon::graph
