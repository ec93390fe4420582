// Tensors and graphs as text.
#pragma once
#include <string>

#include "tenon/tensor.h"

namespace tenon {

// The values as NumPy prints them (8 digits, aligned columns, exponents when sizes differ much, the middle of more than
// 1,000 elements left out). Evaluates and waits.
std::string to_string(const Tensor& tensor);

// The graph behind the tensors, one node a line, inputs before their users. Evaluates nothing.
std::string graph_text(std::span<const Tensor> tensors);
inline std::string graph_text(std::initializer_list<Tensor> tensors) {
  return graph_text(std::span<const Tensor>(tensors.begin(), tensors.size()));
}

}  // namespace tenon
