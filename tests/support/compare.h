// Comparing values with a reference. It fails when only one side is NaN, when infinity meets a finite number, and when
// shapes or counts differ: a comparison that passes by accident proves nothing.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "core/half.h"
#include "core/shape.h"
#include "tenon/tensor.h"

namespace tenon::testing {

// What references compute in: 64 bits or more on x86 and Linux on ARM, so that it holds every i64 and rounds f64 results
// later than f64 does.
using Real = long double;

// Values on the host, row-major.
struct Values {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<Real> data;
};

struct Tolerance {
  double relative = 0;  // of the expected value
  double absolute = 0;
  int64_t ulp = 0;      // steps of the dtype between expected (rounded) and actual; floats
  bool nan_equal = false;
  bool zero_sign = false;  // tell -0 from 0
};

// The value a dtype can hold that is nearest; integers are expected to be exact already.
inline Real rounded_to(DType t, Real v) {
  switch (t) {
    case DType::f64: return Real(double(v));
    case DType::f32: return Real(float(v));
    case DType::f16: return Real(f32_from_f16(f16_from_f32(float(v))));
    case DType::bf16: return Real(f32_from_bf16(bf16_from_f32(float(v))));
    default: return v;
  }
}

// Position of a value among all values of its dtype, so that neighbours differ by 1.
inline int64_t ordinal(DType t, Real v) {
  if (t == DType::f64) {
    const uint64_t bits = std::bit_cast<uint64_t>(double(v));
    return bits >> 63 ? -int64_t(bits << 1 >> 1) : int64_t(bits);
  }
  const uint32_t f = std::bit_cast<uint32_t>(float(v));
  const bool half = t == DType::f16 || t == DType::bf16;
  const uint32_t bits = t == DType::f16 ? f16_from_f32(float(v)) : t == DType::bf16 ? bf16_from_f32(float(v)) : f;
  const uint32_t sign = half ? 0x8000u : 0x80000000u;
  return bits & sign ? -int64_t(bits & (sign - 1)) : int64_t(bits);
}

inline bool same_value(DType t, Real expected, Real actual, const Tolerance& tol) {
  if (std::isnan(expected) || std::isnan(actual)) return tol.nan_equal && std::isnan(expected) && std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return expected == actual;
  if (tol.zero_sign && is_float(t) && expected == 0 && actual == 0) return std::signbit(expected) == std::signbit(actual);
  if (expected == actual) return true;
  if (std::abs(expected - actual) <= tol.absolute + tol.relative * std::abs(expected)) return true;
  return is_float(t) && tol.ulp > 0 && std::abs(ordinal(t, expected) - ordinal(t, actual)) <= tol.ulp;
}

inline std::string index_text(const Shape& shape, int64_t flat) {
  Shape at(shape.size());
  for (size_t a = shape.size(); a-- > 0;) at[a] = flat % shape[a], flat /= shape[a];
  return to_string(at);
}

// Empty when `actual` is `expected` within the tolerance; otherwise what is wrong, with the first bad index.
inline std::string difference(const Values& expected, const Values& actual, const Tolerance& tol = {}) {
  std::ostringstream out;
  out.precision(expected.dtype == DType::f64 ? 18 : expected.dtype == DType::i64 ? 20 : 9);
  if (expected.dtype != actual.dtype) {
    out << "dtype: expected " << to_string(expected.dtype) << ", got " << to_string(actual.dtype);
  } else if (expected.shape != actual.shape) {
    out << "shape: expected " << to_string(expected.shape) << ", got " << to_string(actual.shape);
  } else if (expected.data.size() != actual.data.size() || int64_t(expected.data.size()) != element_count(expected.shape)) {
    out << "count: expected " << expected.data.size() << " values for " << to_string(expected.shape) << ", got " << actual.data.size();
  } else {
    int64_t bad = 0, first = -1;
    for (size_t i = 0; i < expected.data.size(); ++i)
      if (!same_value(expected.dtype, expected.data[i], actual.data[i], tol) && bad++ == 0) first = int64_t(i);
    if (bad > 0)
      out << "value at " << index_text(expected.shape, first) << ": expected " << expected.data[size_t(first)] << ", got "
          << actual.data[size_t(first)] << " (" << bad << " of " << expected.data.size() << " differ)";
  }
  return out.str();
}

// What a tensor holds.
inline Values read(const Tensor& t) {
  Values v{t.dtype(), t.shape(), {}};
  auto copy = [&](const auto& from) { v.data.assign(from.begin(), from.end()); };
  switch (t.dtype()) {
    case DType::i32: copy(t.to_vector<int32_t>()); break;
    case DType::u32: copy(t.to_vector<uint32_t>()); break;
    case DType::i8: copy(t.to_vector<int8_t>()); break;
    case DType::i64: copy(t.to_vector<int64_t>()); break;
    case DType::f64: copy(t.to_vector<double>()); break;
    case DType::u8: case DType::bool_: copy(t.to_vector<uint8_t>()); break;
    default: copy(t.to_vector<float>());
  }
  if (is_quantised(t.dtype())) v.dtype = DType::f32;
  return v;
}

// A tensor of those values; each must be one that the dtype can hold.
inline Tensor tensor(const Values& v, const Device& device) {
  std::vector<std::byte> bytes;
  auto put = [&](auto x) {
    const auto* p = reinterpret_cast<const std::byte*>(&x);
    bytes.insert(bytes.end(), p, p + sizeof x);
  };
  for (Real d : v.data) switch (v.dtype) {
      case DType::f32: put(float(d)); break;
      case DType::f16: put(f16_from_f32(float(d))); break;
      case DType::bf16: put(bf16_from_f32(float(d))); break;
      case DType::i32: put(int32_t(d)); break;
      case DType::u32: put(uint32_t(d)); break;
      case DType::i8: put(int8_t(d)); break;
      case DType::u8: put(uint8_t(d)); break;
      case DType::i64: put(int64_t(d)); break;
      case DType::f64: put(double(d)); break;
      default: put(uint8_t(d != 0));
    }
  return Tensor::from_bytes(bytes, v.dtype, v.shape, device);
}

}  // namespace tenon::testing
