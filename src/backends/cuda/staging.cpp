#include "backends/cuda/staging.h"

namespace tenon::cuda {

Staging::~Staging() {
  for (const Slot& s : ring_) device_.driver().pinned_free(s.memory);
}

std::byte* Staging::take(int64_t bytes) {
  const bool fits = !ring_.empty() && used_ + bytes <= slot_bytes;
  if (!fits) {
    if (!ring_.empty()) ring_[current_].until = queue_.submit();
    if (ring_.size() < slots) {
      void* memory = nullptr;
      device_.activate();
      device_.check(device_.driver().pinned_alloc(&memory, size_t(slot_bytes), 0), "pinning host memory for copies");
      ring_.push_back({static_cast<std::byte*>(memory)});
      current_ = ring_.size() - 1;
    } else {
      current_ = (current_ + 1) % slots;
      queue_.wait(ring_[current_].until);
    }
    used_ = 0;
  }
  std::byte* piece = ring_[current_].memory + used_;
  used_ += (bytes + 63) / 64 * 64;
  return piece;
}

}  // namespace tenon::cuda
