// A backend that wraps another one and misbehaves as told: no memory, launches that fail at once or late, slow launches,
// narrow limits. It runs commands on a thread of its own, in order, so that submission and waiting are apart. What the
// shared layers must not do (a view off the alignment, too many buffers or groups) is an error of the dispatch.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "backends/cpu/cpu.h"
#include "backends/host/host.h"
#include "base/cat.h"
#include "runtime/device_context.h"
#include "runtime/grid.h"

namespace tenon::testing {

// What goes wrong; a test keeps it and changes it while the device runs. Counts are down to 0: "the n-th from now";
// negative: never.
struct Faults {
  std::atomic<int> alloc{-1};          // out of memory, from the n-th on
  std::atomic<int> alloc_once{-1};     // the n-th only
  std::atomic<int> dispatch{-1};       // dispatch() throws
  std::atomic<int> launch{-1};         // accepted, fails when the queue comes to it
  std::atomic<int> delay_us{0};        // of each launch
  std::atomic<int> launched{0};        // launches that ran
  std::atomic<int64_t> live_blocks{0};
  int64_t view_alignment = 1;
  int max_bindings = 32;
  int64_t max_groups = int64_t(1) << 62;
  int64_t memory_bytes = int64_t(1) << 62;
  static bool strikes(std::atomic<int>& count) { return count >= 0 && count-- == 0; }
};

class FaultyBackend : public Backend {
 public:
  FaultyBackend(std::unique_ptr<Backend> inner, std::shared_ptr<Faults> faults)
      : inner_(std::move(inner)), faults_(std::move(faults)), limits_(inner_->limits()) {
    limits_.view_alignment = faults_->view_alignment;
    limits_.max_bindings = faults_->max_bindings;
    limits_.max_groups = faults_->max_groups;
    limits_.memory_bytes = faults_->memory_bytes;
    worker_ = std::thread([this] { work(); });
  }
  ~FaultyBackend() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }

  const std::string& name() const override { return inner_->name(); }
  const std::string& description() const override { return inner_->description(); }
  const Limits& limits() const override { return limits_; }

  Handle alloc(int64_t bytes) override {
    if (faults_->alloc == 0 || Faults::strikes(faults_->alloc_once)) throw Error(ErrorCode::out_of_memory, cat("faulty: ", bytes, " bytes asked"), {.device = name()});
    if (faults_->alloc > 0) --faults_->alloc;
    ++faults_->live_blocks;
    return inner_->alloc(bytes);
  }
  void free(Handle h) override {
    --faults_->live_blocks;
    inner_->free(h);
  }
  void write(Handle to, int64_t offset, std::span<const std::byte> bytes) override {
    record([=, this, held = std::vector<std::byte>(bytes.begin(), bytes.end())] { inner_->write(to, offset, held); });
  }
  void read(Handle from, int64_t offset, std::span<std::byte> into) override {
    record([=, this] { inner_->read(from, offset, into); });
  }
  void copy(Handle to, int64_t to_offset, Handle from, int64_t from_offset, int64_t bytes) override {
    record([=, this] { inner_->copy(to, to_offset, from, from_offset, bytes); });
  }

  const BackendKernel* kernel(const KernelDesc& desc, KernelChoice choice) override { return inner_->kernel(desc, choice); }
  Grid grid(const BackendKernel& k, const Params& params) const override { return inner_->grid(k, params); }
  void prepare(std::span<const PlannedLaunch> launches) override { inner_->prepare(launches); }
  void dispatch(const BackendKernel& k, std::span<const BoundView> views, const Params& params, BoundView scalars,
                const Grid& grid) override {
    check_limits(k, views, scalars, grid);
    if (Faults::strikes(faults_->dispatch)) throw Error(ErrorCode::device, cat("faulty: ", k.name, " was refused"), {.device = name()});
    const bool fails = Faults::strikes(faults_->launch);
    record([=, this, &k, &params, held = std::vector<BoundView>(views.begin(), views.end())] {
      if (const int us = faults_->delay_us) std::this_thread::sleep_for(std::chrono::microseconds(us));
      if (fails) return fail(k.name);
      inner_->dispatch(k, held, params, scalars, grid);
      ++faults_->launched;
    });
  }

  Ticket submit() override {
    std::lock_guard lock(mutex_);
    ++submitted_;
    for (Command& c : recorded_) queue_.push_back({submitted_, std::move(c)});
    queue_.push_back({submitted_, {}});
    recorded_.clear();
    changed_.notify_all();
    return submitted_;
  }
  void wait(Ticket ticket) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return passed_ >= ticket; });
  }
  bool passed(Ticket ticket) const override {
    std::lock_guard lock(mutex_);
    return passed_ >= ticket;
  }
  std::optional<Failure> next_failure() override {
    std::lock_guard lock(mutex_);
    if (failures_.empty()) return std::nullopt;
    const Failure f = failures_.front();
    failures_.pop_front();
    return f;
  }

 private:
  using Command = std::function<void()>;
  struct Queued {
    Ticket ticket;
    Command run;  // empty: the end of the submission
  };

  void record(Command c) { recorded_.push_back(std::move(c)); }

  void check_limits(const BackendKernel& k, std::span<const BoundView> views, BoundView scalars, const Grid& grid) const {
    std::set<uint64_t> buffers;
    if (scalars.buffer) buffers.insert(scalars.buffer.id);
    for (const BoundView& v : views) {
      buffers.insert(v.buffer.id);
      const bool united = std::all_of(views.begin(), views.end(), [&](const BoundView& o) {
        return !(o.buffer == v.buffer) || v.block_access == Access::inout || o.access == v.block_access;
      });
      if (v.offset % limits_.view_alignment != 0 || !united) throw Error(ErrorCode::internal, cat(k.name, ": a view at ", v.offset));
    }
    if (int(buffers.size()) > limits_.max_bindings) throw Error(ErrorCode::internal, cat(k.name, ": ", buffers.size(), " buffers"));
    if (!grid_dimensions(grid.groups, limits_.max_groups)) throw Error(ErrorCode::internal, cat(k.name, ": ", grid.groups, " groups"));
  }

  void fail(const std::string& kernel) {
    std::lock_guard lock(mutex_);
    failures_.push_back({running_, Error(ErrorCode::device, cat("faulty: ", kernel, " failed"), {.device = name()})});
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      Queued next = std::move(queue_.front());
      queue_.pop_front();
      running_ = next.ticket;
      lock.unlock();
      if (next.run) next.run();
      else inner_->wait(inner_->submit());
      lock.lock();
      if (next.run) continue;
      passed_ = next.ticket;
      changed_.notify_all();
    }
  }

  std::unique_ptr<Backend> inner_;
  std::shared_ptr<Faults> faults_;
  Limits limits_;
  std::vector<Command> recorded_;  // under the device's lock
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Queued> queue_;
  std::deque<Failure> failures_;
  Ticket submitted_ = 0, passed_ = 0, running_ = 0;
  bool stop_ = false;
  std::thread worker_;
};

// `inner`: "cpu" (with one thread) or "host".
inline Device faulty_device(const std::string& inner, std::shared_ptr<Faults> faults) {
  auto backend = inner == "cpu" ? open_cpu("cpu", 1) : open_host("host", 1);
  return Device(std::make_shared<DeviceContext>(std::make_unique<FaultyBackend>(std::move(backend), std::move(faults))));
}

}  // namespace tenon::testing
