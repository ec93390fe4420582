// What the driver's handles stand for.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <functional>
#include <string>
#include <vector>

#include "backends/cuda/driver_api.h"
#include "kernel_text.h"
#include "work_queue.h"

namespace standin {

using tenon::cuda::Result;

// A device with its primary context.
struct DeviceObject {
  int ordinal = 0;
  int retained = 0;
  std::atomic<Result> failure{0};  // after a fault: what every call answers
};

// Work in order; one stream's, as it was captured.
struct GraphObject {
  int number;
  std::vector<std::function<void()>> work;
};
struct GraphExecObject {
  int number;
  std::shared_ptr<const GraphObject> graph;
};

struct StreamObject {
  DeviceObject* device;
  WorkQueue work;
  std::shared_ptr<GraphObject> captured;  // what is posted goes there, and does not run
};

struct EventObject {
  int number;
  StreamObject* stream = nullptr;  // null until recorded
  uint64_t position = 0;
  bool timed = false;
  std::atomic<int64_t> passed_at{0};  // nanoseconds of some clock, of an event that is timed
};

struct FunctionObject {
  std::string hash, name;
  size_t dynamic_limit = 48 << 10;
};

struct ModuleObject {
  int number;
  Image image;
  std::string hash;
  std::deque<FunctionObject> functions;  // a deque: handles are their addresses
};

}  // namespace standin
