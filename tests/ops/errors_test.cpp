// The documented errors of each op: the code, and a text that names the op and both operands.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/cat.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

struct Bad {
  const char* what;
  ErrorCode code;
  std::function<Tensor(const Device&)> make;
  std::vector<std::string> names;  // all in the message
};

Tensor f(Shape s, const Device& d) { return zeros(std::move(s), DType::f32, d); }
Tensor h(Shape s, const Device& d) { return zeros(std::move(s), DType::f16, d); }
Tensor i(Shape s, const Device& d) { return zeros(std::move(s), DType::i32, d); }
Tensor u(Shape s, const Device& d) { return zeros(std::move(s), DType::u32, d); }
Tensor b(Shape s, const Device& d) { return zeros(std::move(s), DType::bool_, d); }
Tensor q(Shape s, const Device& d) {
  return Tensor::from_bytes(std::vector<std::byte>(size_t(s[0] * s[1] / 32 * 34)), DType::q8_0, s, d);
}
Scalar at(const Device& d) { return Scalar(uint32_t(0), d); }

const std::vector<Bad>& bad_calls() {
  using C = ErrorCode;
  static const std::vector<Bad> table = {
      // dtypes
      {"float with integer", C::dtype, [](auto& d) { return f({2}, d) + i({2}, d); }, {"add", "f32[2]", "i32[2]", "cast"}},
      {"bool with integer", C::dtype, [](auto& d) { return b({2}, d) * u({2}, d); }, {"multiply", "bool[2]", "u32[2]"}},
      {"bool arithmetic", C::dtype, [](auto& d) { return b({2}, d) - b({2}, d); }, {"subtract", "bool[2]", "logical_and"}},
      {"integer division", C::dtype, [](auto& d) { return i({2}, d) / i({3}, d); }, {"divide", "i32[2]", "i32[3]"}},
      {"minimum of mixed", C::dtype, [](auto& d) { return minimum(f({2}, d), u({1}, d)); }, {"minimum", "f32[2]", "u32[1]"}},
      {"maximum of mixed", C::dtype, [](auto& d) { return maximum(b({2}, d), u({1}, d)); }, {"maximum", "bool[2]", "u32[1]"}},
      {"negative of unsigned", C::dtype, [](auto& d) { return -u({2}, d); }, {"negative", "u32[2]"}},
      {"abs of bool", C::dtype, [](auto& d) { return abs(b({2}, d)); }, {"abs", "bool[2]"}},
      {"square of bool", C::dtype, [](auto& d) { return square(b({2}, d)); }, {"bool[2]"}},
      {"exp of integer", C::dtype, [](auto& d) { return exp(i({2}, d)); }, {"exp", "i32[2]", "cast"}},
      {"log of integer", C::dtype, [](auto& d) { return log(i({2}, d)); }, {"log", "i32[2]"}},
      {"sqrt of bool", C::dtype, [](auto& d) { return sqrt(b({2}, d)); }, {"sqrt", "bool[2]"}},
      {"rsqrt of integer", C::dtype, [](auto& d) { return rsqrt(u({2}, d)); }, {"rsqrt", "u32[2]"}},
      {"tanh of integer", C::dtype, [](auto& d) { return tanh(i({2}, d)); }, {"tanh", "i32[2]"}},
      {"erf of integer", C::dtype, [](auto& d) { return erf(i({2}, d)); }, {"erf", "i32[2]"}},
      {"exp2 of integer", C::dtype, [](auto& d) { return exp2(i({2}, d)); }, {"exp2", "i32[2]"}},
      {"expm1 of integer", C::dtype, [](auto& d) { return expm1(i({2}, d)); }, {"expm1", "i32[2]"}},
      {"log1p of integer", C::dtype, [](auto& d) { return log1p(i({2}, d)); }, {"log1p", "i32[2]"}},
      {"log2 of integer", C::dtype, [](auto& d) { return log2(i({2}, d)); }, {"log2", "i32[2]"}},
      {"log10 of integer", C::dtype, [](auto& d) { return log10(i({2}, d)); }, {"log10", "i32[2]"}},
      {"sin of integer", C::dtype, [](auto& d) { return sin(i({2}, d)); }, {"sin", "i32[2]"}},
      {"cos of integer", C::dtype, [](auto& d) { return cos(i({2}, d)); }, {"cos", "i32[2]"}},
      {"tan of integer", C::dtype, [](auto& d) { return tan(i({2}, d)); }, {"tan", "i32[2]"}},
      {"erfinv of integer", C::dtype, [](auto& d) { return erfinv(i({2}, d)); }, {"erfinv", "i32[2]"}},
      {"lgamma of integer", C::dtype, [](auto& d) { return lgamma(i({2}, d)); }, {"lgamma", "i32[2]"}},
      {"asin of integer", C::dtype, [](auto& d) { return asin(i({2}, d)); }, {"asin", "i32[2]"}},
      {"acos of integer", C::dtype, [](auto& d) { return acos(i({2}, d)); }, {"acos", "i32[2]"}},
      {"atan of integer", C::dtype, [](auto& d) { return atan(i({2}, d)); }, {"atan", "i32[2]"}},
      {"sinh of integer", C::dtype, [](auto& d) { return sinh(i({2}, d)); }, {"sinh", "i32[2]"}},
      {"cosh of integer", C::dtype, [](auto& d) { return cosh(i({2}, d)); }, {"cosh", "i32[2]"}},
      {"asinh of integer", C::dtype, [](auto& d) { return asinh(i({2}, d)); }, {"asinh", "i32[2]"}},
      {"acosh of integer", C::dtype, [](auto& d) { return acosh(i({2}, d)); }, {"acosh", "i32[2]"}},
      {"atanh of integer", C::dtype, [](auto& d) { return atanh(i({2}, d)); }, {"atanh", "i32[2]"}},
      {"reciprocal of integer", C::dtype, [](auto& d) { return reciprocal(i({2}, d)); }, {"reciprocal", "i32[2]"}},
      {"softplus of integer", C::dtype, [](auto& d) { return softplus(i({2}, d)); }, {"softplus", "i32[2]"}},
      {"leaky_relu of integer", C::dtype, [](auto& d) { return leaky_relu(i({2}, d)); }, {"leaky_relu", "i32[2]"}},
      {"elu of integer", C::dtype, [](auto& d) { return elu(i({2}, d)); }, {"elu", "i32[2]"}},
      {"mish of integer", C::dtype, [](auto& d) { return mish(i({2}, d)); }, {"mish", "i32[2]"}},
      {"floor of bool", C::dtype, [](auto& d) { return floor(b({2}, d)); }, {"floor", "bool[2]"}},
      {"ceil of bool", C::dtype, [](auto& d) { return ceil(b({2}, d)); }, {"ceil", "bool[2]"}},
      {"trunc of bool", C::dtype, [](auto& d) { return trunc(b({2}, d)); }, {"trunc", "bool[2]"}},
      {"round of bool", C::dtype, [](auto& d) { return round(b({2}, d)); }, {"round", "bool[2]"}},
      {"sign of bool", C::dtype, [](auto& d) { return sign(b({2}, d)); }, {"sign", "bool[2]"}},
      {"isnan of bool", C::dtype, [](auto& d) { return isnan(b({2}, d)); }, {"isnan", "bool[2]"}},
      {"isinf of bool", C::dtype, [](auto& d) { return isinf(b({2}, d)); }, {"isinf", "bool[2]"}},
      {"isfinite of bool", C::dtype, [](auto& d) { return isfinite(b({2}, d)); }, {"isfinite", "bool[2]"}},
      {"nan_to_num of bool", C::dtype, [](auto& d) { return nan_to_num(b({2}, d)); }, {"nan_to_num", "bool[2]"}},
      {"floor_divide of bools", C::dtype, [](auto& d) { return floor_divide(b({2}, d), b({1}, d)); }, {"floor_divide", "bool[2]", "bool[1]"}},
      {"remainder of mixed", C::dtype, [](auto& d) { return remainder(f({2}, d), i({1}, d)); }, {"remainder", "f32[2]", "i32[1]"}},
      {"pow of integers", C::dtype, [](auto& d) { return pow(i({2}, d), i({1}, d)); }, {"pow", "i32[2]", "i32[1]", "cast"}},
      {"atan2 of integers", C::dtype, [](auto& d) { return atan2(i({2}, d), i({1}, d)); }, {"atan2", "i32[2]", "i32[1]"}},
      {"logaddexp of integers", C::dtype, [](auto& d) { return logaddexp(u({2}, d), u({1}, d)); }, {"logaddexp", "u32[2]", "u32[1]"}},
      {"fma with an integer", C::dtype, [](auto& d) { return fma(f({2}, d), f({1}, d), i({3}, d)); }, {"fma", "f32[2]", "f32[1]", "i32[3]"}},
      {"fma shapes", C::shape, [](auto& d) { return fma(f({2}, d), f({1}, d), f({3}, d)); }, {"fma", "[2]", "f32[3]"}},
      {"clip of bools", C::dtype, [](auto& d) { return clip(b({2}, d), 0, 1); }, {"clip", "bool[2]"}},
      {"clip to a fraction", C::dtype, [](auto& d) { return clip(i({2}, d), 0.25, 1); }, {"0.25", "i32"}},
      {"logical_xor of integers", C::dtype, [](auto& d) { return logical_xor(i({2}, d), i({1}, d)); }, {"logical_xor", "i32[2]"}},
      {"bitwise_invert of a float", C::dtype, [](auto& d) { return bitwise_invert(f({2}, d)); }, {"bitwise_invert", "f32[2]"}},
      {"sigmoid of integer", C::dtype, [](auto& d) { return sigmoid(i({2}, d)); }, {"sigmoid", "i32[2]"}},
      {"silu of integer", C::dtype, [](auto& d) { return silu(i({2}, d)); }, {"silu", "i32[2]"}},
      {"swiglu of integer", C::dtype, [](auto& d) { return swiglu(f({2}, d), i({2}, d)); }, {"swiglu", "f32[2]", "i32[2]"}},
      {"gelu of integer", C::dtype, [](auto& d) { return gelu(i({2}, d)); }, {"gelu", "i32[2]"}},
      {"gelu_tanh of integer", C::dtype, [](auto& d) { return gelu_tanh(i({2}, d)); }, {"gelu_tanh", "i32[2]"}},
      {"less of mixed", C::dtype, [](auto& d) { return less(i({2}, d), f({2}, d)); }, {"less", "i32[2]", "f32[2]"}},
      {"logic on numbers", C::dtype, [](auto& d) { return logical_and(i({2}, d), b({3}, d)); }, {"logical_and", "i32[2]", "bool[3]"}},
      {"logical_or on floats", C::dtype, [](auto& d) { return logical_or(f({2}, d), f({2}, d)); }, {"logical_or", "f32[2]"}},
      {"logical_not of integer", C::dtype, [](auto& d) { return logical_not(i({2}, d)); }, {"logical_not", "i32[2]"}},
      {"bits of floats", C::dtype, [](auto& d) { return bitwise_and(f({2}, d), f({1}, d)); }, {"bitwise_and", "f32[2]", "f32[1]"}},
      {"bits of bools", C::dtype, [](auto& d) { return bitwise_xor(b({2}, d), b({1}, d)); }, {"bitwise_xor", "bool[2]"}},
      {"shift of a float", C::dtype, [](auto& d) { return bitwise_left_shift(f({2}, d), i({1}, d)); }, {"bitwise_left_shift", "f32[2]", "i32[1]"}},
      {"where on a number", C::dtype, [](auto& d) { return where(i({2}, d), f({2}, d), f({3}, d)); }, {"where", "i32[2]", "bool"}},
      {"where of mixed", C::dtype, [](auto& d) { return where(b({2}, d), f({2}, d), i({3}, d)); }, {"where", "f32[2]", "i32[3]"}},
      {"fraction for an integer", C::dtype, [](auto& d) { return i({2}, d) * 0.5; }, {"0.5", "i32"}},
      {"cast to quantised", C::dtype, [](auto& d) { return cast(f({32}, d), DType::q4_0); }, {"cast", "f32[32]", "q4_0"}},
      {"quantised to integer", C::dtype, [](auto& d) { return cast(q({2, 32}, d), DType::i32); }, {"cast", "q8_0[2,32]", "i32"}},
      {"quantised arithmetic", C::dtype, [](auto& d) { return q({2, 32}, d) + f({32}, d); }, {"add", "q8_0[2,32]", "f32[32]", "cast"}},
      {"quantised view", C::dtype, [](auto& d) { return transpose(q({2, 32}, d)); }, {"q8_0[2,32]", "cast"}},
      {"full of quantised", C::dtype, [](auto& d) { return full({32}, 1, DType::q8_0, d); }, {"full", "q8_0"}},
      {"arange of f16", C::dtype, [](auto& d) { return arange(0, 3, 1, DType::f16, d); }, {"arange", "f16", "cast"}},
      {"concat of mixed", C::dtype, [](auto& d) { return concat({f({2}, d), i({3}, d)}); }, {"concat", "f32[2]", "i32[3]"}},
      {"float indices", C::dtype, [](auto& d) { return take(f({2}, d), f({3}, d)); }, {"take", "f32[2]", "f32[3]", "integers"}},
      {"float ids", C::dtype, [](auto& d) { return embedding(f({2, 3}, d), f({3}, d)); }, {"embedding", "f32[2,3]", "f32[3]"}},
      {"float position", C::dtype, [](auto& d) { return dynamic_slice(f({2}, d), Scalar(1.0f, d), 0, 1); }, {"dynamic_slice", "f32[2]", "u32"}},
      {"update of another dtype", C::dtype, [](auto& d) { return update(f({2}, d), h({1}, d), at(d), 0); }, {"update", "f32[2]", "f16[1]"}},
      {"sum of bools", C::dtype, [](auto& d) { return sum(b({2}, d)); }, {"sum", "bool[2]", "cast"}},
      {"mean of integers", C::dtype, [](auto& d) { return mean(i({2}, d)); }, {"mean", "i32[2]"}},
      {"max of bools", C::dtype, [](auto& d) { return max(b({2}, d)); }, {"max", "bool[2]"}},
      {"prod of bools", C::dtype, [](auto& d) { return prod(b({2}, d)); }, {"prod", "bool[2]", "cast"}},
      {"min of bools", C::dtype, [](auto& d) { return min(b({2}, d)); }, {"min", "bool[2]"}},
      {"argmin of bools", C::dtype, [](auto& d) { return argmin(b({2}, d)); }, {"argmin", "bool[2]"}},
      {"var of integers", C::dtype, [](auto& d) { return var(i({2}, d)); }, {"var", "i32[2]", "cast"}},
      {"stddev of integers", C::dtype, [](auto& d) { return stddev(u({2}, d)); }, {"stddev", "u32[2]"}},
      {"vector_norm of integers", C::dtype, [](auto& d) { return vector_norm(i({2}, d)); }, {"vector_norm", "i32[2]"}},
      {"any of quantised", C::dtype, [](auto& d) { return any(q({2, 32}, d)); }, {"any", "q8_0[2,32]", "cast"}},
      {"all of quantised", C::dtype, [](auto& d) { return all(q({2, 32}, d)); }, {"all", "q8_0[2,32]", "cast"}},
      {"argmax of bools", C::dtype, [](auto& d) { return argmax(b({2}, d)); }, {"argmax", "bool[2]"}},
      {"softmax of integers", C::dtype, [](auto& d) { return softmax(i({2}, d)); }, {"softmax", "i32[2]"}},
      {"log_softmax of integers", C::dtype, [](auto& d) { return log_softmax(i({2}, d)); }, {"log_softmax", "i32[2]"}},
      {"logsumexp of integers", C::dtype, [](auto& d) { return logsumexp(i({2}, d)); }, {"logsumexp", "i32[2]"}},
      {"norm of integers", C::dtype, [](auto& d) { return rms_norm(i({2}, d), f({2}, d)); }, {"rms_norm", "i32[2]"}},
      {"integer weight", C::dtype, [](auto& d) { return layer_norm(f({2}, d), i({2}, d), {}); }, {"layer_norm", "i32[2]"}},
      {"float targets", C::dtype, [](auto& d) { return cross_entropy(f({2, 3}, d), f({2}, d)); }, {"cross_entropy", "f32[2,3]", "f32[2]"}},
      {"f16 tables", C::dtype, [](auto& d) { return rope(f({2, 4}, d), h({2, 2}, d), h({2, 2}, d), RopePairing::half); }, {"rope", "f16[2,2]"}},
      {"matmul of bools", C::dtype, [](auto& d) { return matmul(b({2, 3}, d), b({3, 2}, d)); }, {"matmul", "bool[2,3]", "bool[3,2]"}},
      {"linear of mixed", C::dtype, [](auto& d) { return linear(i({2, 3}, d), f({3, 3}, d)); }, {"linear", "i32[2,3]"}},
      {"attention of integers", C::dtype, [](auto& d) { return attention(f({1, 1, 1, 4}, d), i({1, 1, 1, 4}, d), f({1, 1, 1, 4}, d)); }, {"attention", "i32[1,1,1,4]"}},
      {"sample of f16", C::dtype, [](auto& d) { return sample(h({1, 4}, d), SampleSettings(d)); }, {"sample", "f16[1,4]"}},
      {"eye of quantised", C::dtype, [](auto& d) { return eye(3, 3, 0, DType::q8_0, d); }, {"q8_0"}},
      {"linspace of integers", C::dtype, [](auto& d) { return linspace(0, 1, 3, DType::i32, d); }, {"linspace", "i32", "cast"}},
      {"stack of mixed", C::dtype, [](auto& d) { return stack({f({2}, d), i({2}, d)}); }, {"stack", "f32[2]", "i32[2]"}},
      {"pad value", C::dtype, [](auto& d) { return pad(i({2}, d), {{1, 1}}, PadMode::constant, 0.5); }, {"0.5", "i32"}},
      {"tril of quantised", C::dtype, [](auto& d) { return tril(q({2, 32}, d)); }, {"tril", "q8_0[2,32]"}},
      {"one_hot of floats", C::dtype, [](auto& d) { return one_hot(f({2}, d), 3); }, {"one_hot", "f32[2]"}},
      {"float indices along", C::dtype, [](auto& d) { return take_along_axis(f({2}, d), f({2}, d)); }, {"take_along_axis", "f32[2]", "integers"}},
      {"group_norm of integers", C::dtype, [](auto& d) { return group_norm(i({2, 4}, d), 2); }, {"group_norm", "i32[2,4]"}},
      {"loss of integers", C::dtype, [](auto& d) { return mse_loss(i({2}, d), i({2}, d)); }, {"mse_loss", "i32[2]"}},
      {"l1 of mixed", C::dtype, [](auto& d) { return l1_loss(f({2}, d), i({2}, d)); }, {"l1_loss", "f32[2]", "i32[2]"}},
      {"einsum of bools", C::dtype, [](auto& d) { return einsum("i->", {b({2}, d)}); }, {"einsum", "bool[2]"}},
      {"einsum of mixed", C::dtype, [](auto& d) { return einsum("i,i->", {f({2}, d), i({2}, d)}); }, {"einsum", "f32[2]", "i32[2]"}},
      {"outer of bools", C::dtype, [](auto& d) { return outer(b({2}, d), b({3}, d)); }, {"outer", "bool[2"}},
      {"tensordot of mixed", C::dtype, [](auto& d) { return tensordot(f({2}, d), u({2}, d), 1); }, {"tensordot", "f32[2]", "u32[2]"}},
      {"linear_general of integers", C::dtype, [](auto& d) { return linear_general(i({2}, d), f({2}, d)); }, {"linear_general", "i32[2]"}},
      {"qkv of integers", C::dtype, [](auto& d) { return qkv_projection(i({1, 2, 4}, d), f({12, 4}, d), 1, 1).q; }, {"i32[1,2,4]"}},
      {"cumsum of bool", C::dtype, [](auto& d) { return cumsum(b({2}, d)); }, {"cumsum", "bool[2]", "cast"}},
      {"cumprod of bool", C::dtype, [](auto& d) { return cumprod(b({2}, d)); }, {"cumprod", "bool[2]"}},
      {"cummax of quantised", C::dtype, [](auto& d) { return cummax(q({2, 32}, d)); }, {"cummax", "q8_0[2,32]"}},
      {"logcumsumexp of integer", C::dtype, [](auto& d) { return logcumsumexp(i({2}, d)); }, {"logcumsumexp", "i32[2]"}},
      {"argsort of quantised", C::dtype, [](auto& d) { return argsort(q({2, 32}, d)); }, {"argsort", "q8_0[2,32]"}},
      {"sort of quantised", C::dtype, [](auto& d) { return sort(q({2, 32}, d)); }, {"sort", "q8_0[2,32]"}},
      {"topk of quantised", C::dtype, [](auto& d) { return topk(q({2, 32}, d), 1).values; }, {"topk", "q8_0[2,32]"}},
      {"float indices to set", C::dtype, [](auto& d) { return index_set(f({2}, d), f({3}, d), f({3}, d)); }, {"index_set", "f32[2]", "f32[3]", "integers"}},
      {"source of another dtype", C::dtype, [](auto& d) { return index_add(f({2}, d), i({3}, d), h({3}, d)); }, {"index_add", "f32[2]", "f16[3]", "must be f32"}},
      {"index_max of bool", C::dtype, [](auto& d) { return index_max(b({2}, d), i({3}, d), b({3}, d)); }, {"index_max", "bool[2]"}},
      {"float indices along to set", C::dtype, [](auto& d) { return scatter_set(f({2}, d), f({3}, d), f({3}, d)); }, {"scatter_set", "f32[2]", "integers"}},
      {"scatter into quantised", C::dtype, [](auto& d) { return scatter_add(q({2, 32}, d), i({2, 1}, d), f({2, 1}, d)); }, {"scatter_add", "q8_0[2,32]"}},
      {"scatter_max of bool", C::dtype, [](auto& d) { return scatter_max(b({2}, d), u({3}, d), b({3}, d)); }, {"scatter_max", "bool[2]"}},
      // shapes
      {"cumsum axis", C::shape, [](auto& d) { return cumsum(f({2, 3}, d), 2); }, {"cumsum", "2", "f32[2,3]", "-2 to 1"}},
      {"cumsum axis of 0-d", C::shape, [](auto& d) { return cumsum(f({}, d), 1); }, {"cumsum", "1"}},
      {"argsort axis", C::shape, [](auto& d) { return argsort(f({2, 3}, d), -3); }, {"argsort", "-3", "f32[2,3]"}},
      {"sort axis", C::shape, [](auto& d) { return sort(f({2, 3}, d), 2); }, {"sort", "2"}},
      {"topk axis", C::shape, [](auto& d) { return topk(f({2, 3}, d), 1, 2).values; }, {"topk", "2", "f32[2,3]"}},
      {"topk of 0-d", C::shape, [](auto& d) { return topk(f({}, d), 1).values; }, {"topk", "f32[]", "0-d"}},
      {"topk of too many", C::shape, [](auto& d) { return topk(f({2, 3}, d), 4).indices; }, {"topk", "f32[2,3]", "k = 4", "axis 1", "3"}},
      {"topk of a negative number", C::shape, [](auto& d) { return topk(f({2, 3}, d), -1).indices; }, {"topk", "k = -1"}},
      {"index_set axis", C::shape, [](auto& d) { return index_set(f({2}, d), i({1}, d), f({1}, d), 1); }, {"index_set", "1"}},
      {"index of two axes", C::shape, [](auto& d) { return index_add(f({2}, d), i({1, 1}, d), f({1}, d)); }, {"index_add", "i32[1,1]", "one axis"}},
      {"source of other slices", C::shape, [](auto& d) { return index_max(f({2, 3}, d), i({4}, d), f({4, 2}, d)); }, {"index_max", "f32[4,2]", "[4,3]"}},
      {"source with too many axes", C::shape, [](auto& d) { return index_set(f({3}, d), i({4}, d), f({1, 4}, d)); }, {"index_set", "f32[1,4]", "[4]"}},
      {"scatter axis", C::shape, [](auto& d) { return scatter_add(f({2}, d), i({1}, d), f({1}, d), 1); }, {"scatter_add", "1", "f32[2]"}},
      {"scatter ranks", C::shape, [](auto& d) { return scatter_set(f({2, 3}, d), i({2}, d), f({2}, d)); }, {"scatter_set", "f32[2,3]", "i32[2]"}},
      {"scatter sizes", C::shape, [](auto& d) { return scatter_max(f({2, 3}, d), i({4, 1}, d), f({4, 1}, d)); }, {"scatter_max", "2", "4", "axis 0"}},
      {"scatter source", C::shape, [](auto& d) { return scatter_add(f({2, 3}, d), i({2, 4}, d), f({2, 3}, d)); }, {"scatter_add", "f32[2,3]", "[2,4]"}},
      {"stack shapes", C::shape, [](auto& d) { return stack({f({2}, d), f({3}, d)}); }, {"stack", "f32[2]", "f32[3]", "axis 0"}},
      {"stack of nothing", C::invalid_argument, [](auto&) { return stack({}); }, {"stack"}},
      {"split sizes", C::shape, [](auto& d) { return split(f({5}, d), {2, 2})[0]; }, {"split", "f32[5]", "4"}},
      {"split into zeros", C::invalid_argument, [](auto& d) { return split(f({5}, d), 0)[0]; }, {"split", "0"}},
      {"pad widths", C::shape, [](auto& d) { return pad(f({5, 2}, d), {{1, 1}}); }, {"pad", "f32[5,2]", "2"}},
      {"pad negative", C::invalid_argument, [](auto& d) { return pad(f({5}, d), {{-1, 1}}); }, {"pad", "-1"}},
      {"reflect too far", C::shape, [](auto& d) { return pad(f({5}, d), {{5, 0}}, PadMode::reflect); }, {"pad", "5", "4"}},
      {"edge of nothing", C::shape, [](auto& d) { return pad(f({0}, d), {{1, 0}}, PadMode::edge); }, {"pad", "f32[0]"}},
      {"repeat negative", C::invalid_argument, [](auto& d) { return repeat(f({5}, d), -1); }, {"repeat", "-1"}},
      {"tile negative", C::invalid_argument, [](auto& d) { return tile(f({5}, d), {-2}); }, {"tile", "-2"}},
      {"roll axis", C::shape, [](auto& d) { return roll(f({5}, d), 1, 1); }, {"roll", "1", "f32[5]"}},
      {"meshgrid of a matrix", C::shape, [](auto& d) { return meshgrid({f({2, 2}, d)})[0]; }, {"meshgrid", "f32[2,2]"}},
      {"diagonal of a vector", C::shape, [](auto& d) { return diagonal(f({2}, d)); }, {"diagonal", "f32[2]"}},
      {"trace of a vector", C::shape, [](auto& d) { return trace(f({2}, d)); }, {"trace", "f32[2]"}},
      {"triu of a vector", C::shape, [](auto& d) { return triu(f({2}, d)); }, {"triu", "f32[2]"}},
      {"one_hot classes", C::invalid_argument, [](auto& d) { return one_hot(i({2}, d), -1); }, {"one_hot", "-1"}},
      {"linspace count", C::invalid_argument, [](auto& d) { return linspace(0, 1, -1, DType::f32, d); }, {"linspace", "-1"}},
      {"linspace end", C::invalid_argument, [](auto& d) { return linspace(0, INFINITY, 3, DType::f32, d); }, {"linspace", "inf"}},
      {"along ranks", C::shape, [](auto& d) { return take_along_axis(f({2, 3}, d), i({2}, d)); }, {"take_along_axis", "f32[2,3]", "i32[2]"}},
      {"along sizes", C::shape, [](auto& d) { return take_along_axis(f({2, 3}, d), i({4, 1}, d)); }, {"take_along_axis", "2", "4", "axis 0"}},
      {"groups", C::shape, [](auto& d) { return group_norm(f({2, 4}, d), 3); }, {"group_norm", "f32[2,4]", "3"}},
      {"group weight", C::shape, [](auto& d) { return group_norm(f({2, 4}, d), 2, f({2}, d)); }, {"group_norm", "f32[2]", "here [4]"}},
      {"loss shapes", C::shape, [](auto& d) { return huber_loss(f({2, 4}, d), f({4}, d)); }, {"huber_loss", "f32[2,4]", "f32[4]", "ranks 2 and 1"}},
      {"huber delta", C::invalid_argument, [](auto& d) { return huber_loss(f({2}, d), f({2}, d), Reduction::mean, 0); }, {"huber_loss", "delta", "0"}},
      {"bce shapes", C::shape, [](auto& d) { return binary_cross_entropy(f({2}, d), f({4}, d)); }, {"binary_cross_entropy", "f32[4]", "axis 0"}},
      {"bce logits shapes", C::shape, [](auto& d) { return binary_cross_entropy_with_logits(f({2}, d), f({4}, d)); }, {"binary_cross_entropy_with_logits", "f32[4]"}},
      {"kl shapes", C::shape, [](auto& d) { return kl_div(f({2}, d), f({4}, d)); }, {"kl_div", "f32[4]"}},
      {"class weights", C::shape, [](auto& d) { CrossEntropyOptions o; o.weight = f({2}, d); return cross_entropy(f({2, 3}, d), i({2}, d), o); }, {"cross_entropy", "f32[2]", "[3]"}},
      {"smoothing", C::invalid_argument, [](auto& d) { CrossEntropyOptions o; o.label_smoothing = 1.5; return cross_entropy(f({2, 3}, d), i({2}, d), o); }, {"cross_entropy", "1.5"}},
      {"outer of matrices", C::shape, [](auto& d) { return outer(f({2, 2}, d), f({2}, d)); }, {"outer", "f32[2,2]"}},
      {"tensordot sizes", C::shape, [](auto& d) { return tensordot(f({2, 3}, d), f({4, 3}, d), {0}, {0}); }, {"tensordot", "2", "4"}},
      {"tensordot count", C::shape, [](auto& d) { return tensordot(f({2}, d), f({2}, d)); }, {"tensordot", "2"}},
      {"tensordot twice", C::shape, [](auto& d) { return tensordot(f({2, 2}, d), f({2, 2}, d), {0, 0}, {0, 1}); }, {"tensordot", "twice"}},
      {"einsum count", C::invalid_argument, [](auto& d) { return einsum("ij,jk", {f({2, 2}, d)}); }, {"einsum", "ij,jk", "2", "1"}},
      {"einsum character", C::invalid_argument, [](auto& d) { return einsum("i1", {f({2, 2}, d)}); }, {"einsum", "'1'"}},
      {"einsum dots", C::invalid_argument, [](auto& d) { return einsum("..i", {f({2, 2}, d)}); }, {"einsum", "dot"}},
      {"einsum rank", C::invalid_argument, [](auto& d) { return einsum("ijk", {f({2, 2}, d)}); }, {"einsum", "operand 0", "[2,2]", "3"}},
      {"einsum sizes", C::invalid_argument, [](auto& d) { return einsum("ij,jk", {f({2, 3}, d), f({4, 5}, d)}); }, {"einsum", "'j'", "3", "4"}},
      {"einsum diagonal", C::invalid_argument, [](auto& d) { return einsum("ii", {f({2, 3}, d)}); }, {"einsum", "'i'", "2", "3"}},
      {"einsum result", C::invalid_argument, [](auto& d) { return einsum("i->k", {f({2}, d)}); }, {"einsum", "'k'"}},
      {"einsum result twice", C::invalid_argument, [](auto& d) { return einsum("i->ii", {f({2}, d)}); }, {"einsum", "'i'", "twice"}},
      {"einsum no operands", C::invalid_argument, [](auto&) { return einsum("", {}); }, {"einsum"}},
      {"linear_general sizes", C::shape, [](auto& d) { return linear_general(f({2, 3}, d), f({4, 5}, d)); }, {"linear_general", "3", "4"}},
      {"linear_general bias", C::shape, [](auto& d) { return linear_general(f({2, 3}, d), f({3, 5}, d), {-1}, f({3}, d)); }, {"linear_general", "[5]"}},
      {"linear_general axes", C::shape, [](auto& d) { return linear_general(f({2, 3}, d), f({3, 5}, d), {}); }, {"linear_general", "at least one"}},
      {"qkv heads", C::shape, [](auto& d) { return qkv_projection(f({1, 2, 4}, d), f({13, 4}, d), 1, 1).q; }, {"qkv_projection", "f32[13,4]", "3 * D"}},
      {"qkv no heads", C::invalid_argument, [](auto& d) { return qkv_projection(f({1, 2, 4}, d), f({12, 4}, d), 0, 1).q; }, {"qkv_projection", "0"}},
      {"no broadcast", C::shape, [](auto& d) { return f({2, 3}, d) + f({2, 4}, d); }, {"add", "f32[2,3]", "f32[2,4]", "3", "4"}},
      {"where shapes", C::shape, [](auto& d) { return where(b({2}, d), f({3}, d), f({3}, d)); }, {"where", "[2]", "[3]"}},
      {"reshape count", C::shape, [](auto& d) { return reshape(f({2, 3}, d), {4, 2}); }, {"reshape", "f32[2,3]", "[4,2]", "6", "8"}},
      {"reshape two open", C::shape, [](auto& d) { return reshape(f({2, 3}, d), {-1, -1}); }, {"reshape", "-1"}},
      {"reshape open of nothing", C::shape, [](auto& d) { return reshape(f({0, 3}, d), {0, -1}); }, {"reshape", "[0,-1]"}},
      {"permute axes", C::shape, [](auto& d) { return permute(f({2, 3}, d), {0, 0}); }, {"permute", "f32[2,3]"}},
      {"permute count", C::shape, [](auto& d) { return permute(f({2, 3}, d), {0}); }, {"permute", "f32[2,3]"}},
      {"transpose of a vector", C::shape, [](auto& d) { return transpose(f({2}, d)); }, {"transpose"}},
      {"expand beyond", C::shape, [](auto& d) { return expand_dims(f({2}, d), 3); }, {"expand_dims", "3", "f32[2]", "-2 to 1"}},
      {"squeeze of 2", C::shape, [](auto& d) { return squeeze(f({2, 3}, d), 0); }, {"squeeze", "f32[2,3]", "2"}},
      {"broadcast_to", C::shape, [](auto& d) { return broadcast_to(f({2, 3}, d), {3, 3}); }, {"broadcast_to", "f32[2,3]", "[3,3]", "sizes 2 and 3 of axis -2"}},
      {"flip axis", C::shape, [](auto& d) { return flip(f({2}, d), 1); }, {"flip", "1", "f32[2]"}},
      {"slice axis", C::shape, [](auto& d) { return slice(f({2}, d), -2, 0, 1); }, {"slice", "-2"}},
      {"slice step", C::invalid_argument, [](auto& d) { return slice(f({2}, d), 0, 0, 1, 0); }, {"slice", "step"}},
      {"concat of nothing", C::invalid_argument, [](auto&) { return concat({}); }, {"concat"}},
      {"concat shapes", C::shape, [](auto& d) { return concat({f({2, 3}, d), f({2, 4}, d)}); }, {"concat", "f32[2,3]", "f32[2,4]", "axis 1"}},
      {"concat 0-d", C::shape, [](auto& d) { return concat({f({}, d)}); }, {"concat", "f32[]"}},
      {"take axis", C::shape, [](auto& d) { return take(f({2}, d), i({1}, d), 1); }, {"take", "1", "f32[2]"}},
      {"table rank", C::shape, [](auto& d) { return embedding(f({2}, d), i({1}, d)); }, {"embedding", "f32[2]", "[V, C]"}},
      {"quantised columns", C::shape, [](auto& d) { return take(q({2, 32}, d), i({1}, d), 1); }, {"take", "q8_0[2,32]", "axis 0"}},
      {"dynamic length", C::shape, [](auto& d) { return dynamic_slice(f({2}, d), at(d), 0, 3); }, {"dynamic_slice", "3", "f32[2]"}},
      {"update too long", C::shape, [](auto& d) { return update(f({2}, d), f({3}, d), at(d), 0); }, {"update", "f32[2]", "f32[3]", "axis 0", "has 3"}},
      {"axis named twice", C::shape, [](auto& d) { return sum(f({2, 3}, d), {1, -1}); }, {"sum", "f32[2,3]", "twice", "axis 1"}},
      {"sum axis", C::shape, [](auto& d) { return sum(f({2, 3}, d), {2}); }, {"sum", "2", "f32[2,3]", "-2 to 1"}},
      {"max of nothing", C::shape, [](auto& d) { return max(f({0, 2}, d), {0}); }, {"max", "f32[0,2]"}},
      {"min of nothing", C::shape, [](auto& d) { return min(f({0, 2}, d), {0}); }, {"min", "f32[0,2]"}},
      {"argmin of nothing", C::shape, [](auto& d) { return argmin(f({2, 0}, d)); }, {"argmin", "f32[2,0]"}},
      {"vector_norm of nothing", C::shape, [](auto& d) { return vector_norm(f({0}, d), {}, false, -INFINITY); }, {"vector_norm", "f32[0]"}},
      {"vector_norm of another order", C::invalid_argument, [](auto& d) { return vector_norm(f({2}, d), {}, false, 3); }, {"vector_norm", "3", "infinity"}},
      {"var correction", C::invalid_argument, [](auto& d) { return var(f({2}, d), {}, NAN); }, {"var", "correction"}},
      {"any axis", C::shape, [](auto& d) { return any(f({2}, d), {1}); }, {"any", "1"}},
      {"all axis twice", C::shape, [](auto& d) { return all(f({2, 2}, d), {1, 1}); }, {"all", "twice"}},
      {"prod axis", C::shape, [](auto& d) { return prod(f({2}, d), {-2}); }, {"prod", "-2"}},
      {"argmax of nothing", C::shape, [](auto& d) { return argmax(f({2, 0}, d)); }, {"argmax", "f32[2,0]"}},
      {"softmax axis", C::shape, [](auto& d) { return softmax(f({2}, d), 1); }, {"softmax", "1", "f32[2]", "-1 to 0"}},
      {"norm weight", C::shape, [](auto& d) { return rms_norm(f({2, 3}, d), f({2}, d)); }, {"rms_norm", "f32[2,3]", "f32[2]", "here [3]"}},
      {"norm bias", C::shape, [](auto& d) { return layer_norm(f({2, 3}, d), f({3}, d), f({1}, d)); }, {"layer_norm", "f32[2,3]", "f32[1]"}},
      {"targets shape", C::shape, [](auto& d) { return cross_entropy(f({2, 3}, d), i({3}, d)); }, {"cross_entropy", "f32[2,3]", "i32[3]", "must be [2]"}},
      {"rope odd", C::shape, [](auto& d) { return rope(f({2, 3}, d), f({2, 1}, d), f({2, 1}, d), RopePairing::half); }, {"rope", "f32[2,3]", "f32[2,1]"}},
      {"rope tables", C::shape, [](auto& d) { return rope(f({2, 4}, d), f({3, 2}, d), f({3, 2}, d), RopePairing::half); }, {"rope", "f32[2,4]", "f32[3,2]", "[2,2]"}},
      {"matmul inner", C::shape, [](auto& d) { return matmul(f({2, 3}, d), f({4, 5}, d)); }, {"matmul", "f32[2,3]", "f32[4,5]"}},
      {"matmul batches", C::shape, [](auto& d) { return matmul(f({2, 1, 3}, d), f({3, 3, 5}, d)); }, {"matmul", "[2", "[3", "f32[2,1,3]", "f32[3,3,5]", "sizes 2 and 3 of axis -3"}},
      {"matmul of more batches", C::shape, [](auto& d) { return matmul(f({2, 4, 3}, d), f({5, 3, 3, 6}, d)); }, {"matmul", "f32[2,4,3]", "f32[5,3,3,6]", "sizes 2 and 3 of axis -3"}},
      {"matmul 0-d", C::shape, [](auto& d) { return matmul(f({}, d), f({2}, d)); }, {"matmul", "f32[]", "f32[2]"}},
      {"linear inner", C::shape, [](auto& d) { return linear(f({2, 3}, d), f({5, 4}, d)); }, {"linear", "f32[2,3]", "f32[5,4]", "3 and 4"}},
      {"linear of several, bias", C::shape, [](auto& d) { return linear(f({2, 3}, d), {f({5, 3}, d), f({1, 3}, d)}, f({5}, d)); }, {"linear", "f32[5]", "[6]"}},
      {"linear of several, inner", C::shape, [](auto& d) { return linear(f({2, 3}, d), {f({5, 3}, d), f({1, 4}, d)}); }, {"linear", "f32[1,4]"}},
      {"linear of none", C::invalid_argument, [](auto& d) { return linear(f({2, 3}, d), std::vector<Tensor>()); }, {"linear", "no weights"}},
      {"qkv of two weights", C::invalid_argument, [](auto& d) { return qkv_projection(f({1, 2, 4}, d), {f({4, 4}, d), f({4, 4}, d)}, 1, 1).q; }, {"qkv_projection", "2 weights"}},
      {"qkv head sizes", C::shape, [](auto& d) { return qkv_projection(f({1, 2, 4}, d), {f({4, 4}, d), f({4, 4}, d), f({5, 4}, d)}, 1, 1).q; }, {"qkv_projection", "f32[5,4]"}},
      {"linear bias", C::shape, [](auto& d) { return linear(f({2, 3}, d), f({5, 3}, d), f({3}, d)); }, {"linear", "f32[5,3]", "f32[3]"}},
      {"attention rank", C::shape, [](auto& d) { return attention(f({1, 2, 3}, d), f({1, 1, 2, 3}, d), f({1, 1, 2, 3}, d)); }, {"attention", "f32[1,2,3]", "f32[1,1,2,3]"}},
      {"attention heads (K5)", C::shape, [](auto& d) { return attention(f({1, 3, 1, 4}, d), f({1, 2, 1, 4}, d), f({1, 2, 1, 4}, d)); }, {"attention", "2", "3"}},
      {"attention no heads (K5)", C::shape, [](auto& d) { return attention(f({1, 3, 1, 4}, d), f({1, 0, 1, 4}, d), f({1, 0, 1, 4}, d)); }, {"attention", "0"}},
      {"sample rank", C::shape, [](auto& d) { return sample(f({4}, d), SampleSettings(d)); }, {"sample", "f32[4]"}},
      {"sample of nothing", C::shape, [](auto& d) { return sample(f({1, 0}, d), SampleSettings(d)); }, {"sample", "f32[1,0]"}},
      {"arange step", C::invalid_argument, [](auto& d) { return arange(0, 3, 0, DType::i32, d); }, {"arange", "step"}},
      {"too large", C::invalid_argument, [](auto& d) { return f({int64_t(1) << 40, int64_t(1) << 40}, d); }, {"64 bits"}},
      {"negative size", C::shape, [](auto& d) { return f({-3}, d); }, {"-3"}},
      {"empty tensor", C::invalid_argument, [](auto& d) { return f({2}, d) + Tensor(); }, {"empty Tensor"}},
      // devices
      {"two devices", C::device, [](auto& d) { return f({2}, d) + zeros({2}, DType::f32, Device::open("null:roomy")); }, {"null:roomy", "add", "f32[2]"}},
      {"two devices in take", C::device, [](auto& d) { return take(f({2}, d), zeros({1}, DType::i32, Device::open("null:roomy"))); }, {"null:roomy", "take", "i32[1]"}},
      {"two devices in where", C::device, [](auto& d) { return where(b({2}, d), f({3}, d), zeros({2}, DType::f32, Device::open("null:roomy"))); }, {"null:roomy", "where", "f32[3]"}},
      {"two devices in attention", C::device, [](auto& d) { return attention(f({1, 1, 1, 4}, d), f({1, 1, 1, 4}, d), zeros({1, 1, 1, 4}, DType::f32, Device::open("null:roomy"))); }, {"null:roomy", "attention", "f32[1,1,1,4]"}},
      {"two devices in matmul", C::device, [](auto& d) { return matmul(f({2, 2}, d), zeros({2, 2}, DType::f32, Device::open("null:roomy"))); }, {"null:roomy", "matmul", "f32[2,2]"}},
  };
  return table;
}

