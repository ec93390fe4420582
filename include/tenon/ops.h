// The ops. Each builds a node or a few; nothing runs before eval() or reading a value.
//
// dtypes promote as in the array API standard: two floats give f64 if one is f64, else f32; two integers the narrowest
// that holds both: u8 with u32 gives u32, i8 with i32 gives i32, i32 with u32 gives i64. (u8 with i8 gives i32: there is
// no i16.) Integers with floats and bools with numbers are errors that name both. C++ numbers are weak: they take the
// tensor's dtype. f64 and i64 need a device with 8-byte lanes (cpu, host); elsewhere Error(unsupported). Shapes broadcast as in NumPy. Errors: Error(dtype), Error(shape), Error(device), naming op and operands.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/number.h"
#include "tenon/tensor.h"

namespace tenon {

// --------------------------------------------------------------------------------------------------- making tensors
Tensor full(Shape shape, Number value, DType dtype = DType::f32, const Device& device = Device::default_device());
Tensor zeros(Shape shape, DType dtype = DType::f32, const Device& device = Device::default_device());
Tensor ones(Shape shape, DType dtype = DType::f32, const Device& device = Device::default_device());
// start, start+step, … below stop; integers, f32 or f64.
Tensor arange(Number start, Number stop, Number step = 1, DType dtype = DType::i32,
              const Device& device = Device::default_device());

// `count` numbers from start to stop, evenly spaced; without the endpoint, stop would be the next one. Floats, computed
// in f32 (f64 in itself); both ends exact.
Tensor linspace(double start, double stop, int64_t count, DType dtype = DType::f32,
                const Device& device = Device::default_device(), bool endpoint = true);
// [rows, columns] with ones where column = row + k.
Tensor eye(int64_t rows, std::optional<int64_t> columns = {}, int64_t k = 0, DType dtype = DType::f32,
           const Device& device = Device::default_device());

// ------------------------------------------------------------------------------------------------------ element-wise
Tensor add(const Tensor& a, const Tensor& b);
Tensor subtract(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);
Tensor divide(const Tensor& a, const Tensor& b);   // floats
// The quotient rounded down. Floats: by 0 an infinity or NaN, and -0 where a negative number meets an infinity (array API
// standard). Integers: by 0 it is 0; the smallest one by -1 wraps.
Tensor floor_divide(const Tensor& a, const Tensor& b);
Tensor floor_divide(const Tensor& a, Number b);
// a - b * floor(a / b), with the sign of b as Python's %. Floats: computed exactly and rounded once; by 0, and of an
// infinity, NaN. Integers: by 0 it is 0.
Tensor remainder(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, Number b);
// Floats; special cases as C's pow: x^0 and 1^y are 1 even for NaN, a negative x to a fraction gives NaN. At most 1 ulp.
Tensor pow(const Tensor& x, const Tensor& y);
Tensor pow(const Tensor& x, Number y);
// a * b + c, floats. f32 and f64: rounded once. f16 and bf16: that f32, rounded.
Tensor fma(const Tensor& a, const Tensor& b, const Tensor& c);
// log(exp(a) + exp(b)) without overflow; floats. NaN if either is NaN; of two -inf: -inf.
Tensor logaddexp(const Tensor& a, const Tensor& b);
// Between min and max, NaN if any is NaN; max if min > max (NumPy). Without a bound there is none on that side.
Tensor clip(const Tensor& x, const Tensor& min, const Tensor& max);
Tensor clip(const Tensor& x, std::optional<Number> min, std::optional<Number> max);
Tensor minimum(const Tensor& a, const Tensor& b);  // NaN if either is NaN
Tensor maximum(const Tensor& a, const Tensor& b);  // NaN if either is NaN
Tensor negative(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);        // -1, 0 or 1; zeros and NaN stay
Tensor square(const Tensor& x);
Tensor reciprocal(const Tensor& x);  // 1 / x, floats
// Rounding to integers, kept in the dtype; signs of zeros stay, integers are left as they are.
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor trunc(const Tensor& x);
Tensor round(const Tensor& x);  // halves to even
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);  // 1 / sqrt(x)
Tensor tanh(const Tensor& x);
Tensor erf(const Tensor& x);
// Floats. In f32 at most 1 ulp off, in f64 a few; where the function has no value: NaN, where it has a pole: an infinity.
Tensor exp2(const Tensor& x);
Tensor expm1(const Tensor& x);  // exp(x) - 1
Tensor log1p(const Tensor& x);  // log(1 + x)
Tensor log2(const Tensor& x);
Tensor log10(const Tensor& x);
Tensor sin(const Tensor& x);  // angles in radians, of any size (range reduction after Payne and Hanek, 1983)
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor atan2(const Tensor& y, const Tensor& x);  // the angle of the point (x, y); special cases as C's atan2
Tensor erfinv(const Tensor& x);  // of -1 and 1: infinite; polynomials in -log(1 - x^2) after Giles (2011)
// log |gamma(x)|, by Stirling's series and reflection; +inf at 0, -1, -2, … Near its zeros below 0: 1e-13 absolute.
Tensor lgamma(const Tensor& x);
// Floats, at most 4 ulp off in f32, a few in f64.
Tensor asin(const Tensor& x);
Tensor acos(const Tensor& x);
Tensor atan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor asinh(const Tensor& x);
Tensor acosh(const Tensor& x);
Tensor atanh(const Tensor& x);
Tensor isnan(const Tensor& x);  // these give bool; an integer is finite
Tensor isinf(const Tensor& x);
Tensor isfinite(const Tensor& x);
// NaN replaced by `nan`, infinities by the given numbers or the largest of the dtype. Integers are left as they are.
Tensor nan_to_num(const Tensor& x, double nan = 0, std::optional<double> posinf = {}, std::optional<double> neginf = {});
Tensor equal(const Tensor& a, const Tensor& b);  // comparisons give bool
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor logical_and(const Tensor& a, const Tensor& b);  // bool
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
Tensor bitwise_and(const Tensor& a, const Tensor& b);  // integers
Tensor bitwise_or(const Tensor& a, const Tensor& b);
Tensor bitwise_xor(const Tensor& a, const Tensor& b);
Tensor bitwise_invert(const Tensor& x);                        // integers and bool
Tensor bitwise_left_shift(const Tensor& a, const Tensor& b);   // by the width of the dtype or more: 0
Tensor bitwise_right_shift(const Tensor& a, const Tensor& b);  // arithmetic for signed ones
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);  // condition: bool
// Floats round to nearest (f64 to f16 and bf16 by way of f32); float to integer goes towards zero, saturates, NaN gives
// 0; integer to a narrower one keeps the low bits; to bool: x != 0.
// A quantised tensor casts to a float (dequantised).
Tensor cast(const Tensor& x, DType dtype);

