// One group draws the token of one row. Row r uses the random words of elements r * V and up, so rows are independent
// and the first row's words are those of the token ids.
#include "kernels/sample/sample.cpu.h"

#include <bit>
#include <cstring>

#include "kernels/sample/sample_token.h"

namespace tenon {
namespace {

constexpr int64_t alignment = 16;  // of the candidates within scratch

Grid grid(const KernelDesc&, const Params& params) {
  const SampleParams& p = params.sample;
  if (p.v == 0) return {};
  return {p.n, p.v * int64_t(sizeof(SampleCandidate)) + alignment};
}

SampleOptions options_of(const SampleParams& p, const uint32_t* scalars) {
  SampleOptions o;
  o.temperature = std::bit_cast<float>(scalars[p.temperature]);
  o.top_k = scalars[p.top_k];
  o.top_p = std::bit_cast<float>(scalars[p.top_p]);
  o.min_p = std::bit_cast<float>(scalars[p.min_p]);
  o.seed = uint64_t(scalars[p.seed_hi]) << 32 | scalars[p.seed_lo];
  o.position = scalars[p.position];
  return o;
}

void run(const KernelArgs& args, int64_t group, std::byte* scratch) {
  const SampleParams& p = args.params->sample;
  const int64_t v = p.v;
  const float* logits = reinterpret_cast<const float*>(args.buffers[0]) + group * v;
  scratch += -reinterpret_cast<uintptr_t>(scratch) % alignment;
  const uint32_t token = sample_token(logits, v, group * v, options_of(p, args.scalars),
                                      reinterpret_cast<SampleCandidate*>(scratch));
  std::memcpy(args.buffers[1] + group * 4, &token, sizeof token);
}

// Asked for with the logits alone when a plan looks for a kernel, with the tokens too when it is launched.
bool applies(const KernelDesc& desc) { return desc.anchor_operands == 1 && desc.operands[0].dtype == DType::f32; }

}  // namespace

const NativeKernel sample_kernel{"sample", "sample_gumbel", applies, grid, nullptr, run, true};

}  // namespace tenon
