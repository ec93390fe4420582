#include "backends/cuda/timeline.h"

#include <cmath>

#include "base/trace.h"

namespace tenon::cuda {

Timeline::~Timeline() {
  if (!device_.activate_quietly()) return;
  const Driver& driver = device_.driver();
  for (const Span& s : pending_) idle_.insert(idle_.end(), {s.begin, s.end});
  for (Event e : {start_.event, begun_})
    if (e) idle_.push_back(e);
  for (Event e : idle_) driver.event_destroy(e);
}

void Timeline::begin(Stream stream) {
  Lock lock(mutex_);
  if (pending_.size() >= most_pending) {
    device_.check(device_.driver().event_wait(pending_.back().end), "waiting for the device");
    collect_passed();
  }
  // Between two bursts of work; within one that lasts longer the clocks have to do.
  if (pending_.empty() && (!start_.event || trace_clock() - start_.host > clocks_agree)) set_clocks(stream);
  if (begun_) idle_.push_back(begun_);  // of a launch that was refused
  begun_ = nullptr;
  begun_ = record(stream);
}

void Timeline::end(Stream stream, const std::string& name) {
  Lock lock(mutex_);
  pending_.push_back({name, begun_, nullptr});
  begun_ = nullptr;
  pending_.back().end = record(stream);
}

void Timeline::collect() {
  Lock lock(mutex_);
  if (!pending_.empty() && device_.activate_quietly()) collect_passed();
}

Event Timeline::take() {
  if (idle_.empty()) {
    Event made = nullptr;
    device_.check(device_.driver().event_create(&made, 0), "making an event");
    return made;
  }
  const Event e = idle_.back();
  idle_.pop_back();
  return e;
}

Event Timeline::record(Stream stream) {
  const Event e = take();
  if (const Result r = device_.driver().event_record(e, stream); r != result::success) {
    idle_.push_back(e);
    device_.check(r, "recording an event");
  }
  return e;
}

// The host sees an event later than it passed: the shortest of a few waits is the closest.
void Timeline::set_clocks(Stream stream) {
  if (start_.event) idle_.push_back(start_.event);
  start_ = {};
  int64_t shortest = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const Event e = record(stream);
    if (i == 0) device_.check(device_.driver().event_wait(e), "waiting for the device");  // for what ran before
    const int64_t before = trace_clock();
    device_.check(device_.driver().event_record(e, stream), "recording an event");
    device_.check(device_.driver().event_wait(e), "waiting for the device");
    const int64_t took = trace_clock() - before;
    if (took < shortest) {
      if (start_.event) idle_.push_back(start_.event);
      start_ = {e, before + took / 2};
      shortest = took;
    } else {
      idle_.push_back(e);
    }
  }
}

int64_t Timeline::host_time(Event event) {
  float milliseconds = 0;
  if (device_.driver().event_elapsed(&milliseconds, start_.event, event) != result::success) return start_.host;
  return start_.host + std::llround(double(milliseconds) * 1e6);
}

void Timeline::collect_passed() {
  while (!pending_.empty() && device_.driver().event_query(pending_.front().end) == result::success) {
    const Span& s = pending_.front();
    trace_kernel(device_.name(), s.name, host_time(s.begin), host_time(s.end));
    idle_.insert(idle_.end(), {s.begin, s.end});
    pending_.pop_front();
  }
}

}  // namespace tenon::cuda
