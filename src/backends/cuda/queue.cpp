#include "backends/cuda/queue.h"

#include <cstring>

namespace tenon::cuda {

Queue::~Queue() {
  const Driver& driver = device_.driver();
  for (const auto& mark : marks_) driver.event_destroy(mark->event);
  for (Event e : idle_events_) driver.event_destroy(e);
  if (stream_) driver.stream_destroy(stream_);
}

Stream Queue::record() {
  device_.activate();
  if (!stream_) device_.check(device_.driver().stream_create(&stream_, stream_non_blocking), "making a stream");
  recorded_ = true;
  return stream_;
}

void Queue::forget_copies(const std::byte* to, size_t bytes) {
  auto into = [&](const HostCopy& c) { return c.to >= to && c.to < to + bytes; };
  std::erase_if(host_copies_, into);
  Lock lock(mutex_);
  for (const auto& mark : marks_) std::erase_if(mark->copies, into);
}

Queue::Ticket Queue::submit() {
  if (!recorded_) return last_;
  device_.activate();
  auto mark = std::make_shared<Mark>();
  mark->copies.swap(host_copies_);
  mark->ticket = next_ticket();
  Lock lock(mutex_);
  if (idle_events_.empty()) {
    Event made = nullptr;
    device_.check(device_.driver().event_create(&made, event_disable_timing), "making an event");
    idle_events_.push_back(made);
  }
  mark->event = idle_events_.back();
  device_.check(device_.driver().event_record(mark->event, stream_), "recording an event");
  idle_events_.pop_back();
  recorded_ = false;
  last_ = mark->ticket;
  marks_.push_back(std::move(mark));
  return last_;
}

void Queue::wait(Ticket ticket) {
  std::shared_ptr<Mark> mark;
  {
    Lock lock(mutex_);
    if (ticket <= passed_) return;
    for (const auto& m : marks_)
      if (m->ticket >= ticket) {
        mark = m;
        break;
      }
  }
  device_.activate();  // also throws when the device failed and nothing will pass
  if (!mark) return;
  // Another thread may see the event pass meanwhile and use it again; waiting for a later position is no harm.
  device_.check(device_.driver().event_wait(mark->event), "waiting for the device");
  pass_through(mark->ticket);
}

bool Queue::passed(Ticket ticket) {
  std::shared_ptr<Mark> newest;
  {
    Lock lock(mutex_);
    if (ticket <= passed_) return true;
    for (const auto& m : marks_)
      if (m->ticket >= ticket) {
        newest = m;
        break;
      }
  }
  if (!newest || device_.failed()) return false;
  if (device_.driver().event_query(newest->event) != result::success) return false;
  pass_through(newest->ticket);
  return true;
}

void Queue::pass_through(Ticket ticket) {
  {
    Lock lock(mutex_);
    while (!marks_.empty() && marks_.front()->ticket <= ticket) {
      for (const HostCopy& c : marks_.front()->copies) std::memcpy(c.to, c.from, c.bytes);
      idle_events_.push_back(marks_.front()->event);
      passed_ = marks_.front()->ticket;
      marks_.pop_front();
    }
  }
  device_.passed(ticket);
}

}  // namespace tenon::cuda
