// A device's one stream, and its positions as tickets: an event each.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "backends/cuda/context.h"

namespace tenon::cuda {

class Queue {
 public:
  using Ticket = uint64_t;
  explicit Queue(DeviceHandle& device) : device_(device) {}
  ~Queue();
  Queue(const Queue&) = delete;

  // The stream, made at the first call; what the caller records belongs to next_ticket().
  Stream record();
  Ticket next_ticket() const { return last_ + 1; }
  // `bytes` from pinned memory into the caller's, once the next ticket has passed and before wait() or passed() say so.
  void copy_when_passed(std::byte* to, const std::byte* from, size_t bytes) { host_copies_.push_back({to, from, bytes}); }

  // Forgets such copies into [to, to + bytes): the memory goes.
  void forget_copies(const std::byte* to, size_t bytes);

  Ticket submit();
  // Thread-safe. Throws what the device's work threw.
  void wait(Ticket ticket);
  // Thread-safe. Never throws: a device that failed passes nothing more.
  bool passed(Ticket ticket);

 private:
  struct HostCopy {
    std::byte* to;
    const std::byte* from;
    size_t bytes;
  };
  struct Mark {
    Ticket ticket;
    Event event;
    std::vector<HostCopy> copies;
  };
  void pass_through(Ticket ticket);

  DeviceHandle& device_;
  Stream stream_ = nullptr;
  bool recorded_ = false;
  Ticket last_ = 0;
  std::vector<HostCopy> host_copies_;

  Mutex mutex_;  // of what follows
  std::deque<std::shared_ptr<Mark>> marks_;
  std::vector<Event> idle_events_;
  Ticket passed_ = 0;
};

}  // namespace tenon::cuda
