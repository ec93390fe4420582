// Recording of include/tenon/trace.h, for the layers that have something to record.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

namespace detail {
extern std::atomic<bool> tracing;
}
inline bool tracing() { return detail::tracing.load(std::memory_order_relaxed); }

// Nanoseconds of the clock that all spans are on.
int64_t trace_clock();
// A kernel's time on a device.
void trace_kernel(std::string_view device, std::string_view kernel, int64_t start, int64_t end);
// A span of the calling thread.
void trace_host(std::string_view what, int64_t start, int64_t end);

// Records from its making to its end.
class TraceSpan {
 public:
  explicit TraceSpan(const char* what) : what_(tracing() ? what : nullptr), start_(what_ ? trace_clock() : 0) {}
  ~TraceSpan() {
    if (what_) trace_host(what_, start_, trace_clock());
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  const char* what_;
  int64_t start_;
};

}  // namespace tenon