// Activations, computed in f32 (f64 in itself) and rounded once.
Tensor sigmoid(const Tensor& x);
Tensor relu(const Tensor& x);
Tensor silu(const Tensor& x);       // x * sigmoid(x)
Tensor swiglu(const Tensor& gate, const Tensor& up);  // silu(gate) * up (Shazeer, 2020)
Tensor softplus(const Tensor& x);   // log(1 + exp(x))
Tensor leaky_relu(const Tensor& x, double slope = 0.01);  // x, or slope * x below 0
Tensor elu(const Tensor& x, double alpha = 1);            // x, or alpha * (exp(x) - 1) below 0 (Clevert et al., 2015)
Tensor mish(const Tensor& x);       // x * tanh(softplus(x)) (Misra, 2019)
Tensor gelu(const Tensor& x);       // x/2 * (1 + erf(x / sqrt(2)))
Tensor gelu_tanh(const Tensor& x);  // its tanh approximation (Hendrycks and Gimpel, 2016)

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& x);
Tensor operator+(const Tensor& a, Number b);
Tensor operator-(const Tensor& a, Number b);
Tensor operator*(const Tensor& a, Number b);
Tensor operator/(const Tensor& a, Number b);
Tensor operator+(Number a, const Tensor& b);
Tensor operator-(Number a, const Tensor& b);
Tensor operator*(Number a, const Tensor& b);
Tensor operator/(Number a, const Tensor& b);

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
// Of the last two axes: out[.., i] = x[.., i, i + offset], or x[.., i - offset, i] for a negative offset.
Tensor diagonal(const Tensor& x, int64_t offset = 0);
// Parts of the given sizes, which add up to the axis; or parts of one size, of which the last may be shorter.
std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis = 0);
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t axis = 0);
// Coordinate grids of 1-D tensors, each of the shape of all their sizes; `xy` has the first two axes swapped.
enum class MeshIndexing { xy, ij };
std::vector<Tensor> meshgrid(const std::vector<Tensor>& axes, MeshIndexing indexing = MeshIndexing::xy);

