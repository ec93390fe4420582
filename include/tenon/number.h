// A number of C++ code, as ops take it: an integer keeps all its 64 bits, anything else is a double.
#pragma once
#include <cstdint>
#include <type_traits>

namespace tenon {

class Number {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr Number(T value) : real_(double(value)) {
    if constexpr (std::is_integral_v<T>) {
      integer_ = std::is_signed_v<T> || uint64_t(value) <= uint64_t(INT64_MAX);
      whole_ = int64_t(value);
    }
  }
  constexpr bool is_integer() const { return integer_; }  // of an integer type and within int64_t
  constexpr int64_t whole() const { return whole_; }      // if so
  constexpr double real() const { return real_; }

 private:
  double real_ = 0;
  int64_t whole_ = 0;
  bool integer_ = false;
};

}  // namespace tenon
