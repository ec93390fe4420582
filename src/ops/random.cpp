#include <bit>

#include "base/check.h"
#include "ops/compose/sample.h"
#include "ops/rules.h"

namespace tenon {

using namespace ops;

Tensor random_bits(Shape shape, uint64_t seed, uint32_t stream, const Device& device) {
  element_count(shape);
  std::vector<NodeRef> inputs;
  for (uint32_t word : {uint32_t(seed), uint32_t(seed >> 32), stream}) inputs.push_back(graph::scalar(device.shared(), DType::u32, word));
  return to_tensor(graph::make_node(graph::Kind::random_bits, DType::u32, std::move(shape), std::move(inputs)));
}

namespace {

bool takes_dense(int, const graph::OperandView& v) { return v.strides == dense_strides(v.shape); }
std::vector<int64_t> no_attributes(const graph::Node&) { return {}; }

void sample_parameters(const graph::Node&, std::span<const graph::OperandView> views, std::span<const uint32_t> slots, Params& out) {
  SampleParams p{};
  p.n = views[0].shape[0];
  p.v = views[0].shape[1];
  uint32_t* fields[] = {&p.temperature, &p.top_k, &p.top_p, &p.min_p, &p.seed_lo, &p.seed_hi, &p.position};
  for (size_t i = 0; i < 7; ++i) *fields[i] = slots[i];
  out.sample = p;
}

const graph::Anchor sample_anchor{"sample", 1, false, takes_dense, no_attributes, sample_parameters, compose_sample};

}  // namespace

SampleSettings::SampleSettings(const Device& d)
    : temperature(1.0f, d), top_k(uint32_t(0), d), top_p(1.0f, d), min_p(0.0f, d), seed_low(uint32_t(0), d), seed_high(uint32_t(0), d), position(uint32_t(0), d) {}

Tensor sample(const Tensor& logits, const SampleSettings& s) {
  if (logits.rank() != 2 || logits.dim(1) == 0) fail_shape("sample", {&logits}, "logits must be [N, V] with V > 0");
  if (logits.dtype() != DType::f32) fail_dtype("sample", {&logits}, "logits must be f32; cast() them");
  std::vector<NodeRef> inputs{node_of(logits)};
  for (const Scalar* p : {&s.temperature, &s.top_k, &s.top_p, &s.min_p, &s.seed_low, &s.seed_high, &s.position})
    inputs.push_back(node_of(p->tensor()));
  const NodeRef tokens = graph::anchor(sample_anchor, DType::u32, {logits.dim(0)}, std::move(inputs));
  return to_tensor(graph::cast(tokens, DType::i32));
}

}  // namespace tenon
