// Contraction of two tensors whose axes are named by numbers: what einsum, tensordot and linear_general share.
#pragma once
#include "ops/rules.h"

namespace tenon::ops {

struct Labelled {
  Tensor x;
  std::vector<int> labels;  // one per axis, all different
};

bool contains(const std::vector<int>& labels, int label);
// x with its axes in the order of `labels`, which are its own.
Tensor in_order(const Labelled& t, const std::vector<int>& labels);
// The product, summed over the labels that both have and `keep` has not. Equal labels have equal sizes; labels of one
// operand alone are kept. The result's labels: those kept of both, then a's own, then b's own. One matmul for floats;
// multiply and sum for integers.
Labelled contract(const Labelled& a, const Labelled& b, const std::vector<int>& keep);

}  // namespace tenon::ops
