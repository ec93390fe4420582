// Tensor: a lazy value on a device. Ops build a graph; eval() or reading a value runs it. Graphs may be built on several
// threads at once; a tensor that threads share is evaluated first (evaluating changes what its handle holds).
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/error.h"

namespace tenon {

namespace graph {
struct Node;
}

using Shape = std::vector<int64_t>;

// A read under way. Waiting for it does not wait for work that was submitted after it.
class Readback {
 public:
  // Dense bytes, row-major. Waits; may be called once.
  std::vector<std::byte> bytes();
  // The value of a one-element i32 tensor.
  int32_t item_i32();

  struct Impl;
  explicit Readback(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& o);
  Tensor(Tensor&& o) noexcept;
  Tensor& operator=(Tensor o) noexcept;
  ~Tensor();

  // From host values, row-major; they travel to the device at the tensor's first use there. The dtype is that of T:
  // float f32, double f64, int8_t i8, uint8_t u8, int32_t i32, uint32_t u32, int64_t i64, bool bool. Throws Error(shape) when the count does not fit the shape.
  template <class T>
  static Tensor from(std::span<const T> values, Shape shape, const Device& device = Device::default_device());
  template <class T>
  static Tensor from(std::initializer_list<T> values, Shape shape, const Device& device = Device::default_device()) {
    return from(std::span<const T>(values.begin(), values.size()), std::move(shape), device);
  }
  // From bytes in the layout of `dtype` (quantised: GGUF blocks, the last axis in whole blocks).
  static Tensor from_bytes(std::span<const std::byte> bytes, DType dtype, Shape shape, const Device& device);
  static Tensor from_bytes(std::vector<std::byte>&& bytes, DType dtype, Shape shape, const Device& device);

  bool defined() const { return node_ != nullptr; }
  DType dtype() const;
  const Shape& shape() const;
  int64_t dim(int64_t axis) const;  // negative counts from the end
  int64_t rank() const { return int64_t(shape().size()); }
  int64_t size() const;             // elements
  Device device() const;

  // Evaluates if needed, waits, and copies to the host, row-major. T is float for f32, f16, bf16 and quantised dtypes,
  // double for f64 (and all the others), int8_t for i8, int32_t for i32, uint32_t for u32, int64_t for i64, uint8_t for u8
  // and bool; anything else throws Error(dtype).
  template <class T>
  std::vector<T> to_vector() const;
  // The one value of a tensor of one element.
  template <class T>
  T item() const;
  std::vector<std::byte> to_bytes() const;
  // Starts reading, behind what was submitted so far, and returns at once; see Readback.
  Readback read_async() const;
  // A copy on another device (the only way a tensor moves). Same device: the same tensor.
  Tensor to(const Device& device) const;

  // Takes the node over (for the library itself).
  explicit Tensor(graph::Node* retained) : node_(retained) {}
  graph::Node* node() const { return node_; }

 private:
  graph::Node* node_ = nullptr;
};

// Runs what the tensors need, all in one pass, and returns once it is submitted; reading a value waits for it. Host
// values that were not used on the device yet travel there.
// The tensors must be on one device.
void eval(std::span<const Tensor> tensors);
inline void eval(std::initializer_list<Tensor> tensors) { eval(std::span<const Tensor>(tensors.begin(), tensors.size())); }
template <class... T>
  requires(std::is_same_v<T, Tensor> && ...)
void eval(const Tensor& first, const T&... rest) {
  eval({first, rest...});
}

// The plan that evaluating the tensors would run, as text (or JSON), without running it.
std::string plan_text(std::span<const Tensor> tensors);
inline std::string plan_text(std::initializer_list<Tensor> tensors) {
  return plan_text(std::span<const Tensor>(tensors.begin(), tensors.size()));
}

// A run-time scalar: a 0-d u32, f32, f64 or i64 whose value may change between runs of one plan. It feeds declared operands
// (positions, lengths, temperatures) and takes part in arithmetic; changing it never makes a new plan.
class Scalar {
 public:
  Scalar(uint32_t value, const Device& device = Device::default_device());
  Scalar(float value, const Device& device = Device::default_device());
  Scalar(double value, const Device& device = Device::default_device());
  Scalar(int64_t value, const Device& device = Device::default_device());
  void set(uint32_t value);
  void set(float value);
  void set(double value);
  void set(int64_t value);
  const Tensor& tensor() const { return tensor_; }
  operator const Tensor&() const { return tensor_; }

 private:
  Tensor tensor_;
};

}  // namespace tenon
