// How each step of a random graph is made; included once, by random_graphs_test.cpp.
#pragma once
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>

#include "base/cat.h"
#include "core/half.h"
#include "core/shape.h"
#include "graph/random_graph.h"

namespace tenon::testing_graphs {

// p: {seed, special}. Small values of both signs; every 9th is special when asked for.
inline Tensor leaf_tensor(const Step& s, const Device& device) {
  Dice dice(uint64_t(s.p[0]) * 7919 + 17);
  const bool special = s.p[1] != 0;
  constexpr float inf = std::numeric_limits<float>::infinity();
  const float odd[] = {NAN, inf, -inf, 0.0f, -0.0f, 1e-41f, -1e-41f, 3e38f, 6e-5f, -3e38f};
  std::vector<std::byte> bytes;
  auto put = [&](auto v) {
    const auto* p = reinterpret_cast<const std::byte*>(&v);
    bytes.insert(bytes.end(), p, p + sizeof v);
  };
  for (int64_t i = 0, n = element_count(s.shape); i < n; ++i) {
    float f = float(dice.real(-2, 2));
    if (special && dice.below(9) == 0) f = odd[dice.below(10)];
    switch (s.dtype) {
      case DType::f32: put(f); break;
      case DType::f16: put(f16_from_f32(f)); break;
      case DType::bf16: put(bf16_from_f32(f)); break;
      case DType::i32: put(int32_t(dice.between(-9, 9))); break;
      case DType::u32: put(uint32_t(dice.between(0, 40))); break;
      case DType::u8: put(uint8_t(dice.below(256))); break;
      case DType::i8: put(int8_t(dice.between(-128, 127))); break;
      case DType::i64: put(special && dice.below(9) == 0 ? int64_t(dice.word()) : dice.between(-9, 9)); break;
      case DType::f64: put(std::isfinite(f) ? double(f) + dice.real(0, 1e-9) : double(f)); break;
      default: put(uint8_t(dice.below(2)));
    }
  }
  return Tensor::from_bytes(bytes, s.dtype, s.shape, device);
}

inline Tensor plain_leaf(DType dtype, Shape shape, int64_t seed, const Device& device) {
  return leaf_tensor({"leaf", {}, {seed, 0}, dtype, std::move(shape)}, device);
}

// Bits: weights, smoothing, a class that is ignored, a mean.
inline CrossEntropyOptions loss_options(int64_t bits, const Device& d, int64_t classes) {
  CrossEntropyOptions o;
  if (bits & 1) o.weight = plain_leaf(DType::f32, {classes}, 13, d);
  if (bits & 2) o.label_smoothing = 0.2;
  if (bits & 4) o.ignore_index = 1;
  o.reduction = bits & 8 ? Reduction::sum : Reduction::none;
  return o;
}

// p: {bits, seed}, in: q and, where they are others, k and v. Bits: causal, window, soft cap, mask, bias, kv_len, q_start.
inline Tensor attend(const Step& s, const std::vector<Tensor>& in, const Device& d) {
  const int64_t bits = s.p[0], seed = s.p[1];
  const Tensor &q = in[0], &k = in.size() > 1 ? in[1] : q, &v = in.size() > 2 ? in[2] : k;
  const int64_t S = k.dim(2);
  AttentionOptions o;
  o.causal = bits & 1;
  if (bits & 2) o.window = 1 + seed % 4;
  if (bits & 4) o.soft_cap = 1.5;
  if (bits & 8) o.mask = plain_leaf(DType::bool_, seed % 3 == 0 ? Shape{S} : Shape{q.dim(2), S}, seed, d);
  if (bits & 16) o.bias = plain_leaf(seed % 2 ? DType::f16 : DType::f32, {q.dim(1), 1, S}, seed + 1, d);
  if (bits & 32) o.kv_len = Scalar(uint32_t(seed % (S + 2)), d);
  if (bits & 64) o.q_start = Scalar(uint32_t(seed % 5), d);
  return attention(q, k, v, o);
}

using Maker = Tensor (*)(const Step& s, const std::vector<Tensor>& in, const Device& device);

// p: {axis, before, after, mode}
inline Tensor pad_one_axis(const Tensor& x, const std::vector<int64_t>& p) {
  std::vector<std::pair<int64_t, int64_t>> widths(size_t(x.rank()), {0, 0});
  widths[size_t(p[0])] = {p[1], p[2]};
  return pad(x, widths, PadMode(p[3]), 1);
}

inline std::vector<int64_t> tail(const std::vector<int64_t>& p, size_t from) { return {p.begin() + int64_t(from), p.end()}; }

// p of a reduction: {keepdims, axes…}
inline const std::map<std::string, Maker>& makers() {
#define UNARY(name) {#name, [](const Step&, const std::vector<Tensor>& t, const Device&) { return name(t[0]); }}
#define BINARY(name) {#name, [](const Step&, const std::vector<Tensor>& t, const Device&) { return name(t[0], t[1]); }}
#define MAKE(name, expression) \
  {#name, []([[maybe_unused]] const Step& s, [[maybe_unused]] const std::vector<Tensor>& t, [[maybe_unused]] const Device& d) -> Tensor { return expression; }}
  static const std::map<std::string, Maker> all = {
      MAKE(leaf, leaf_tensor(s, d)),
      MAKE(full, full(s.shape, double(s.p[0]) / 4, s.dtype, d)),
      MAKE(arange, arange(double(s.p[0]), double(s.p[0] + s.shape[0] * s.p[1]), double(s.p[1]), s.dtype, d)),
      MAKE(random_bits, random_bits(s.shape, uint64_t(s.p[0]), 3, d)),
      UNARY(negative), UNARY(abs), UNARY(square), UNARY(tanh), UNARY(erf), UNARY(sigmoid), UNARY(relu), UNARY(silu),
      UNARY(gelu), UNARY(gelu_tanh), UNARY(logical_not), UNARY(transpose), UNARY(floor), UNARY(ceil), UNARY(trunc), UNARY(round),
      UNARY(sin), UNARY(cos), UNARY(tan), UNARY(expm1), UNARY(bitwise_invert), UNARY(sign), UNARY(isnan), UNARY(isfinite),
      MAKE(exp2, exp2(tanh(t[0]))), MAKE(log1p, log1p(abs(t[0]))), MAKE(log2, log2(abs(t[0]) + 0.5)), MAKE(log10, log10(abs(t[0]) + 0.5)),
      MAKE(erfinv, erfinv(tanh(t[0]) * 0.75)), MAKE(lgamma, lgamma(abs(t[0]) + 0.5)), MAKE(atan2, atan2(t[0], abs(t[1]) + 0.5)),
      MAKE(pow, pow(abs(t[0]) + 0.5, tanh(t[1]))), MAKE(fma, fma(t[0], t[1], t[0])), BINARY(swiglu), BINARY(floor_divide), BINARY(remainder),
      MAKE(exp, exp(tanh(t[0]) + t[0] * 0.25)), MAKE(log, log(abs(t[0]) + 0.5)), MAKE(sqrt, sqrt(abs(t[0]))),
      MAKE(rsqrt, rsqrt(abs(t[0]) + 0.5)), MAKE(scale, t[0] * (double(s.p[0]) * 0.1) + 0.3), MAKE(raw_exp, exp(t[0])),
      MAKE(raw_log, log(t[0])),
      BINARY(add), BINARY(subtract), BINARY(multiply), BINARY(minimum), BINARY(maximum), BINARY(equal), BINARY(not_equal),
      BINARY(less), BINARY(less_equal), BINARY(greater), BINARY(greater_equal), BINARY(logical_and), BINARY(logical_or),
      BINARY(bitwise_and), BINARY(bitwise_or), BINARY(bitwise_xor), BINARY(bitwise_left_shift), BINARY(bitwise_right_shift),
      MAKE(divide, t[0] / (abs(t[1]) + 0.5)), MAKE(raw_divide, t[0] / t[1]), MAKE(where, where(t[0], t[1], t[2])),
      MAKE(cast, cast(t[0], s.dtype)), MAKE(reshape, reshape(t[0], s.shape)), MAKE(permute, permute(t[0], s.p)),
      MAKE(expand_dims, expand_dims(t[0], s.p[0])), MAKE(squeeze, squeeze(t[0], s.p[0])),
      MAKE(broadcast_to, broadcast_to(t[0], s.shape)), MAKE(flip, flip(t[0], s.p[0])),
      MAKE(slice, slice(t[0], s.p[0], s.p[1], s.p[2], s.p[3])),
      MAKE(concat, concat(t, s.p[0])), MAKE(take, take(t[0], t[1], s.p[0])),
      MAKE(take_along_axis, take_along_axis(t[0], t[1], s.p[0])), MAKE(roll, roll(t[0], s.p[1], s.p[0])),
      MAKE(pad, pad_one_axis(t[0], s.p)), MAKE(repeat, repeat(t[0], s.p[1], s.p[0])), MAKE(tril, tril(t[0], s.p[0])),
      MAKE(dynamic_slice, dynamic_slice(t[0], Scalar(uint32_t(s.p[1]), d), s.p[0], s.p[2])),
      MAKE(update, update(t[0], t[1], Scalar(uint32_t(s.p[1]), d), s.p[0])),
      MAKE(sum, sum(t[0], tail(s.p, 1), s.p[0] != 0)), MAKE(mean, mean(t[0], tail(s.p, 1), s.p[0] != 0)),
      MAKE(max, max(t[0], tail(s.p, 1), s.p[0] != 0)), MAKE(min, min(t[0], tail(s.p, 1), s.p[0] != 0)),
      MAKE(any, any(t[0], tail(s.p, 1), s.p[0] != 0)), MAKE(var, var(t[0], tail(s.p, 1), 0, s.p[0] != 0)),
      MAKE(prod, prod(tanh(t[0]) + 1, tail(s.p, 1), s.p[0] != 0)), MAKE(argmin, argmin(t[0], s.p[1], s.p[0] != 0)), MAKE(argmax, argmax(t[0], s.p[1], s.p[0] != 0)),
      MAKE(cumsum, cumsum(t[0], s.p[1])), MAKE(cummax, cummax(t[0], s.p[1])), MAKE(logcumsumexp, logcumsumexp(t[0], s.p[1])),
      MAKE(cumprod, cumprod(tanh(t[0]) + 1, s.p[1])), MAKE(sort, sort(t[0], s.p[1], s.p[0] != 0)), MAKE(argsort, argsort(t[0], s.p[1], s.p[0] != 0)),
      MAKE(index_set, index_set(t[0], t[1], t[2], s.p[0])), MAKE(index_add, index_add(t[0], t[1], t[2], s.p[0])),
      MAKE(index_max, index_max(t[0], t[1], t[2], s.p[0])), MAKE(scatter_set, scatter_set(t[0], t[1], t[2], s.p[0])),
      MAKE(scatter_add, scatter_add(t[0], t[1], t[2], s.p[0])), MAKE(scatter_max, scatter_max(t[0], t[1], t[2], s.p[0])),
      MAKE(logsumexp, logsumexp(t[0], s.p[1], s.p[0] != 0)), MAKE(softmax, softmax(t[0], s.p[1])),
      MAKE(log_softmax, log_softmax(t[0], s.p[1])),
      MAKE(rms_norm, rms_norm(t[0], plain_leaf(DType::f32, {t[0].dim(-1)}, 5, d))),
      MAKE(layer_norm, layer_norm(t[0], plain_leaf(DType::f32, {t[0].dim(-1)}, 6, d), plain_leaf(DType::f32, {t[0].dim(-1)}, 7, d))),
      MAKE(cross_entropy, cross_entropy(t[0], t[1], loss_options(s.p[0], d, t[0].dim(-1)))),
      MAKE(rope, rope(t[0], plain_leaf(DType::f32, {t[0].dim(-2), t[0].dim(-1) / 2}, 8, d),
                      plain_leaf(DType::f32, {t[0].dim(-2), t[0].dim(-1) / 2}, 9, d),
                      s.p[0] ? RopePairing::half : RopePairing::interleaved)),
      MAKE(matmul, matmul(t[0], plain_leaf(t[0].dtype(), {t[0].dim(-1), s.p[0]}, 10, d))),
      MAKE(gram, matmul(t[0], transpose(t[0]))),
      MAKE(linear, linear(t[0], plain_leaf(t[0].dtype(), {s.p[0], t[0].dim(-1)}, 11, d), plain_leaf(is_float(t[0].dtype()) ? DType::f32 : t[0].dtype(), {s.p[0]}, 12, d))),
      MAKE(attention, attend(s, t, d)),
  };
#undef UNARY
#undef BINARY
#undef MAKE
  return all;
}

inline Tensor make(const Step& s, const std::vector<Tensor>& built, const Device& device) {
  std::vector<Tensor> in;
  for (int i : s.in) in.push_back(built[size_t(i)]);
  return makers().at(s.op)(s, in, device);
}

inline std::vector<Tensor> build(const Graph& g, const Device& device) {
  std::vector<Tensor> built(g.steps.size());
  const std::vector<bool> need = needed(g);
  for (size_t i = 0; i < g.steps.size(); ++i)
    if (need[i]) built[i] = make(g.steps[i], built, device);
  return built;
}

inline std::string to_text(const Graph& g) {
  std::string out;
  const std::vector<bool> need = needed(g);
  for (size_t i = 0; i < g.steps.size(); ++i) {
    if (!need[i]) continue;
    const Step& s = g.steps[i];
    out += cat("  t", int64_t(i), ": ", to_string(s.dtype), to_string(s.shape), " = ", s.op, "(");
    for (size_t k = 0; k < s.in.size(); ++k) out += cat(k ? ", t" : "t", s.in[k]);
    for (size_t k = 0; k < s.p.size(); ++k) out += cat(k ? ", " : s.in.empty() ? "" : "; ", s.p[k]);
    out += ")\n";
  }
  out += "  roots";
  for (int r : g.roots) out += cat(" t", r);
  return out + "\n";
}

// ------------------------------------------------------------------------------------------------------ generation

class Generator {
 public:
  explicit Generator(uint64_t seed) : dice_(seed), device_(Device::open("null:roomy")) {}

  Graph run() {
    large_ = dice_.chance(20);
    special_ = dice_.chance(20);
    wide_ = dice_.chance(50);
    empty_ = dice_.chance(8);
    add_leaf(some_dtype(), some_shape());
    const int64_t want = dice_.between(5, 25);
    for (int tries = 0; int64_t(g_.steps.size()) < want && tries < 400; ++tries) add_step();
    g_.roots.push_back(int(g_.steps.size()) - 1);
    for (int i = 0; i + 1 < int(g_.steps.size()); ++i)
      if (used_[size_t(i)] == 0 && g_.steps[size_t(i)].op != "leaf" && dice_.chance(60)) g_.roots.push_back(i);
    while (g_.roots.size() < 4 && dice_.chance(35)) g_.roots.push_back(any());
    return g_;
  }

 private:
  static constexpr int64_t most_elements = 20000;
  static constexpr int64_t most_pairs = 4000000;  // of elements that the compositions of sort and scatter compare

  // Half of the graphs run on devices without 8-byte lanes too.
  DType allowed(DType t) { return wide_ || !is_wide(t) ? t : t == DType::f64 ? DType::f32 : DType::i32; }
  DType some_dtype() {
    static const DType pick[] = {DType::f32, DType::f32, DType::f32, DType::f32, DType::f16, DType::bf16, DType::f64,
                                 DType::i32, DType::u32, DType::u8, DType::i8, DType::i64, DType::bool_};
    return allowed(pick[dice_.below(13)]);
  }
  Shape some_shape() {
    static const int64_t big[] = {1023, 1025, 2049, 1000};
    static const int64_t small[] = {1, 2, 3, 4, 5, 6, 7, 8, 33, 12};
    Shape s;
    if (large_) {
      if (dice_.chance(60)) s.push_back(dice_.between(1, 5));
      s.push_back(big[dice_.below(4)]);
      if (dice_.chance(20)) std::swap(s.front(), s.back());
      return s;
    }
    for (int64_t r = dice_.between(0, 5); r > 0; --r) {
      s.push_back(empty_ && dice_.chance(25) ? 0 : small[dice_.below(10)]);
      if (element_count(s) > 3000) s.pop_back();
    }
    return s;
  }

  int any() { return int(dice_.below(int64_t(g_.steps.size()))); }
  // Steps that nothing uses yet are preferred: long chains find more.
  int recent() {
    std::vector<int> open;
    for (size_t i = used_.size(); i-- > 0 && open.size() < 4;)
      if (used_[i] == 0) open.push_back(int(i));
    return !open.empty() && dice_.chance(75) ? open[size_t(dice_.below(int64_t(open.size())))] : any();
  }
  template <class F>
  int some(F&& ok) {
    for (int i = 0; i < 12; ++i)
      if (const int s = recent(); ok(tensors_[size_t(s)])) return s;
    return -1;
  }
  int some_float() { return some([](const Tensor& t) { return is_float(t.dtype()); }); }

  int add(Step s) {
    Tensor t = make(s, tensors_, device_);
    if (t.size() > most_elements || t.rank() > 9) return -1;
    s.dtype = t.dtype();
    s.shape = t.shape();
    for (int i : s.in) ++used_[size_t(i)];
    used_.push_back(0);
    g_.steps.push_back(std::move(s));
    tensors_.push_back(std::move(t));
    return int(g_.steps.size()) - 1;
  }
  int add(std::string op, std::vector<int> in, std::vector<int64_t> p = {}, DType dtype = DType::f32, Shape shape = {}) {
    return add(Step{std::move(op), std::move(in), std::move(p), dtype, std::move(shape)});
  }
  int add_leaf(DType dtype, Shape shape) { return add("leaf", {}, {dice_.below(1000000), special_}, dtype, std::move(shape)); }

  // Another tensor of the dtype that broadcasts with it; a new leaf when there is none.
  int partner(int with, DType dtype) {
    const Shape& a = tensors_[size_t(with)].shape();
    for (int i = 0; i < 12; ++i) {
      const int s = i < 6 ? recent() : any();
      if (s != with && tensors_[size_t(s)].dtype() == dtype && broadcasts(a, tensors_[size_t(s)].shape())) return s;
    }
    Shape shape = a;
    for (int64_t& d : shape)
      if (dice_.chance(30)) d = 1;
    while (!shape.empty() && dice_.chance(30)) shape.erase(shape.begin());
    return add_leaf(dtype, shape);
  }
  static bool broadcasts(const Shape& a, const Shape& b) {
    int64_t n = 1;
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const int64_t p = i < a.size() ? a[a.size() - 1 - i] : 1, q = i < b.size() ? b[b.size() - 1 - i] : 1;
      if (p != q && p != 1 && q != 1) return false;
      n *= p == 1 ? q : p;
    }
    return n <= most_elements;
  }

  template <size_t N>
  std::string one_of(const char* const (&names)[N]) { return names[dice_.below(int64_t(N))]; }

  void add_step() {
    try {
      const int64_t kind = dice_.below(100);
      if (kind < 4) add_source();
      else if (kind < 16) add_unary();
      else if (kind < 32) add_binary();
      else if (kind < 39) add_logic();
      else if (kind < 46) add_cast();
      else if (kind < 68) add_view();
      else if (kind < 77) add_move();
      else if (kind < 93) add_reduction();
      else add_product();
    } catch (const Error& e) {
      if (e.code() == ErrorCode::internal) throw;  // asked for something that the op does not take: try another
    }
  }

  DType range_dtype() {
    static const DType pick[] = {DType::f32, DType::i32, DType::f64, DType::i64, DType::u8};
    return allowed(pick[dice_.below(5)]);
  }
  DType index_dtype() {
    static const DType pick[] = {DType::i32, DType::i32, DType::u32, DType::i8, DType::u8, DType::i64};
    return allowed(pick[dice_.below(6)]);
  }
  void add_source() {
    switch (dice_.below(4)) {
      case 0: add("full", {}, {dice_.between(0, 8)}, some_dtype(), some_shape()); break;
      case 1: add("arange", {}, {dice_.between(0, 3), dice_.between(1, 3)}, range_dtype(), {dice_.between(1, 40)}); break;
      case 2: add("random_bits", {}, {dice_.below(1000)}, DType::u32, some_shape()); break;
      default: add_leaf(some_dtype(), some_shape());
    }
  }
  void add_unary() {
    static const char* const names[] = {"negative", "abs", "square", "tanh", "erf", "sigmoid", "relu", "silu", "gelu", "gelu_tanh",
                                        "exp", "log", "sqrt", "rsqrt", "scale", "scale", "raw_exp", "raw_log", "floor", "ceil", "trunc", "round",
                                        "sin", "cos", "tan", "expm1", "exp2", "log1p", "log2", "log10", "erfinv", "lgamma", "sign",
                                        "isnan", "isfinite"};
    if (const int x = some_float(); x >= 0) add(one_of(names), {x}, {dice_.between(-9, 9)});
  }
  void add_binary() {
    const int x = some([](const Tensor& t) { return t.dtype() != DType::bool_; });
    if (x < 0) return;
    const DType t = tensors_[size_t(x)].dtype();
    static const char* const floats[] = {"add", "subtract", "multiply", "minimum", "maximum", "divide", "raw_divide", "add",
                                         "floor_divide", "remainder", "atan2", "pow", "fma", "swiglu"};
    static const char* const integers[] = {"add", "subtract", "multiply", "minimum", "maximum", "bitwise_and", "bitwise_or",
                                           "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "floor_divide", "remainder", "bitwise_invert"};
    const int y = dice_.chance(10) ? x : partner(x, t);
    if (y < 0) return;
    const std::string op = is_float(t) ? one_of(floats) : one_of(integers);
    if (op == "bitwise_invert") return void(add(op, {x}));
    dice_.chance(50) ? add(op, {x, y}) : add(op, {y, x});
  }
  void add_logic() {
    static const char* const compares[] = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"};
    static const char* const logics[] = {"logical_and", "logical_or"};
    const int x = recent();
    const DType t = tensors_[size_t(x)].dtype();
    if (t == DType::bool_ && dice_.chance(40)) return void(dice_.chance(30) ? add("logical_not", {x}) : add(one_of(logics), {x, partner(x, t)}));
    if (t == DType::bool_) {
      const DType u = some_dtype();
      const int a = partner(x, u);
      if (a >= 0) add("where", {x, a, partner(a, u)});
      return;
    }
    const int c = add(one_of(compares), {x, partner(x, t)});
    if (c >= 0 && dice_.chance(60)) add("where", {c, x, partner(x, t)});
  }
  void add_cast() { add("cast", {recent()}, {}, some_dtype()); }

  void add_view() {
    const int x = recent();
    const Tensor& t = tensors_[size_t(x)];
    const int64_t rank = t.rank();
    if (rank == 0) return void(add("expand_dims", {x}, {0}));
    const int64_t axis = dice_.below(rank), n = t.dim(axis);
    switch (dice_.below(9)) {
      case 0: add("reshape", {x}, {}, DType::f32, another_shape(t.size())); break;
      case 1: add("reshape", {x}, {}, DType::f32, regrouped(t.shape())); break;
      case 2: add("permute", {x}, permutation(rank)); break;
      case 3: add("flip", {x}, {axis}); break;
      case 4: add("expand_dims", {x}, {dice_.between(0, rank)}); break;
      case 5: if (n == 1) { add("squeeze", {x}, {axis}); break; } [[fallthrough]];
      case 6: add_slice(x, axis, n); break;
      case 7: if (rank >= 2) add("transpose", {x}); break;
      default: {
        Shape s = t.shape();
        for (int64_t& d : s)
          if (d == 1 && dice_.chance(50)) d = dice_.between(2, 4);
        if (dice_.chance(50)) s.insert(s.begin(), dice_.between(1, 3));
        add("broadcast_to", {x}, {}, DType::f32, s);
      }
    }
  }
  void add_slice(int x, int64_t axis, int64_t n) {
    static const int64_t steps[] = {1, 1, 2, 3, -1, -2};
    const int64_t step = steps[dice_.below(6)];
    int64_t a = dice_.between(0, n), b = dice_.between(0, n);
    if ((step > 0) != (a < b)) std::swap(a, b);
    add("slice", {x}, {axis, a, b, step});
  }
  Shape another_shape(int64_t n) {
    Shape s;
    while (n > 1 && s.size() < 5) {
      std::vector<int64_t> divisors;
      for (int64_t d = 2; d <= n && d <= 64; ++d)
        if (n % d == 0) divisors.push_back(d);
      if (divisors.empty() || dice_.chance(25)) break;
      s.push_back(divisors[size_t(dice_.below(int64_t(divisors.size())))]);
      n /= s.back();
    }
    s.push_back(n);
    if (dice_.chance(20)) s.insert(s.begin() + dice_.below(int64_t(s.size()) + 1), 1);
    return s;
  }
  // Neighbouring axes joined or one axis cut: the reshapes that views can often express.
  Shape regrouped(Shape s) {
    const size_t i = size_t(dice_.below(int64_t(s.size())));
    if (i + 1 < s.size() && dice_.chance(50)) {
      s[i] *= s[i + 1];
      s.erase(s.begin() + int64_t(i) + 1);
      return s;
    }
    for (int64_t d : {2, 3, 4, 5, 7})
      if (s[i] > d && s[i] % d == 0) {
        s[i] /= d;
        s.insert(s.begin() + int64_t(i) + dice_.between(0, 1), d);
        return s;
      }
    return s;
  }
  std::vector<int64_t> permutation(int64_t rank) {
    std::vector<int64_t> p;
    for (int64_t i = 0; i < rank; ++i) p.insert(p.begin() + dice_.between(0, i), i);
    return p;
  }

  void add_move() {
    const int x = some([](const Tensor& t) { return t.rank() > 0; });
    if (x < 0) return;
    const Tensor t = tensors_[size_t(x)];
    const int64_t axis = dice_.below(t.rank()), n = t.dim(axis);
    Shape other = t.shape();
    switch (dice_.below(11)) {
      case 9:
      case 10: add_scatter(x, axis); break;
      case 5: add("roll", {x}, {axis, dice_.between(-3, 3)}); break;
      case 6: add("pad", {x}, {axis, dice_.between(0, 2), dice_.between(0, 2), dice_.below(3)}); break;
      case 7: dice_.chance(50) ? add("repeat", {x}, {axis, dice_.between(0, 3)}) : add("tril", {x}, {dice_.between(-2, 2)}); break;
      case 8: {
        other[size_t(axis)] = dice_.between(0, 6);
        if (dice_.chance(40)) other[size_t(dice_.below(t.rank()))] = 1;
        if (const int i = same(index_dtype(), other); i >= 0) add("take_along_axis", {x, i}, {axis});
        break;
      }
      case 0: add_concat(x, axis); break;
      case 1: {
        Shape rows;
        for (int64_t r = dice_.between(0, 2); r > 0; --r) rows.push_back(dice_.between(1, 5));
        if (const int i = add_leaf(index_dtype(), rows); i >= 0) add("take", {x, i}, {axis});
        break;
      }
      case 2: {
        const int i = some([](const Tensor& k) { return is_integer(k.dtype()) && k.size() < 200; });
        if (i >= 0) add("take", {x, i}, {axis});
        break;
      }
      case 3: add("dynamic_slice", {x}, {axis, dice_.between(0, n + 2), dice_.between(0, n)}); break;
      default:
        other[size_t(axis)] = dice_.between(0, n);
        if (const int s = same(t.dtype(), other); s >= 0) add("update", {x, s}, {axis, dice_.between(0, n + 1)});
    }
  }
  // Into x: slices by one index, or elements by one index each.
  void add_scatter(int x, int64_t axis) {
    static const char* const slices[] = {"index_set", "index_add", "index_max"};
    static const char* const elements[] = {"scatter_set", "scatter_add", "scatter_max"};
    const Tensor t = tensors_[size_t(x)];
    Shape shape = t.shape();
    shape[size_t(axis)] = dice_.between(0, 6);
    const bool whole = dice_.chance(50) || t.size() * element_count(shape) > most_pairs;
    const int i = same(dice_.chance(70) ? DType::i32 : DType::u32, whole ? Shape{shape[size_t(axis)]} : shape);
    const int source = i < 0 ? i : same(t.dtype(), shape);
    if (source >= 0) add(whole ? one_of(slices) : one_of(elements), {x, i, source}, {axis});
  }
  int same(DType dtype, const Shape& shape) {
    for (int i = 0; i < 12; ++i)
      if (const int s = any(); tensors_[size_t(s)].dtype() == dtype && tensors_[size_t(s)].shape() == shape) return s;
    return add_leaf(dtype, shape);
  }
  void add_concat(int x, int64_t axis) {
    std::vector<int> parts{x};
    for (int64_t i = dice_.between(1, 3); i > 0; --i) {
      Shape s = tensors_[size_t(x)].shape();
      if (dice_.chance(50)) s[size_t(axis)] = dice_.between(0, 5);
      const int y = same(tensors_[size_t(x)].dtype(), s);
      if (y >= 0) parts.insert(parts.begin() + dice_.below(int64_t(parts.size()) + 1), y);
    }
    add("concat", parts, {axis});
  }

  void add_reduction() {
    static const char* const any_axes[] = {"sum", "mean", "max", "min", "any", "var", "prod"};
    static const char* const one_axis[] = {"argmax", "argmin", "logsumexp", "softmax", "log_softmax", "softmax",
                                           "cumsum", "cumprod", "cummax", "logcumsumexp", "sort", "argsort"};
    static const char* const last_axis[] = {"rms_norm", "layer_norm"};
    const int x = dice_.chance(85) ? some_float() : some([](const Tensor& t) { return is_integer(t.dtype()); });
    if (x < 0) return;
    const Tensor& t = tensors_[size_t(x)];
    const bool keep = dice_.chance(50);
    const int64_t axis = t.rank() == 0 ? -1 : dice_.chance(60) ? t.rank() - 1 : dice_.below(t.rank());
    switch (dice_.below(4)) {
      case 0:
      case 1: {
        std::vector<int64_t> p{keep};
        for (int64_t a = 0; a < t.rank(); ++a)
          if (dice_.chance(45)) p.push_back(a);
        add(one_of(any_axes), {x}, p);
        break;
      }
      case 2: {
        const std::string op = one_of(one_axis);
        if (!op.ends_with("sort") || t.rank() == 0 || t.size() * t.dim(axis) <= most_pairs) add(op, {x}, {keep, axis});
        break;
      }
      default:
        if (t.rank() == 0) return;
        if (dice_.chance(75)) return void(add(one_of(last_axis), {x}));
        Shape rows = t.shape();
        rows.pop_back();
        if (const int i = same(index_dtype(), rows); i >= 0) add("cross_entropy", {x, i}, {dice_.below(16)});
    }
  }
  void add_heads() {
    const DType t = dice_.chance(60) ? DType::f32 : dice_.chance(70) ? DType::f16 : allowed(DType::f64);
    int x = add_leaf(t, {dice_.between(1, 2), dice_.between(1, 9), dice_.between(1, 3), 2 * dice_.between(1, 20)});
    if (x >= 0 && dice_.chance(60)) x = add("permute", {x}, {0, 2, 1, 3});
    if (x >= 0 && dice_.chance(60)) x = add("rope", {x}, {dice_.below(2)});
    if (x >= 0 && dice_.chance(70)) add_attention(x);
  }
  // Over itself, or over keys and values of fewer heads and another length.
  void add_attention(int x) {
    const Tensor& q = tensors_[size_t(x)];
    const int64_t bits = dice_.chance(30) ? dice_.below(2) : dice_.below(128), seed = dice_.below(1000);
    if (dice_.chance(40)) return void(add("attention", {x}, {bits, seed}));
    const Shape keys{q.dim(0), dice_.chance(50) ? 1 : q.dim(1), dice_.between(1, 12), q.dim(3)};
    const DType t = is_wide(q.dtype()) || dice_.chance(50) ? q.dtype() : DType::f16;
    const int k = add_leaf(t, keys), v = k < 0 || dice_.chance(30) ? k : add_leaf(t, keys);
    if (v >= 0) add("attention", {x, k, v}, {bits, seed});
  }
  void add_product() {
    if (dice_.chance(20)) return add_heads();
    const bool any_number = dice_.chance(20);
    const int x = some([&](const Tensor& t) { return (is_float(t.dtype()) || (any_number && is_integer(t.dtype()))) && t.rank() >= 1; });
    if (x < 0) return;
    const Tensor& t = tensors_[size_t(x)];
    int y = -1;
    switch (dice_.below(5)) {
      case 0: y = add("matmul", {x}, {dice_.between(1, 40)}); break;
      case 1: y = add("linear", {x}, {dice_.between(1, 40)}); break;
      case 2: if (t.rank() >= 2) y = add("gram", {x}); break;
      case 3: if (t.rank() == 4 && is_float(t.dtype())) add_attention(x); break;
      default: if (t.rank() >= 2 && t.dim(-1) % 2 == 0) add("rope", {x}, {dice_.below(2)});
    }
    if (y >= 0 && dice_.chance(60)) add(dice_.chance(50) ? "gelu" : "scale", {y}, {3});
  }

  Dice dice_;
  Device device_;
  Graph g_;
  std::vector<Tensor> tensors_;
  std::vector<int> used_;  // how often each step is an input
  bool large_ = false, special_ = false, empty_ = false, wide_ = false;
};

inline Graph random_graph(uint64_t seed) { return Generator(seed).run(); }

}  // namespace tenon::testing_graphs
