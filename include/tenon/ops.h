// The ops. Each builds a node or a few; nothing runs before eval() or reading a value.
//
// dtypes promote as in the array API standard: f16 and bf16 with f32 give f32, f16 with bf16 gives f32; i32 with u32,
// integers with floats and bools with numbers are errors that name both. C++ numbers are weak: they take the tensor's
// dtype. Shapes broadcast as in NumPy. Errors: Error(dtype), Error(shape), Error(device), naming op and operands.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

// --------------------------------------------------------------------------------------------------- making tensors
Tensor full(Shape shape, double value, DType dtype = DType::f32, const Device& device = Device::default_device());
Tensor zeros(Shape shape, DType dtype = DType::f32, const Device& device = Device::default_device());
Tensor ones(Shape shape, DType dtype = DType::f32, const Device& device = Device::default_device());
// start, start+step, … below stop; i32, u32 or f32.
Tensor arange(double start, double stop, double step = 1, DType dtype = DType::i32,
              const Device& device = Device::default_device());

// ------------------------------------------------------------------------------------------------------ element-wise
Tensor add(const Tensor& a, const Tensor& b);
Tensor subtract(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);
Tensor divide(const Tensor& a, const Tensor& b);   // floats
Tensor minimum(const Tensor& a, const Tensor& b);  // NaN if either is NaN
Tensor maximum(const Tensor& a, const Tensor& b);  // NaN if either is NaN
Tensor negative(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor square(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);  // 1 / sqrt(x)
Tensor tanh(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor equal(const Tensor& a, const Tensor& b);  // comparisons give bool
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor logical_and(const Tensor& a, const Tensor& b);  // bool
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
Tensor bitwise_and(const Tensor& a, const Tensor& b);  // integers
Tensor bitwise_or(const Tensor& a, const Tensor& b);
Tensor bitwise_xor(const Tensor& a, const Tensor& b);
Tensor bitwise_left_shift(const Tensor& a, const Tensor& b);   // by 32 or more: 0
Tensor bitwise_right_shift(const Tensor& a, const Tensor& b);  // arithmetic for i32
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);  // condition: bool
// Floats round to nearest; float to integer goes towards zero, saturates, NaN gives 0; to bool: x != 0.
// A quantised tensor casts to f32, f16 or bf16 (dequantised).
Tensor cast(const Tensor& x, DType dtype);

// Activations, computed in f32 and rounded once.
Tensor sigmoid(const Tensor& x);
Tensor relu(const Tensor& x);
Tensor silu(const Tensor& x);       // x * sigmoid(x)
Tensor gelu(const Tensor& x);       // x/2 * (1 + erf(x / sqrt(2)))
Tensor gelu_tanh(const Tensor& x);  // its tanh approximation (Hendrycks and Gimpel, 2016)

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& x);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);

// -------------------------------------------------------------------------------------------------------------- shape
// All of these are views: they copy nothing where strides can express them.
Tensor reshape(const Tensor& x, Shape shape);  // one dimension may be -1
Tensor permute(const Tensor& x, std::vector<int64_t> axes);
Tensor transpose(const Tensor& x, int64_t a = -2, int64_t b = -1);  // swaps two axes
Tensor expand_dims(const Tensor& x, int64_t axis);
Tensor squeeze(const Tensor& x, int64_t axis);
Tensor broadcast_to(const Tensor& x, Shape shape);
Tensor flip(const Tensor& x, int64_t axis);
// Elements start, start+step, … before stop along one axis, as in Python (negative values count from the end).
Tensor slice(const Tensor& x, int64_t axis, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step = 1);

Tensor concat(const std::vector<Tensor>& parts, int64_t axis = 0);
// out[.., i.., ..] = x[.., indices[i..], ..] along `axis`; indices i32 or u32. An index outside [0, size) gives NaN, or
// 0 for integers and bool. x may be quantised when axis is 0 (its rows are dequantised to f32).
Tensor take(const Tensor& x, const Tensor& indices, int64_t axis = 0);
// Rows of a table: table [V, C] (also quantised), ids [..] -> [.., C]. take() along axis 0.
Tensor embedding(const Tensor& table, const Tensor& ids);
// `length` elements of `axis` from the run-time position `at` (u32), clamped so that the part lies inside.
Tensor dynamic_slice(const Tensor& x, const Scalar& at, int64_t axis, int64_t length);
// `dst` with `src` written at the run-time position `at` (u32) of `axis`, clamped. Shapes agree but for that axis. In
// place when dst is a State's own value that nobody else holds.
Tensor update(const Tensor& dst, const Tensor& src, const Scalar& at, int64_t axis);

