// An open device: its backend, memory pool, counters and plan cache.
#pragma once
#include <any>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/ref.h"
#include "runtime/backend.h"
#include "runtime/outcome.h"
#include "runtime/replays.h"
#include "tenon/device.h"

namespace tenon {

// Blocks of device memory by size. Work of one device runs in the order of submission, so a block may be used again
// as soon as its last use was recorded; only giving it back to the system waits for the queue.
class Pool {
 public:
  explicit Pool(Backend& backend) : backend_(backend) {}
  ~Pool();
  struct Block {
    Handle handle;
    int64_t bytes = 0;
  };
  Block take(int64_t bytes, Counters& counters);
  void give(Block block);
  // Gives all free blocks back to the system.
  void trim();
  int64_t held() const { return held_; }
  int64_t in_use() const { return in_use_; }
  int64_t peak() const { return peak_; }

 private:
  Handle alloc(int64_t bytes);  // gives free blocks back before it fails
  Backend& backend_;
  std::multimap<int64_t, Handle> free_;
  int64_t held_ = 0, in_use_ = 0, peak_ = 0;
};

// Which copy of an allocation is current: the device's, the host's or both. One type for all devices; moved, not copied.
template <class DeviceCopy>
struct Residency {
  DeviceCopy device{};
  std::vector<std::byte> host;
  bool device_live = false;
  bool host_live = false;
};

// A run of bytes on one device. Made from host bytes it uploads itself at its first use on the device.
class Storage : public RefCounted<Storage> {
 public:
  Storage(std::shared_ptr<DeviceContext> device, int64_t bytes);                  // undefined content
  Storage(std::shared_ptr<DeviceContext> device, std::vector<std::byte> bytes);  // content from the host
  static void destroy(const Storage* s);

  const std::shared_ptr<DeviceContext>& device() const { return device_; }
  int64_t bytes() const { return bytes_; }
  Handle handle();  // uploads if needed; caller holds the device's lock

  // Of the submission that wrote the content last; null when it came from the host.
  const std::shared_ptr<Outcome>& outcome() const { return outcome_; }
  void set_outcome(std::shared_ptr<Outcome> outcome) { outcome_ = std::move(outcome); }
  bool lost() const { return outcome_ && outcome_->failed(); }
  // Throws the error of the submission that should have computed the content.
  void require_content() const;

 private:
  ~Storage() = default;
  std::shared_ptr<DeviceContext> device_;
  int64_t bytes_;
  Residency<Pool::Block> residency_;
  std::shared_ptr<Outcome> outcome_;
};

class DeviceContext : public std::enable_shared_from_this<DeviceContext> {
 public:
  explicit DeviceContext(std::unique_ptr<Backend> backend);
  ~DeviceContext();

  Backend& backend() { return *backend_; }
  const Limits& limits() const { return backend_->limits(); }
  // Held while work is recorded and submitted; building graphs needs no lock.
  RecursiveMutex& mutex() { return mutex_; }

  // All of these need the lock.
  Pool& pool() { return *pool_; }
  Counters& counters() { return counters_; }
  // Launches of each kernel.
  std::unordered_map<const BackendKernel*, int64_t>& census() { return census_; }
  // Keeps `what` alive until the queue has passed `ticket`, and follows how that submission went.
  void keep_until(Backend::Ticket ticket, std::shared_ptr<const void> what, std::shared_ptr<Outcome> outcome);
  // Learns what failed since, and lets go of what the queue has passed.
  void release_passed();
  // The first failure that no call has thrown yet.
  std::optional<Error> take_failure() { return std::exchange(failure_, std::nullopt); }
  Replays& replays() { return replays_; }
  // For the layer above: its plan cache.
  std::shared_ptr<void>& attachment() { return attachment_; }

 private:
  std::unique_ptr<Backend> backend_;
  RecursiveMutex mutex_;
  Counters counters_;
  std::unordered_map<const BackendKernel*, int64_t> census_;
  std::unique_ptr<Pool> pool_;
  struct Kept {
    Backend::Ticket ticket;
    std::shared_ptr<const void> what;
    std::shared_ptr<Outcome> outcome;
  };
  std::vector<Kept> kept_;  // in the order of submission
  std::optional<Error> failure_;
  Replays replays_;
  std::shared_ptr<void> attachment_;
};

}  // namespace tenon
