#include "tenon/tensor.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "core/half.h"
#include "core/shape.h"
#include "graph/evaluate.h"
#include "graph/handles.h"

namespace tenon {

using graph::NodeRef;

Tensor::Tensor(const Tensor& o) : node_(o.node_) {
  if (node_) node_->retain();
}
Tensor::Tensor(Tensor&& o) noexcept : node_(std::exchange(o.node_, nullptr)) {}
Tensor& Tensor::operator=(Tensor o) noexcept {
  std::swap(node_, o.node_);
  return *this;
}
Tensor::~Tensor() {
  if (node_ && node_->drop()) graph::Node::destroy(node_);
}

namespace graph {

Tensor to_tensor(const NodeRef& n) {
  n->retain();
  return Tensor(n.get());
}

NodeRef node_of(const Tensor& t) {
  if (!t.defined()) throw Error(ErrorCode::invalid_argument, "an empty Tensor was used; give it a value first");
  return NodeRef(t.node());
}

}  // namespace graph

DType Tensor::dtype() const { return graph::node_of(*this)->dtype; }
const Shape& Tensor::shape() const {
  graph::node_of(*this);
  return node_->shape;
}
int64_t Tensor::dim(int64_t axis) const { return shape()[size_t(normalise_axis("dim", axis, rank()))]; }
int64_t Tensor::size() const { return element_count(shape()); }
Device Tensor::device() const { return Device(graph::node_of(*this)->device); }

namespace {

// A tensor of a dtype that the device has no lanes for cannot be there.
void require_lanes(const Device& device, DType t) {
  if (!is_wide(t) || device.context()->backend().limits().wide_lanes) return;
  throw Error(ErrorCode::unsupported,
              cat("device ", device.name(), " cannot hold ", to_string(t), "; cast() to ", t == DType::f64 ? "f32" : "i32",
                  " before to(device), or use another device"),
              {.dtypes = to_string(t), .device = device.name()});
}

}  // namespace

Tensor Tensor::from_bytes(std::vector<std::byte>&& bytes, DType dtype, Shape shape, const Device& device) {
  require_lanes(device, dtype);
  const int64_t need = dense_bytes(dtype, shape);
  if (int64_t(bytes.size()) != need)
    throw Error(ErrorCode::shape, cat("a ", to_string(dtype), " tensor of shape ", to_string(shape), " has ", need,
                                      " bytes, but ", int64_t(bytes.size()), " were given"));
  auto storage = make_ref<Storage>(device.shared(), std::move(bytes));
  return graph::to_tensor(graph::leaf(std::move(storage), dtype, std::move(shape)));
}

Tensor Tensor::from_bytes(std::span<const std::byte> bytes, DType dtype, Shape shape, const Device& device) {
  return from_bytes(std::vector<std::byte>(bytes.begin(), bytes.end()), dtype, std::move(shape), device);
}

template <>
Tensor Tensor::from<float>(std::span<const float> v, Shape shape, const Device& device) {
  return from_bytes(std::as_bytes(v), DType::f32, std::move(shape), device);
}
template <>
Tensor Tensor::from<int32_t>(std::span<const int32_t> v, Shape shape, const Device& device) {
  return from_bytes(std::as_bytes(v), DType::i32, std::move(shape), device);
}
template <>
Tensor Tensor::from<uint32_t>(std::span<const uint32_t> v, Shape shape, const Device& device) {
  return from_bytes(std::as_bytes(v), DType::u32, std::move(shape), device);
}
template <>
Tensor Tensor::from<double>(std::span<const double> v, Shape shape, const Device& device) {
  return from_bytes(std::as_bytes(v), DType::f64, std::move(shape), device);
}
template <>
Tensor Tensor::from<int64_t>(std::span<const int64_t> v, Shape shape, const Device& device) {
  return from_bytes(std::as_bytes(v), DType::i64, std::move(shape), device);
}
template <>
Tensor Tensor::from<int8_t>(std::span<const int8_t> v, Shape shape, const Device& device) {
  return from_bytes(std::as_bytes(v), DType::i8, std::move(shape), device);
}
template <>
Tensor Tensor::from<uint8_t>(std::span<const uint8_t> v, Shape shape, const Device& device) {
  return from_bytes(std::as_bytes(v), DType::u8, std::move(shape), device);
}
template <>
Tensor Tensor::from<bool>(std::span<const bool> v, Shape shape, const Device& device) {
  return from_bytes(std::as_bytes(v), DType::bool_, std::move(shape), device);
}

struct Readback::Impl {
  std::shared_ptr<graph::PendingRead> read;
  DType dtype;
};

std::vector<std::byte> Readback::bytes() { return graph::finish_read(*impl_->read); }

int32_t Readback::item_i32() {
  const std::vector<std::byte> b = bytes();
  if (impl_->dtype != DType::i32 || b.size() != 4)
    throw Error(ErrorCode::dtype, cat("item_i32() of ", to_string(impl_->dtype), " in ", int64_t(b.size()), " bytes; one i32 is needed"));
  int32_t v;
  std::memcpy(&v, b.data(), 4);
  return v;
}

Readback Tensor::read_async() const {
  const NodeRef n = graph::evaluate_dense(graph::node_of(*this));
  return Readback(std::make_shared<Readback::Impl>(Readback::Impl{graph::start_read(*n), n->dtype}));
}

std::vector<std::byte> Tensor::to_bytes() const { return read_async().bytes(); }

namespace {

[[noreturn]] void wrong_type(const char* asked, DType dtype) {
  throw Error(ErrorCode::dtype, cat("to_vector<", asked, ">() of a ", to_string(dtype),
                                    " tensor; read floats as float (f64 as double), i8 as int8_t, u8 and bool as uint8_t, i32 as "
                                    "int32_t, u32 as uint32_t, i64 as int64_t"),
              {.op = "to_vector", .dtypes = to_string(dtype)});
}

template <class T>
std::vector<T> copied(const Tensor& t, DType dtype, const char* asked) {
  if (t.dtype() != dtype) wrong_type(asked, t.dtype());
  const std::vector<std::byte> bytes = t.to_bytes();
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

template <>
std::vector<float> Tensor::to_vector<float>() const {
  const DType t = dtype();
  if (is_quantised(t)) return graph::to_tensor(graph::cast(graph::node_of(*this), DType::f32)).to_vector<float>();
  if (t == DType::f32) return copied<float>(*this, DType::f32, "float");
  if (!is_float(t) || is_wide(t)) wrong_type("float", t);
  std::vector<float> out;
  for (uint16_t h : copied<uint16_t>(*this, t, "float")) out.push_back(t == DType::f16 ? f32_from_f16(h) : f32_from_bf16(h));
  return out;
}
template <>
std::vector<int32_t> Tensor::to_vector<int32_t>() const {
  return copied<int32_t>(*this, DType::i32, "int32_t");
}
template <>
std::vector<uint32_t> Tensor::to_vector<uint32_t>() const {
  return copied<uint32_t>(*this, DType::u32, "uint32_t");
}
template <>
std::vector<uint8_t> Tensor::to_vector<uint8_t>() const {
  return copied<uint8_t>(*this, dtype() == DType::u8 ? DType::u8 : DType::bool_, "uint8_t");
}
template <>
std::vector<int8_t> Tensor::to_vector<int8_t>() const {
  return copied<int8_t>(*this, DType::i8, "int8_t");
}
template <>
std::vector<int64_t> Tensor::to_vector<int64_t>() const {
  return copied<int64_t>(*this, DType::i64, "int64_t");
}
template <>
std::vector<double> Tensor::to_vector<double>() const {
  if (dtype() == DType::f64 || !(is_float(dtype()) || is_quantised(dtype()))) return copied<double>(*this, DType::f64, "double");
  const std::vector<float> v = to_vector<float>();
  return std::vector<double>(v.begin(), v.end());
}

namespace {
template <class T>
T one(const Tensor& t) {
  if (t.size() != 1)
    throw Error(ErrorCode::shape, cat("item() needs a tensor of one element, not ", to_string(t.shape())), {.op = "item"});
  return t.to_vector<T>()[0];
}
}  // namespace
template <>
float Tensor::item<float>() const { return one<float>(*this); }
template <>
int32_t Tensor::item<int32_t>() const { return one<int32_t>(*this); }
template <>
uint32_t Tensor::item<uint32_t>() const { return one<uint32_t>(*this); }
template <>
double Tensor::item<double>() const { return one<double>(*this); }
template <>
int64_t Tensor::item<int64_t>() const { return one<int64_t>(*this); }
template <>
int8_t Tensor::item<int8_t>() const { return one<int8_t>(*this); }
template <>
uint8_t Tensor::item<uint8_t>() const { return one<uint8_t>(*this); }

Tensor Tensor::to(const Device& target) const {
  if (target == device()) return *this;
  require_lanes(target, dtype());
  return from_bytes(to_bytes(), dtype(), shape(), target);
}

void eval(std::span<const Tensor> tensors) {
  std::vector<NodeRef> roots;
  for (const Tensor& t : tensors) roots.push_back(graph::node_of(t));
  graph::evaluate(roots);
}

std::string plan_text(std::span<const Tensor> tensors) {
  std::vector<NodeRef> roots;
  for (const Tensor& t : tensors) roots.push_back(graph::node_of(t));
  return to_string(*graph::plan_for(roots));
}

Scalar::Scalar(uint32_t value, const Device& device)
    : tensor_(graph::to_tensor(graph::scalar(device.shared(), DType::u32, value))) {}
Scalar::Scalar(float value, const Device& device)
    : tensor_(graph::to_tensor(graph::scalar(device.shared(), DType::f32, std::bit_cast<uint32_t>(value)))) {}
Scalar::Scalar(double value, const Device& device) {
  require_lanes(device, DType::f64);
  tensor_ = graph::to_tensor(graph::scalar(device.shared(), DType::f64, std::bit_cast<uint64_t>(value)));
}
Scalar::Scalar(int64_t value, const Device& device) {
  require_lanes(device, DType::i64);
  tensor_ = graph::to_tensor(graph::scalar(device.shared(), DType::i64, uint64_t(value)));
}
void Scalar::set(double value) {
  TENON_CHECK(tensor_.dtype() == DType::f64);
  tensor_.node()->value.store(std::bit_cast<uint64_t>(value));
}
void Scalar::set(int64_t value) {
  TENON_CHECK(tensor_.dtype() == DType::i64);
  tensor_.node()->value.store(uint64_t(value));
}
void Scalar::set(uint32_t value) {
  TENON_CHECK(tensor_.dtype() == DType::u32);
  tensor_.node()->value.store(value);
}
void Scalar::set(float value) {
  TENON_CHECK(tensor_.dtype() == DType::f32);
  tensor_.node()->value.store(std::bit_cast<uint32_t>(value));
}

}  // namespace tenon