Tensor concat(const std::vector<Tensor>& parts, int64_t axis = 0);
// Tensors of one shape along a new axis.
Tensor stack(const std::vector<Tensor>& parts, int64_t axis = 0);
// Each element `repeats` times in a row; without an axis those of the flattened tensor.
Tensor repeat(const Tensor& x, int64_t repeats, std::optional<int64_t> axis = {});
// The whole tensor so often along each axis; the shorter of shape and repetitions is filled up with leading ones.
Tensor tile(const Tensor& x, const std::vector<int64_t>& repetitions);
// Elements move by `shift` and re-enter at the other end; without an axis as if flattened.
Tensor roll(const Tensor& x, int64_t shift, std::optional<int64_t> axis = {});
enum class PadMode {
  constant,  // `value`
  reflect,   // c b | a b c | b a; at most the size of the axis less one
  edge,      // a a | a b c | c c
};
// (before, after) elements more on each axis, named as in NumPy.
Tensor pad(const Tensor& x, const std::vector<std::pair<int64_t, int64_t>>& widths, PadMode mode = PadMode::constant, Number value = 0);
// Of the last two axes: 0 above (tril) or below (triu) the diagonal column = row + k.
Tensor tril(const Tensor& x, int64_t k = 0);
Tensor triu(const Tensor& x, int64_t k = 0);
// indices [..] -> [.., classes]: 1 where the class is the index. An index outside [0, classes) gives zeros.
Tensor one_hot(const Tensor& indices, int64_t classes, DType dtype = DType::i32);
// out[.., i.., ..] = x[.., indices[i..], ..] along `axis` (PyTorch's index_select); indices of any integer dtype. An index
// outside
// [0, size) gives NaN, or 0 for integers and bool. x may be quantised when axis is 0 (its rows are dequantised to f32).
Tensor take(const Tensor& x, const Tensor& indices, int64_t axis = 0);
// out[i.., j, k..] = x[i.., indices[i.., j, k..], k..]: as many axes, those but `axis` broadcast. Indices as in take().
Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis = -1);
// Rows of a table: table [V, C] (also quantised), ids [..] -> [.., C]. take() along axis 0.
Tensor embedding(const Tensor& table, const Tensor& ids);
// `length` elements of `axis` from the run-time position `at` (u32), clamped so that the part lies inside.
Tensor dynamic_slice(const Tensor& x, const Scalar& at, int64_t axis, int64_t length);
// `dst` with `src` written at the run-time position `at` (u32) of `axis`, clamped. Shapes agree but for that axis. In
// place when dst is a State's own value that nobody else holds.
Tensor update(const Tensor& dst, const Tensor& src, const Scalar& at, int64_t axis);

// --------------------------------------------------------------------------------------------------------- reductions
// Over the given axes (all when empty), kept with size 1 if keepdims. f16 and bf16 are summed in f32, rounded once. Sums and
// products of u8 are u32, of i8 i32; those of integers wrap.
Tensor sum(const Tensor& x, std::vector<int64_t> axes = {}, bool keepdims = false);
Tensor prod(const Tensor& x, std::vector<int64_t> axes = {}, bool keepdims = false);  // likewise; of nothing: 1
Tensor trace(const Tensor& x, int64_t offset = 0);  // the sum of diagonal(x, offset)
Tensor mean(const Tensor& x, std::vector<int64_t> axes = {}, bool keepdims = false);  // floats; of nothing: NaN
// Variance and its root, in f32 (f64 in itself), rounded once: the mean squared distance from the mean, over max(count - correction, 0)
// elements (correction 1 for the unbiased estimate); over 0 elements NaN. Floats. (`std` of the array API standard.)
Tensor var(const Tensor& x, std::vector<int64_t> axes = {}, double correction = 0, bool keepdims = false);
Tensor stddev(const Tensor& x, std::vector<int64_t> axes = {}, double correction = 0, bool keepdims = false);
// The vector norm over the axes, in f32 (f64 in itself), rounded once. ord: 2, 1, infinity (largest magnitude), -infinity (smallest),
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

