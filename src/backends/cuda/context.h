// One device: what it can do, its context, and the driver's results as errors.
#pragma once
#include <cstdint>
#include <deque>
#include <string>

#include "backends/cuda/driver.h"
#include "base/mutex.h"

namespace tenon::cuda {

struct Properties {
  std::string model;   // "NVIDIA H200"
  int capability = 0;  // 10 * major + minor
  int max_threads = 0;
  int64_t shared_bytes = 0;  // of one group, when asked for
  int64_t max_grid_x = 0, max_grid_y = 0;
  int64_t memory_bytes = 0;
};
// Asks the driver; needs no context. Throws Error(device).
Properties properties(const Driver& driver, int ordinal);

// Older devices are refused: the kernels need independent thread scheduling and its shuffles.
inline constexpr int lowest_capability = 75;

class DeviceHandle {
 public:
  // The context is made at the first use of the device: listing devices stays cheap.
  DeviceHandle(const Driver& driver, int ordinal, std::string name);
  ~DeviceHandle();
  DeviceHandle(const DeviceHandle&) = delete;

  const Driver& driver() const { return driver_; }
  const std::string& name() const { return name_; }
  // Makes the device the calling thread's. Throws the cause when the device failed before.
  void activate();
  // The same for giving back: false when the device failed, and nothing is left to give back.
  bool activate_quietly();
  // Whether an error left the device unusable for this process.
  bool failed();
  // Throws when `r` is an error: with the driver's name for it, what was done, and after a fault of the device the
  // launches that may have caused it.
  void check(Result r, const std::string& doing);

  // For messages: a launch that belongs to `ticket`; launches up to `ticket` are done.
  void launched(uint64_t ticket, const std::string& kernel, int64_t groups, int threads, int64_t shared_bytes);
  void replayed(uint64_t ticket, const std::string& about);
  void passed(uint64_t ticket);

 private:
  struct Launch {
    uint64_t ticket;
    const std::string* kernel;  // or what a replay is about; lives as long as the backend
    int64_t groups;
    int threads;  // 0: a replay
    int64_t shared_bytes;
  };
  std::string running() const;

  const Driver& driver_;
  const int ordinal_;
  const std::string name_;
  Context context_ = nullptr;
  DeviceNumber device_ = 0;
  Mutex mutex_;
  std::string cause_;            // why the device failed
  std::deque<Launch> launches_;  // the last few that have not passed
};

// "kernel k: 4 groups of 256 threads, 0 bytes of shared memory"
std::string launch_text(const std::string& kernel, int64_t groups, int threads, int64_t shared_bytes);

}  // namespace tenon::cuda
