// What the reader's two halves share: decoding of values, look-up by name, messages. Internal to gguf*.cpp.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/gguf.h"
#include "tenon/error.h"

namespace tenon::gguf {

// Bytes of one element in the file; 0 for strings and arrays.
inline int64_t element_bytes(GgufType t) {
  switch (t) {
    case GgufType::u8: case GgufType::i8: case GgufType::bool_: return 1;
    case GgufType::u16: case GgufType::i16: return 2;
    case GgufType::u32: case GgufType::i32: case GgufType::f32: return 4;
    case GgufType::u64: case GgufType::i64: case GgufType::f64: return 8;
    case GgufType::string: case GgufType::array: return 0;
  }
  return 0;
}

// Little endian on any host; compilers make one load of it.
template <class T>
T load(const std::byte* p) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t,
               std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
  Bits bits = 0;
  for (size_t i = 0; i < sizeof(T); ++i) bits = Bits(bits | Bits(Bits(uint8_t(p[i])) << (8 * i)));
  return std::bit_cast<T>(bits);
}

// Element `i`, or nothing when it is not an integer or does not fit T.
template <class T>
std::optional<T> integer_at(const GgufValue& v, int64_t i) {
  const std::byte* p = v.raw.data() + i * element_bytes(v.type);
  auto fit = [](auto x) { return std::in_range<T>(x) ? std::optional<T>(T(x)) : std::nullopt; };
  switch (v.type) {
    case GgufType::u8: return fit(load<uint8_t>(p));
    case GgufType::i8: return fit(load<int8_t>(p));
    case GgufType::u16: return fit(load<uint16_t>(p));
    case GgufType::i16: return fit(load<int16_t>(p));
    case GgufType::u32: return fit(load<uint32_t>(p));
    case GgufType::i32: return fit(load<int32_t>(p));
    case GgufType::u64: return fit(load<uint64_t>(p));
    case GgufType::i64: return fit(load<int64_t>(p));
    default: return std::nullopt;
  }
}

template <class T>
const T* find_by(const std::vector<T>& items, const std::vector<int64_t>& order, std::string T::*name,
                 std::string_view wanted) {
  auto at = std::lower_bound(order.begin(), order.end(), wanted,
                             [&](int64_t i, std::string_view w) { return items[size_t(i)].*name < w; });
  if (at == order.end() || items[size_t(*at)].*name != wanted) return nullptr;
  return &items[size_t(*at)];
}

// In quotes, other bytes than printable ASCII escaped, shortened: file contents must not garble a message or a log.
std::string quoted(std::string_view s, size_t limit = 80);

// Throws Error with the path and, when `offset` is not negative, the offset in the message and in the context.
[[noreturn]] void fail_at(const std::string& path, ErrorCode code, int64_t offset, const std::string& message,
                          const std::string& tensor = {});

// Every known type with a DType, by name, separated by commas.
std::string supported_types();

}  // namespace tenon::gguf
