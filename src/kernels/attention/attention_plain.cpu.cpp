// Attention by its definition: all scores of a query, their softmax, the weighted sum of values; in double, in the order
// of the keys, rounded once to f32. One group is one query of one head. Which keys take part: see attention.cpu.cpp.
// No code is shared with the tuned kernels.
#include "kernels/attention/attention_plain.cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/region/plain.cpu.h"
#include "kernels/scalar/plain.cpu.h"

namespace tenon::cpu {
namespace {

constexpr int64_t alignment = 8;  // of the scores, which come first in scratch
constexpr double infinity = std::numeric_limits<double>::infinity();

// Structure; attention.cpu.h has the order.
enum Flag : size_t { causal, windowed, capped, masked, biased };
bool has(const KernelDesc& desc, Flag f) { return desc.attributes.size() > f && desc.attributes[f] != 0; }

// One query: where it stands and which keys it sees.
class Query {
 public:
  Query(const KernelArgs& args, int64_t group) : args_(args), p_(args.params->attention) {
    const int64_t heads = p_.h, queries = p_.t;
    t_ = group % queries, h_ = group / queries % heads, b_ = group / queries / heads;
    const int64_t g = h_ / (heads / p_.g);
    q_ = b_ * p_.q_b + h_ * p_.q_h + t_ * p_.q_t;
    k_ = b_ * p_.k_b + g * p_.k_g;
    v_ = b_ * p_.v_b + g * p_.v_g;
    keys_ = p_.s;
    if (p_.kv_len_slot != no_slot) keys_ = std::min<int64_t>(args.scalars[p_.kv_len_slot], keys_);
    position_ = t_ + (p_.q_start_slot == no_slot ? keys_ - p_.t : int64_t(args.scalars[p_.q_start_slot]));
  }

  int64_t keys() const { return keys_; }

  bool sees(int64_t s) const {
    if (has(*args_.desc, causal) && s > position_) return false;
    if (has(*args_.desc, windowed) && s <= position_ - p_.window) return false;
    return !has(*args_.desc, masked) || plain_load(DType::bool_, args_.buffers[3], over_scores(p_.mask, s));
  }

  double score(int64_t s) const {
    double x = 0;
    for (int64_t i = 0; i < p_.d; ++i) x += operand(0, q_ + i) * operand(1, k_ + s * p_.k_s + i);
    x *= double(p_.scale);
    if (has(*args_.desc, capped)) x = std::tanh(x / double(p_.soft_cap)) * double(p_.soft_cap);
    if (has(*args_.desc, biased)) x += operand(has(*args_.desc, masked) ? 4 : 3, over_scores(p_.bias, s));
    return x;
  }

  double value(int64_t s, int64_t i) const { return operand(2, v_ + s * p_.v_s + i); }

 private:
  int64_t over_scores(const I64* strides, int64_t s) const {
    return b_ * strides[0] + h_ * strides[1] + t_ * strides[2] + s * strides[3];
  }
  double operand(int i, int64_t element) const {
    return double(plain_float(args_.desc->operands[size_t(i)].dtype, args_.buffers[i], element));
  }

  const KernelArgs& args_;
  const AttentionParams& p_;
  int64_t t_, h_, b_, q_, k_, v_, keys_, position_;
};

Grid grid(const KernelDesc& desc, const Params& params) {
  const AttentionParams& p = params.attention;
  if (p.d == 0 || p.g == 0) return {};
  return {p.b * p.h * p.t, alignment + int64_t(p.s) * int64_t(sizeof(double)) + PlainProgram::scratch_bytes(desc)};
}

// Scores become weights; returns their sum. Scores that are all -infinity have no weight.
double softmax(double* scores, int64_t n) {
  double largest = -infinity, sum = 0;
  for (int64_t s = 0; s < n; ++s)
    if (scores[s] > largest) largest = scores[s];
  if (largest == -infinity) largest = 0;
  for (int64_t s = 0; s < n; ++s) sum += scores[s] = std::exp(scores[s] - largest);
  return sum;
}

void run(const KernelArgs& args, int64_t group, std::byte* scratch) {
  const AttentionParams& p = args.params->attention;
  scratch += -reinterpret_cast<uintptr_t>(scratch) % alignment;
  double* weights = reinterpret_cast<double*>(scratch);
  const Query query(args, group);
  for (int64_t s = 0; s < query.keys(); ++s) weights[s] = query.sees(s) ? query.score(s) : -infinity;
  const double sum = softmax(weights, query.keys());
  PlainProgram epilogue(args, scratch + int64_t(p.s) * int64_t(sizeof(double)));
  for (int64_t i = 0; i < p.d; ++i) {
    double out = 0;
    for (int64_t s = 0; s < query.keys(); ++s)
      if (query.sees(s)) out += weights[s] * query.value(s, i);
    epilogue.element(group * p.d + i, sum == 0 ? 0.0f : float(out / sum));
  }
}

bool applies(const KernelDesc& desc) {
  const bool mask = has(desc, masked);
  if (desc.anchor_operands != 3 + mask + has(desc, biased)) return false;
  for (int i = 0; i < desc.anchor_operands; ++i) {
    const DType t = desc.operands[size_t(i)].dtype;
    if (mask && i == 3 ? t != DType::bool_ : !is_float(t) || is_wide(t)) return false;
  }
  return true;
}

}  // namespace

const NativeKernel attention_plain_kernel{"attention", "attention_plain", applies, grid, nullptr, run, true};

}  // namespace tenon::cpu