TEST(OpErrors, CodeAndText) {
  for (const char* name : {"host", "cpu"}) {
    const Device d = Device::open(name);
    for (const Bad& bad : bad_calls()) {
      try {
        bad.make(d);
        ADD_FAILURE() << bad.what << ": no error";
      } catch (const Error& e) {
        EXPECT_EQ(to_string(e.code()), std::string(to_string(bad.code))) << bad.what << ": " << e.what();
        for (const std::string& n : bad.names)
          EXPECT_NE(std::string(e.what()).find(n), std::string::npos) << bad.what << ": no '" << n << "' in: " << e.what();
      }
    }
  }
}

TEST(OpErrors, ContextNamesOpDtypesShapesAndDevice) {
  const Device d = Device::open("cpu");
  try {
    f({2, 3}, d) + i({4}, d);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.context().op, "add");
    EXPECT_EQ(e.context().dtypes, "f32, i32");
    EXPECT_EQ(e.context().shapes, "[2,3], [4]");
    EXPECT_EQ(e.context().device, "cpu");
  }
}

TEST(OpErrors, ReadingWithTheWrongType) {
  const Device d = Device::open("cpu");
  EXPECT_THROW(f({2}, d).to_vector<int32_t>(), Error);
  EXPECT_THROW(i({2}, d).to_vector<float>(), Error);
  EXPECT_THROW(f({2}, d).item<float>(), Error);
  EXPECT_THROW(Tensor::from<float>({1, 2, 3}, {2}, d), Error);
  EXPECT_THROW(Tensor().shape(), Error);
}

TEST(OpErrors, MixedFloatsPromote) {
  const Device d = Device::open("cpu");
  EXPECT_EQ((f({1}, d) + h({1}, d)).dtype(), DType::f32);
  EXPECT_EQ((h({1}, d) + zeros({1}, DType::bf16, d)).dtype(), DType::f32);
  EXPECT_EQ((h({1}, d) * 3.0).dtype(), DType::f16);
  EXPECT_EQ((i({1}, d) + 2).dtype(), DType::i32);
  EXPECT_EQ(concat({h({1}, d), f({1}, d)}).dtype(), DType::f32);
  EXPECT_EQ(matmul(h({1, 2}, d), f({2, 1}, d)).dtype(), DType::f32);
}

}  // namespace
}  // namespace tenon
