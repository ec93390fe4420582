// Cuts the private memory of a group into pieces, each aligned to a cache line.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tenon::cpu {

constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Used twice: without memory to count the bytes, with memory to hand them out; both run the same code.
class ScratchCutter {
 public:
  explicit ScratchCutter(std::byte* from) : at_(from) {
    if (from) used_ = -int64_t(reinterpret_cast<uintptr_t>(from)) & (line - 1);
  }
  template <class T = float>
  T* take(int64_t n) {
    std::byte* p = at_ ? at_ + used_ : nullptr;
    used_ += round_up(n * int64_t(sizeof(T)), line);
    return reinterpret_cast<T*>(p);
  }
  int64_t bytes() const { return used_ + line; }

 private:
  static constexpr int64_t line = 64;
  std::byte* at_;
  int64_t used_ = 0;
};

}  // namespace tenon::cpu
