// Pinned host memory for copies: a ring of slots. A slot is used again when the queue has passed the copies out of it.
#pragma once
#include <vector>

#include "backends/cuda/queue.h"

namespace tenon::cuda {

class Staging {
 public:
  static constexpr int64_t slot_bytes = int64_t(4) << 20;

  Staging(DeviceHandle& device, Queue& queue) : device_(device), queue_(queue) {}
  ~Staging();
  Staging(const Staging&) = delete;

  // Room for `bytes`, at most slot_bytes; it belongs to the caller until the queue's next ticket has passed. Waits when
  // all slots are in use.
  std::byte* take(int64_t bytes);

 private:
  struct Slot {
    std::byte* memory;
    Queue::Ticket until = 0;
  };
  static constexpr size_t slots = 4;

  DeviceHandle& device_;
  Queue& queue_;
  std::vector<Slot> ring_;
  size_t current_ = 0;
  int64_t used_ = 0;  // of the current slot
};

}  // namespace tenon::cuda