// ---------------------------------------------------------------------------------------- along an axis, to an index
// Running values along an axis; the shape stays, and the dtype, but sums and products of u8 are u32, of i8 i32; a 0-d
// tensor is its own. Numbers. f16 and bf16 are computed in f32 and rounded once; integers wrap. A row longer than 1024 is scanned in blocks, whose totals are scanned and then
// taken in; the values depend on nothing but the shape.
Tensor cumsum(const Tensor& x, int64_t axis = -1);
Tensor cumprod(const Tensor& x, int64_t axis = -1);        // a row is not cut into blocks
Tensor cummax(const Tensor& x, int64_t axis = -1);         // NaN from the first NaN on
Tensor logcumsumexp(const Tensor& x, int64_t axis = -1);   // log of the running sum of exp, without overflow; floats
// Positions (i32) that sort along an axis. Stable, ascending or descending: equal values keep their order in both. NaN is
// the greatest value, -0 equals 0, false is less than true. Any plain dtype; a 0-d tensor gives 0.
Tensor argsort(const Tensor& x, int64_t axis = -1, bool descending = false);
// The values in that order.
Tensor sort(const Tensor& x, int64_t axis = -1, bool descending = false);
// The k first of sort(x, axis, true) and their positions (i32): of equal values the one with the lowest index comes
// first, NaN before all. Error(shape) unless 0 <= k <= the axis's size.
struct TopK {
  Tensor values, indices;
};
TopK topk(const Tensor& x, int64_t k, int64_t axis = -1);
// x with slices of the source at indices of an axis, the counterparts of take(): out[.., index[i], ..] becomes, is added,
// or is the maximum with source[.., i, ..]. index: [n], integers; source: x's dtype, broadcast to x's shape with n in
// place of the axis. An index outside [0, size) (so each negative one) is ignored. Where an index comes again: set takes
// the last one, add sums x and then the contributions in their order, in chunks of 256, max takes the largest; NaN wins.
// f16 and bf16 are combined in f32 and rounded once. set: any plain dtype; add and max: numbers. The same bits with any
// number of threads.
Tensor index_set(const Tensor& x, const Tensor& index, const Tensor& source, int64_t axis = 0);
Tensor index_add(const Tensor& x, const Tensor& index, const Tensor& source, int64_t axis = 0);
Tensor index_max(const Tensor& x, const Tensor& index, const Tensor& source, int64_t axis = 0);
// The same element by element, the counterparts of take_along_axis(): out[i.., index[i.., j, k..], k..] and
// source[i.., j, k..]. The index has x's number of axes and broadcasts to x's shape but for the axis, the source
// broadcasts to the index; the order is the row-major one of the index.
Tensor scatter_set(const Tensor& x, const Tensor& index, const Tensor& source, int64_t axis = -1);
Tensor scatter_add(const Tensor& x, const Tensor& index, const Tensor& source, int64_t axis = -1);
Tensor scatter_max(const Tensor& x, const Tensor& index, const Tensor& source, int64_t axis = -1);

// ------------------------------------------------------------------------------------------------------------- neural
// Over the last axis, in f32 (f64 in itself), rounded once. weight, bias: [C]; bias may be empty.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5);
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps = 1e-6);
// x: [N, C, ..]; statistics over each of `groups` groups of channels with all that follows, in f32 (f64 in itself), rounded
// once. weight and bias: [C], may be empty.
Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

// Losses, in f32 (f64 in itself), rounded once; defaults as in PyTorch. `none` keeps one per row or element.
enum class Reduction { none, mean, sum };
struct CrossEntropyOptions {
  Tensor weight;                               // [V], of each class; may be empty
  std::optional<int64_t> ignore_index = -100;  // targets with a loss of 0 that the mean does not count
  Reduction reduction = Reduction::mean;       // mean: over the sum of the targets' weights; of nothing: NaN
  double label_smoothing = 0;                  // how much of the target is spread evenly over all classes
};
// -log softmax(logits)[target]: logits [.., V], targets [..] integers. A target outside [0, V) that is not ignored
// gives NaN: a device cannot throw.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options = {});
// Of floats of one shape.
Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean);
Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean);
// d^2 / 2 for a distance d up to delta, delta * (d - delta / 2) beyond.
Tensor huber_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean, double delta = 1);
// Of probabilities; logarithms are at least -100.
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean);
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean);
// target * (log(target) - input), input being log-probabilities, the target too with log_target; a target of 0 gives 0.
Tensor kl_div(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::mean, bool log_target = false);
enum class RopePairing {
  interleaved,  // (2i, 2i+1): Llama as stored in GGUF
  half,         // (i, i + D/2): Qwen2, GPT-NeoX
};
// Rotary position embedding (Su et al., 2021). x: [.., T, D], cos and sin: [T, D/2] f32 or f64.
Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, RopePairing pairing);

