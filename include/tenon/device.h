// Devices: where tensors live and ops run.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tenon {

class DeviceContext;

// What crossed the bus and what ran, since the device was opened. Differences of two snapshots count a phase.
struct Counters {
  int64_t launches = 0;     // kernels dispatched
  int64_t bytes_up = 0;     // host to device
  int64_t bytes_down = 0;   // device to host
  int64_t waits = 0;        // times the host waited for the device
  int64_t allocations = 0;  // blocks taken from the system (not from the pool)
  int64_t plans = 0;        // plans made (not found in the cache)
  int64_t state_copies = 0; // State updates that had to copy because a snapshot was still held
  friend Counters operator-(Counters a, const Counters& b) {
    a.launches -= b.launches;
    a.bytes_up -= b.bytes_up;
    a.bytes_down -= b.bytes_down;
    a.waits -= b.waits;
    a.allocations -= b.allocations;
    a.plans -= b.plans;
    a.state_copies -= b.state_copies;
    return a;
  }
};

// A handle to an open device. Copies share it.
class Device {
 public:
  // "cuda:0", "cuda:1", …, "cpu", "host", "null:roomy", "null:webgpu", "null:tiny", "null:cuda"; a family alone
  // ("cuda") means its first device. The same name gives the same device within a process.
  // Throws Error(device) naming the devices there are.
  static Device open(const std::string& name);
  // A device of its own with a given number of threads (0: all that the process may use).
  static Device open(const std::string& name, int threads);
  // TENON_DEVICE, or the best that was found.
  static Device default_device();

  const std::string& name() const;
  const std::string& description() const;
  Counters counters() const;
  // Launches by kernel name since the device was opened or the census was reset.
  std::map<std::string, int64_t> census() const;
  void reset_census() const;
  int64_t memory_bytes() const;       // held now
  int64_t peak_memory_bytes() const;  // most ever held
  // Whether it compiles kernels and keeps them on disk (tenon/kernel_cache.h).
  bool keeps_kernels() const;
  // Waits until all submitted work is done. Throws the first failure of work whose value nobody read yet.
  void synchronize() const;
  bool operator==(const Device& o) const { return context_ == o.context_; }

  explicit Device(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {}
  DeviceContext* context() const { return context_.get(); }
  const std::shared_ptr<DeviceContext>& shared() const { return context_; }

 private:
  std::shared_ptr<DeviceContext> context_;
};

struct DeviceInfo {
  std::string name;         // what Device::open takes
  std::string description;  // empty when not available
  bool available = false;
  std::string reason;       // why not
};
// Every device this build knows, in the order of preference.
std::vector<DeviceInfo> list_devices();

}  // namespace tenon
