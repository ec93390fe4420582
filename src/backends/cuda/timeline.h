// When each launch ran, while a trace is recorded: an event before and behind it in the stream, read once they have
// passed. Launches stay as asynchronous as they are without a trace; the driver's own timer costs each about a microsecond.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/context.h"

namespace tenon::cuda {

class Timeline {
 public:
  explicit Timeline(DeviceHandle& device) : device_(device) {}
  ~Timeline();
  Timeline(const Timeline&) = delete;

  // Around what is recorded into the stream between them. begin() waits for the stream when the clocks have to be set.
  void begin(Stream stream);
  void end(Stream stream, const std::string& name);
  // Gives the trace all spans that have passed. Thread-safe beside begin() and end(); never throws.
  void collect();

 private:
  struct Span {
    std::string name;
    Event begin, end;
  };
  // A moment on both clocks.
  struct Moment {
    Event event = nullptr;
    int64_t host = 0;  // trace_clock()
  };
  // The device's clock drifts against the host's, and the driver tells differences as a float of milliseconds.
  static constexpr int64_t clocks_agree = 1000000000;  // for so many nanoseconds
  static constexpr size_t most_pending = 8192;

  Event take();
  Event record(Stream stream);
  void set_clocks(Stream stream);
  int64_t host_time(Event event);
  void collect_passed();

  DeviceHandle& device_;
  Mutex mutex_;
  Moment start_;
  Event begun_ = nullptr;
  std::deque<Span> pending_;
  std::vector<Event> idle_;
};

}  // namespace tenon::cuda
