// Loops over the scalar instructions. Plain loops: compilers make SIMD of them.
// Only for the translation units of loop_table.cpu.h: internal linkage, nothing of std::.
#pragma once
#include "kernels/scalar/instructions.cpu.h"
#include "kernels/scalar/lanes.cpu.h"
#include "kernels/scalar/philox.cpu.h"
#include "kernels/scalar/rounding.cpu.h"
#include "kernels/scalar/vectors.cpu.h"
#include "kernels/scalar/wide_math.cpu.h"
#include "kernels/scalar/wide_ops.cpu.h"

namespace tenon::cpu {
namespace {

// ------------------------------------------------------------------------------------------------------- loops

// Functions with a rare case that takes long: a chunk is done without it, and then its rare lanes again.
template <class Common, class IsRare, class Rare>
TENON_LOOP_INLINE void loop_with_rare(uint32_t* out, int64_t n, Common common, IsRare is_rare, Rare rare) {
  constexpr int64_t chunk = 128;
  uint32_t result[chunk];
  for (int64_t first = 0; first < n; first += chunk) {
    const int64_t count = n - first < chunk ? n - first : chunk;
    uint32_t any = 0;
    TENON_INDEPENDENT
    for (int64_t l = 0; l < count; ++l) result[l] = lane_of(common(first + l));
    for (int64_t l = 0; l < count; ++l) any |= is_rare(first + l);
    if (any)
      for (int64_t l = 0; l < count; ++l)
        if (is_rare(first + l)) result[l] = lane_of(rare(first + l));
    for (int64_t l = 0; l < count; ++l) out[first + l] = result[l];
  }
}
template <float (*f)(float), float (*large)(float)>
void angle_loop(uint32_t* out, const uint32_t* const* args, int64_t n) {
  const uint32_t* a = args[0];
  const auto at = [a](int64_t i) { return lane_as<float>(a[i]); };
  loop_with_rare(out, n, [at](int64_t i) { return f(at(i)); }, [at](int64_t i) { return is_large_angle(at(i)); },
                 [at](int64_t i) { return large(at(i)); });
}
void rem_loop(uint32_t* out, const uint32_t* const* args, int64_t n) {
  const uint32_t *a = args[0], *b = args[1];
  const auto x = [a](int64_t i) { return lane_as<float>(a[i]); };
  const auto y = [b](int64_t i) { return lane_as<float>(b[i]); };
  loop_with_rare(out, n, [x, y](int64_t i) { return rem_small(x(i), y(i)); },
                 [x, y](int64_t i) { return is_large_quotient(x(i), y(i)); },
                 [x, y](int64_t i) { return rem_large(x(i), y(i)); });
}

#if defined(__F16C__)
// The instructions of F16C agree with core/half.h in every bit; half.h does what is left at the end.
void f16_rounded_loop(uint32_t* out, const uint32_t* const* args, int64_t n) {
  const uint32_t* a = args[0];
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 x = _mm256_loadu_ps(reinterpret_cast<const float*>(a + i));
    const __m256 y = _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    _mm256_storeu_ps(reinterpret_cast<float*>(out + i), y);
  }
  for (; i < n; ++i) out[i] = bits_of(f16_rounded(float_of(a[i])));
}
#else
constexpr ScalarLoop f16_rounded_loop = loop<f16_rounded>;
#endif

constexpr ScalarLoop by_lane(Lane lane, ScalarLoop f, ScalarLoop i, ScalarLoop u) {
  return lane == Lane::f32 ? f : lane == Lane::i32 ? i : u;
}
constexpr ScalarLoop by_kind(Lane lane, ScalarLoop f, ScalarLoop integer) { return lane == Lane::f32 ? f : integer; }

// Instructions whose result does not depend on the sign of an integer lane share one loop.
ScalarLoop find_loop(ScalarOp op, Lane lane) {
  using I = int32_t;
  using U = uint32_t;
  if (lane == Lane::f64) return find_f64_loop(op);
  if (lane == Lane::i64) return find_i64_loop(op);
  switch (op) {
    case ScalarOp::neg: return by_kind(lane, loop<neg_f>, loop<neg_i>);
    case ScalarOp::abs: return by_kind(lane, loop<abs_f>, loop<abs_i>);
    case ScalarOp::add: return by_kind(lane, loop<add_f>, loop<add_u>);
    case ScalarOp::sub: return by_kind(lane, loop<sub_f>, loop<sub_u>);
    case ScalarOp::mul: return by_kind(lane, loop<mul_f>, loop<mul_u>);
    case ScalarOp::div: return loop<div_f>;
    case ScalarOp::min: return by_lane(lane, loop<min_f>, loop<min_of<I>>, loop<min_of<U>>);
    case ScalarOp::max: return by_lane(lane, loop<max_f>, loop<max_of<I>>, loop<max_of<U>>);
    case ScalarOp::eq: return by_kind(lane, loop<eq_of<float>>, loop<eq_of<U>>);
    case ScalarOp::ne: return by_kind(lane, loop<ne_of<float>>, loop<ne_of<U>>);
    case ScalarOp::lt: return by_lane(lane, loop<lt_of<float>>, loop<lt_of<I>>, loop<lt_of<U>>);
    case ScalarOp::le: return by_lane(lane, loop<le_of<float>>, loop<le_of<I>>, loop<le_of<U>>);
    case ScalarOp::bit_and: return loop<and_of<U>>;
    case ScalarOp::bit_or: return loop<or_of<U>>;
    case ScalarOp::bit_xor: return loop<xor_of<U>>;
    case ScalarOp::shift_left: return loop<shift_left_u>;
    case ScalarOp::shift_right: return by_lane(lane, nullptr, loop<shift_right_i>, loop<shift_right_u>);
    case ScalarOp::exp: return loop<exp_f32>;
    case ScalarOp::log: return loop<log_f32>;
    case ScalarOp::sqrt: return loop<sqrt_f>;
    case ScalarOp::rsqrt: return loop<rsqrt_f>;
    case ScalarOp::tanh: return loop<tanh_f32>;
    case ScalarOp::erf: return loop<erf_f32>;
    case ScalarOp::floor: return loop<floor_f>;
    case ScalarOp::ceil: return loop<ceil_f>;
    case ScalarOp::trunc: return loop<trunc_f>;
    case ScalarOp::round: return loop<round_f>;
    case ScalarOp::floor_div: return by_lane(lane, loop<floor_div_f>, loop<floor_div_of<I>>, loop<floor_div_of<U>>);
    case ScalarOp::rem: return by_lane(lane, rem_loop, loop<rem_of<I>>, loop<rem_of<U>>);
    case ScalarOp::exp2: return loop<exp2_f32>;
    case ScalarOp::expm1: return loop<expm1_f32>;
    case ScalarOp::log1p: return loop<log1p_f32>;
    case ScalarOp::log2: return loop<log2_f32>;
    case ScalarOp::log10: return loop<log10_f32>;
    case ScalarOp::pow: return loop<pow_f32>;
    case ScalarOp::sin: return angle_loop<sin_small, sin_large>;
    case ScalarOp::cos: return angle_loop<cos_small, cos_large>;
    case ScalarOp::tan: return angle_loop<tan_small, tan_large>;
    case ScalarOp::atan2: return loop<atan2_f32>;
    case ScalarOp::erfinv: return loop<erfinv_f32>;
    case ScalarOp::lgamma: return loop<lgamma_f32>;
    case ScalarOp::fma: return loop<fma_f32>;
    case ScalarOp::select: return loop<select_of<U>>;
    case ScalarOp::to_f32: return by_lane(lane, nullptr, loop<i32_to_f>, loop<u32_to_f>);
    case ScalarOp::to_i32: return by_kind(lane, loop<f_to_i32>, loop<same<U>>);
    case ScalarOp::to_u32: return by_kind(lane, loop<f_to_u32>, loop<same<U>>);
    case ScalarOp::to_bool: return by_kind(lane, loop<f_to_bool>, loop<u_to_bool>);
    case ScalarOp::to_f64: return by_lane(lane, loop<f_to_d>, loop<i32_to_d>, loop<u32_to_d>);
    case ScalarOp::to_i64: return by_lane(lane, loop<float_to_l<float>>, loop<i32_to_l>, loop<u32_to_l>);
    case ScalarOp::wrap_u8: return loop<wrapped_u8>;
    case ScalarOp::wrap_i8: return loop<wrapped_i8>;
    case ScalarOp::round_f16: return f16_rounded_loop;
    case ScalarOp::round_bf16: return loop<bf16_rounded>;
    case ScalarOp::philox: return philox_loop;
  }
  return nullptr;
}

}  // namespace
}  // namespace tenon::cpu
