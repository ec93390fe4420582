#include "llm/weights.h"

#include <algorithm>
#include <new>
#include <span>

#include "base/cat.h"
#include "core/shape.h"
#include "graph/handles.h"
#include "tenon/error.h"
#include "tenon/ops.h"

namespace tenon::llm {

WeightReader::WeightReader(const Gguf& gguf, Device device, Mode mode, Progress progress)
    : gguf_(gguf), device_(std::move(device)), mode_(mode), progress_(std::move(progress)) {
  for (const GgufTensor& t : gguf.tensors()) total_ += t.bytes;
}

void WeightReader::fail(ErrorCode code, const std::string& name, const std::string& what, int64_t offset) const {
  ErrorContext context;
  context.path = gguf_.path();
  context.tensor = name;
  context.offset = offset;
  throw Error(code, cat(gguf_.path(), ": tensor \"", name, "\" ", what), std::move(context));
}

Tensor WeightReader::matrix(const std::string& name, int64_t rows, int64_t columns) {
  return make({find(name, {rows, columns})}, {rows, columns});
}

std::vector<Tensor> WeightReader::matrices(const std::vector<Part>& parts, int64_t columns) {
  std::vector<const GgufTensor*> found;
  int64_t rows = 0;
  for (const auto& [name, n] : parts) {
    found.push_back(find(name, {n, columns}));
    rows += n;
  }
  const auto alike = [&](const GgufTensor* t) { return t->dtype == found[0]->dtype; };
  if (std::all_of(found.begin(), found.end(), alike)) return {make(found, {rows, columns})};
  std::vector<Tensor> each;
  for (size_t i = 0; i < parts.size(); ++i) each.push_back(make({found[i]}, {parts[i].second, columns}));
  return each;
}

const GgufTensor* WeightReader::find_vector(const std::string& name, int64_t size) {
  const GgufTensor* t = find(name, {size});
  if (!is_float(t->dtype)) fail(ErrorCode::unsupported, name, cat("is ", to_string(t->dtype), "; f32, f16 or bf16 is needed for a vector"));
  return t;
}

Tensor WeightReader::vector(const std::string& name, int64_t size) { return make({find_vector(name, size)}, {size}); }

Tensor WeightReader::vectors(const std::vector<Part>& parts) {
  std::vector<const GgufTensor*> found;
  int64_t size = 0;
  for (const auto& [name, n] : parts) {
    found.push_back(find_vector(name, n));
    size += n;
    if (found.back()->dtype != found[0]->dtype)
      fail(ErrorCode::unsupported, name, cat("is ", to_string(found.back()->dtype), ", but \"", parts[0].first, "\" beside it is ", to_string(found[0]->dtype)));
  }
  return make(found, {size});
}

const GgufTensor* WeightReader::find(const std::string& name, const Shape& shape) {
  const GgufTensor* t = gguf_.find(name);
  if (!t) fail(ErrorCode::format, name, cat("is missing; the model needs it, with shape ", to_string(shape)));
  if (t->shape != shape) fail(ErrorCode::format, name, cat("has shape ", to_string(t->shape), ", expected ", to_string(shape)), t->offset);
  used_.insert(name);
  return t;
}

Tensor WeightReader::make(const std::vector<const GgufTensor*>& parts, const Shape& shape) {
  const bool shapes = mode_ == Mode::shapes;
  const Tensor made = shapes ? graph::to_tensor(graph::placeholder(device_.shared(), parts[0]->dtype, shape)) : load(parts, shape);
  made.node()->label = parts[0]->name;
  return made;
}

Tensor WeightReader::load(const std::vector<const GgufTensor*>& parts, const Shape& shape) {
  int64_t size = 0;
  for (const GgufTensor* t : parts) size += t->bytes;
  try {
    std::vector<std::byte> bytes(size_t(size), std::byte(0));
    size_t at = 0;
    for (const GgufTensor* t : parts) {
      gguf_.source()->read(t->offset, std::span(bytes).subspan(at, size_t(t->bytes)));
      at += size_t(t->bytes);
    }
    const Tensor out = Tensor::from_bytes(std::move(bytes), parts[0]->dtype, shape, device_);
    eval({out});  // travels now, not at its first use: the host's copy goes before the next tensor is read
    done_ += size;
    if (progress_) progress_(done_, total_);
    return out;
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::out_of_memory, parts[0]->name, cat("needs ", size, " bytes of memory that are not there; a smaller model, or one with fewer bits, would fit"));
  }
}

void WeightReader::check_all_used(const std::string& architecture) const {
  for (const GgufTensor& t : gguf_.tensors())
    if (!used_.contains(t.name))
      fail(ErrorCode::unsupported, t.name, cat("is no part of the architecture \"", architecture, "\" as it is known here; the "
                                               "file holds a variant of it that is not supported"), t.offset);
}

}  // namespace tenon::llm
