#include "base/trace.h"

#include <chrono>
#include <map>
#include <vector>

#include "base/cat.h"
#include "base/mutex.h"
#include "tenon/trace.h"

#if !defined(__wasi__)
#include <thread>
#endif

namespace tenon {

std::atomic<bool> detail::tracing{false};

namespace {

struct Event {
  std::string name;
  int64_t start, end;
  int row;  // of the recording's `rows`
};

// Rows are shown one below the other: each host thread and each device has one.
struct Recording {
  Mutex mutex;
  std::vector<Event> events;
  std::vector<std::string> rows;
  std::map<std::string, int, std::less<>> row_of;

  int row(std::string_view name) {
    auto it = row_of.find(name);
    if (it != row_of.end()) return it->second;
    rows.emplace_back(name);
    return row_of[std::string(name)] = int(rows.size()) - 1;
  }
  void add(std::string_view row_name, std::string_view name, int64_t start, int64_t end) {
    Lock lock(mutex);
    if (tracing()) events.push_back({std::string(name), start, end, row(row_name)});
  }
};

// Never destroyed: threads of devices may still record at exit.
Recording& recording() {
  static Recording& r = *new Recording;
  return r;
}

std::string this_thread() {
#if defined(__wasi__)
  return "main thread";
#else
  static std::atomic<int> threads{0};
  thread_local const int mine = threads.fetch_add(1);
  return mine == 0 ? std::string("main thread") : cat("thread ", mine);
#endif
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

// Microseconds with three decimals.
std::string microseconds(int64_t ns) {
  const std::string part = std::to_string(ns % 1000);
  return cat(ns / 1000, ".", std::string(3 - part.size(), '0'), part);
}

}  // namespace

int64_t trace_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void trace_kernel(std::string_view device, std::string_view kernel, int64_t start, int64_t end) {
  recording().add(cat("device ", device), kernel, start, end);
}

void trace_host(std::string_view what, int64_t start, int64_t end) { recording().add(this_thread(), what, start, end); }

void start_trace() {
  Recording& r = recording();
  Lock lock(r.mutex);
  r.events.clear();
  r.rows.clear();
  r.row_of.clear();
  detail::tracing.store(true);
}

std::string stop_trace() {
  detail::tracing.store(false);
  Recording& r = recording();
  Lock lock(r.mutex);
  int64_t first = r.events.empty() ? 0 : r.events[0].start;
  for (const Event& e : r.events) first = e.start < first ? e.start : first;
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  bool comma = false;
  const auto next = [&](std::string event) {
    out += comma ? ",\n" : "\n";
    out += event;
    comma = true;
  };
  for (size_t i = 0; i < r.rows.size(); ++i)
    next(cat("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":", i, ",\"args\":{\"name\":", quoted(r.rows[i]), "}}"));
  for (const Event& e : r.events)
    next(cat("{\"ph\":\"X\",\"name\":", quoted(e.name), ",\"pid\":1,\"tid\":", e.row, ",\"ts\":", microseconds(e.start - first),
             ",\"dur\":", microseconds(e.end - e.start), "}"));
  r.events.clear();
  return out + "\n]}\n";
}

}  // namespace tenon
