#include "llm/weights.h"

#include <new>

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

Tensor WeightReader::matrix(const std::string& name, int64_t rows, int64_t columns) { return get(name, {rows, columns}); }

Tensor WeightReader::vector(const std::string& name, int64_t size) {
  Tensor t = get(name, {size});
  if (!is_float(t.dtype())) fail(ErrorCode::unsupported, name, cat("is ", to_string(t.dtype()), "; f32, f16 or bf16 is needed for a vector"));
  return t;
}

Tensor WeightReader::vectors(const std::vector<std::pair<std::string, int64_t>>& parts) {
  std::vector<Tensor> each;
  int64_t size = 0;
  for (const auto& [name, n] : parts) {
    each.push_back(vector(name, n));
    size += n;
    if (each.back().dtype() != each[0].dtype())
      fail(ErrorCode::unsupported, name, cat("is ", to_string(each.back().dtype()), ", but \"", parts[0].first, "\" beside it is ", to_string(each[0].dtype())));
  }
  const bool shapes = mode_ == Mode::shapes;
  const Tensor all = shapes ? graph::to_tensor(graph::placeholder(device_.shared(), each[0].dtype(), {size})) : concat(each, 0);
  if (!shapes) eval({all});
  all.node()->label = parts[0].first;
  return all;
}

Tensor WeightReader::get(const std::string& name, const Shape& shape) {
  const GgufTensor* t = gguf_.find(name);
  if (!t) fail(ErrorCode::format, name, cat("is missing; the model needs it, with shape ", to_string(shape)));
  if (t->shape != shape) fail(ErrorCode::format, name, cat("has shape ", to_string(t->shape), ", expected ", to_string(shape)), t->offset);
  used_.insert(name);
  const auto named = [&](Tensor made) {
    made.node()->label = name;
    return made;
  };
  if (mode_ == Mode::shapes) return named(graph::to_tensor(graph::placeholder(device_.shared(), t->dtype, shape)));
  try {
    return named(load(*t));
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::out_of_memory, name, cat("needs ", t->bytes, " bytes of memory that are not there; a smaller model, or one with fewer bits, would fit"));
  }
}

Tensor WeightReader::load(const GgufTensor& t) {
  std::vector<std::byte> bytes(size_t(t.bytes), std::byte(0));
  gguf_.source()->read(t.offset, bytes);
  const Tensor out = Tensor::from_bytes(std::move(bytes), t.dtype, t.shape, device_);
  eval({out});  // travels now, not at its first use: the host's copy goes before the next tensor is read
  done_ += t.bytes;
  if (progress_) progress_(done_, total_);
  return out;
}

void WeightReader::check_all_used(const std::string& architecture) const {
  for (const GgufTensor& t : gguf_.tensors())
    if (!used_.contains(t.name))
      fail(ErrorCode::unsupported, t.name, cat("is no part of the architecture \"", architecture, "\" as it is known here; the "
                                               "file holds a variant of it that is not supported"), t.offset);
}

}  // namespace tenon::llm
