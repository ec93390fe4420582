// A GGUF file's tensors as Tensors on a device.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/gguf.h"
#include "tenon/tensor.h"

namespace tenon::llm {

class WeightReader {
 public:
  enum class Mode {
    values,  // read and put on the device
    shapes,  // places without data, for plans
  };
  using Progress = std::function<void(int64_t, int64_t)>;  // bytes done, bytes in all

  // The file must outlive the reader.
  WeightReader(const Gguf& gguf, Device device, Mode mode, Progress progress = {});

  bool has(const std::string& name) const { return gguf_.has_tensor(name); }
  using Part = std::pair<std::string, int64_t>;  // a tensor's name, its rows

  // [rows, columns], plain floats or quantised as in the file.
  Tensor matrix(const std::string& name, int64_t rows, int64_t columns);
  // Matrices that multiply one input, side by side: one tensor [sum of rows, columns] where they are of one type, else
  // each by itself.
  std::vector<Tensor> matrices(const std::vector<Part>& parts, int64_t columns);
  // [size], plain floats.
  Tensor vector(const std::string& name, int64_t size);
  // Several of them, one behind the other as one tensor: biases whose weights lie side by side.
  Tensor vectors(const std::vector<Part>& parts);
  // They throw Error(format) when the tensor is missing or has another shape (expected and found are named),
  // Error(unsupported) for a type that is not known, Error(out_of_memory), and what the file's source throws.

  // Throws Error(unsupported) naming a tensor that nobody asked for: a variant of the architecture that would be
  // computed wrongly without it.
  void check_all_used(const std::string& architecture) const;

 private:
  const GgufTensor* find(const std::string& name, const Shape& shape);
  const GgufTensor* find_vector(const std::string& name, int64_t size);
  // One tensor of the parts' bytes, one behind the other.
  Tensor make(const std::vector<const GgufTensor*>& parts, const Shape& shape);
  Tensor load(const std::vector<const GgufTensor*>& parts, const Shape& shape);
  [[noreturn]] void fail(ErrorCode code, const std::string& name, const std::string& what, int64_t offset = -1) const;

  const Gguf& gguf_;
  Device device_;
  Mode mode_;
  Progress progress_;
  int64_t done_ = 0, total_ = 0;
  std::set<std::string> used_;
};

}  // namespace tenon::llm