// ----------------------------------------------------------------------------------------------------------- products
// [.., M, K] x [.., K, N] -> [.., M, N] with NumPy's rules for 1-D operands and batches. Numbers; f16 and bf16
// accumulate in f32 and are rounded once, f64 in itself, integers wrap to their dtype.
Tensor matmul(const Tensor& a, const Tensor& b);
// x: [.., K], weight: [N, K] (plain, or quantised for x of f32, f16 or bf16) -> [.., N]; bias [N] may be empty.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
// The results of several weights [N_i, K] side by side, [.., sum of N_i]; each weight has its own dtype, the result the
// one that they promote to. Up to four quantised weights are one launch.
Tensor linear(const Tensor& x, const std::vector<Tensor>& weights, const Tensor& bias = {});
// Products of all pairs: a [M], b [N] -> [M, N].
Tensor outer(const Tensor& a, const Tensor& b);
// Summed over pairs of axes, or over the last `axes` of a and the first of b; the other axes of a, then those of b.
Tensor tensordot(const Tensor& a, const Tensor& b, int64_t axes = 2);
Tensor tensordot(const Tensor& a, const Tensor& b, const std::vector<int64_t>& a_axes, const std::vector<int64_t>& b_axes);
// Einstein summation, "bij,bjk->bik": letters name axes, "..." stands for the rest, which broadcast from the right. Equal
// letters in one operand take its diagonal; letters that the result lacks are summed. Without "->" the result has the
// axes of "..." and the letters that occur once, sorted. Sizes of 1 broadcast. One matmul per operand after the first,
// from left to right. Numbers; f16 and bf16 are rounded once. Error(invalid_argument) for subscripts that do not fit.
Tensor einsum(const std::string& subscripts, const std::vector<Tensor>& operands);
// Sums over the named axes of x with the first axes of the weight, in order: x's other axes, then the weight's. The
// bias has the shape of the latter and may be empty. Floats; one matmul.
Tensor linear_general(const Tensor& x, const Tensor& weight, const std::vector<int64_t>& axes = {-1}, const Tensor& bias = {});
// Queries, keys and values by one matmul: x [B, T, C], weight [(H + 2G) D, C] (plain or quantised; query heads, then
// key heads, then value heads), bias [(H + 2G) D] or empty -> views q [B, H, T, D], k and v [B, G, T, D].
struct Qkv {
  Tensor q, k, v;
};
Qkv qkv_projection(const Tensor& x, const Tensor& weight, int64_t heads, int64_t kv_heads, const Tensor& bias = {});
// The same from weights of their own, [H D, C], [G D, C] and [G D, C], as linear() takes several; or one of them all.
Qkv qkv_projection(const Tensor& x, const std::vector<Tensor>& weights, int64_t heads, int64_t kv_heads, const Tensor& bias = {});
struct AttentionOptions {
  bool causal = false;                   // a query at position p sees keys s <= p
  std::optional<double> scale = {};      // 1 / sqrt(D) unless given
  std::optional<Scalar> kv_len = {};     // run-time number of valid keys (u32); all S unless given
  std::optional<Scalar> q_start = {};    // run-time position of query 0 (u32, below 2^31); kv_len - T unless given
  int64_t window = 0;   // sliding window: a query at position p sees keys s with p - window < s <= p; 0: none
  double soft_cap = 0;  // scores become cap * tanh(score / cap), as in Gemma 2 (arXiv:2408.00118); 0: none
  Tensor mask = {};     // bool, broadcast to [B, H, T, S]: true where a query may see a key
  Tensor bias = {};     // float, broadcast to [B, H, T, S]: added to the scores after the cap; -inf hides a key
};
// Attention (Vaswani et al., 2017) with grouped heads (Ainslie et al., 2023): q: [B, H, T, D], k: [B, G, S, D],
// v: [B, G, S, D], G divides H; query head h reads key head h / (H/G) in place. Softmax over the keys that a query may
// see of cap(scale * (q . k)) + bias, times the values, in f32 (f64 in itself). -> [B, H, T, D] in q's dtype. A query that may see no
// key gives zeros. Keys and values that a query does not see (by kv_len, causal, window or mask) may hold NaN and
// infinities: they change nothing. Those that a bias of -inf hides must be finite numbers.
// Errors: shape, dtype (q, k, v, bias: floats; mask: bool; scalars: u32), invalid_argument (window, soft_cap).
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