// --------------------------------------------------------------------------------------------------------- reductions
// Over the given axes (all when empty), kept with size 1 if keepdims. f16 and bf16 are summed in f32, rounded once.
Tensor sum(const Tensor& x, std::vector<int64_t> axes = {}, bool keepdims = false);
Tensor prod(const Tensor& x, std::vector<int64_t> axes = {}, bool keepdims = false);  // likewise; of nothing: 1
Tensor mean(const Tensor& x, std::vector<int64_t> axes = {}, bool keepdims = false);  // floats; of nothing: NaN
// Variance and its root, in f32, rounded once: the mean squared distance from the mean, over max(count - correction, 0)
// elements (correction 1 for the unbiased estimate); over 0 elements NaN. Floats. (`std` of the array API standard.)
Tensor var(const Tensor& x, std::vector<int64_t> axes = {}, double correction = 0, bool keepdims = false);
Tensor stddev(const Tensor& x, std::vector<int64_t> axes = {}, double correction = 0, bool keepdims = false);
// The vector norm over the axes, in f32, rounded once. ord: 2, 1, infinity (largest magnitude), -infinity (smallest),
// 0 (how many are not 0). Floats. Of nothing: 0, but an error for -infinity.
Tensor vector_norm(const Tensor& x, std::vector<int64_t> axes = {}, bool keepdims = false, double ord = 2);
Tensor max(const Tensor& x, std::vector<int64_t> axes = {}, bool keepdims = false);   // NaN wins; of nothing: error
Tensor min(const Tensor& x, std::vector<int64_t> axes = {}, bool keepdims = false);   // NaN wins; of nothing: error
Tensor any(const Tensor& x, std::vector<int64_t> axes = {}, bool keepdims = false);   // bool: one is not 0 (NaN is not)
Tensor all(const Tensor& x, std::vector<int64_t> axes = {}, bool keepdims = false);   // bool: none is 0; of nothing: true
Tensor argmax(const Tensor& x, int64_t axis = -1, bool keepdims = false);  // i32; first on ties, first NaN wins
Tensor argmin(const Tensor& x, int64_t axis = -1, bool keepdims = false);  // i32; first on ties, first NaN wins
Tensor logsumexp(const Tensor& x, int64_t axis = -1, bool keepdims = false);
// A row that is -inf everywhere gives zeros.
Tensor softmax(const Tensor& x, int64_t axis = -1);
Tensor log_softmax(const Tensor& x, int64_t axis = -1);

// ------------------------------------------------------------------------------------------------------------- neural
// Over the last axis, in f32, rounded once. weight, bias: [C]; bias may be empty.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5);
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps = 1e-6);
// -log softmax(logits)[target] per row: logits [.., V], targets [..] i32 or u32 -> [..]. A target outside [0, V): NaN.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets);
enum class RopePairing {
  interleaved,  // (2i, 2i+1): Llama as stored in GGUF
  half,         // (i, i + D/2): Qwen2, GPT-NeoX
};
// Rotary position embedding (Su et al., 2021). x: [.., T, D], cos and sin: [T, D/2] f32.
Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, RopePairing pairing);

// ----------------------------------------------------------------------------------------------------------- products
// [.., M, K] x [.., K, N] -> [.., M, N] with NumPy's rules for 1-D operands and batches. Floats; accumulates in f32.
Tensor matmul(const Tensor& a, const Tensor& b);
// x: [.., K], weight: [N, K] (plain or quantised) -> [.., N]; bias [N] may be empty.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
struct AttentionOptions {
  bool causal = false;
  std::optional<float> scale;       // 1 / sqrt(D) unless given
  std::optional<Scalar> kv_len;     // run-time number of valid keys (u32); all S unless given
  std::optional<Scalar> q_start;    // run-time position of query 0 (u32); kv_len - T unless given
};
// q: [B, H, T, D], k: [B, G, S, D], v: [B, G, S, D], G divides H; query head h reads key head h / (H/G) in place.
// -> [B, H, T, D] in q's dtype. Scores in f32. A query that may see no key gives zeros.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {});

// ------------------------------------------------------------------------------------------------------------- random
// Philox4x32-10: words are a function of (seed, stream, element index) alone, equal on every device.
Tensor random_bits(Shape shape, uint64_t seed, uint32_t stream = 0, const Device& device = Device::default_device());
// Settings of sample(), all run-time scalars: changing them needs no new plan.
struct SampleSettings {
  explicit SampleSettings(const Device& device);
  Scalar temperature;  // f32; 0: the best token
  Scalar top_k;        // u32; 0 or >= V: off
  Scalar top_p;        // f32; >= 1: off
  Scalar min_p;        // f32; 0: off
  Scalar seed_low, seed_high;  // u32
  Scalar position;     // u32: the stream of this draw
};
// One token per row: logits [N, V] f32 -> i32 [N]. Order: top_k, softmax at the temperature, min_p (relative to the
// best), top_p (smallest set whose mass reaches p), then Gumbel-max with Philox noise at (seed, position, token).
Tensor sample(const Tensor& logits, const SampleSettings& settings);

// Every op of this header: name and kind ("scalar", "view", "composed", …), for tools and tests.
struct OpInfo {
  const char* name;
  const char* kind;
};
const std::vector<OpInfo>& list_ops();

}  // namespace tenon
