#include "base/thread_pool.h"

#include <atomic>

#include "base/check.h"
#include "base/mutex.h"
#include "base/trace.h"

#if !defined(__wasi__)
#include <sched.h>

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <system_error>
#include <thread>
#endif

namespace tenon {
namespace {

// Private memory of one running thread, aligned to a cache line and grown on demand before a command starts.
class Scratch {
 public:
  std::byte* at_least(int64_t bytes) {
    if (bytes + 64 > int64_t(memory_.size())) memory_.resize(size_t(bytes + 64));
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + ((64 - address % 64) % 64);
  }

 private:
  std::vector<std::byte> memory_;
};

// A command's time from its first group to its last.
class KernelSpan {
 public:
  KernelSpan(const std::string& queue, const TeamQueue::Command& c)
      : queue_(queue), name_(tracing() ? c.name : nullptr), start_(name_ ? trace_clock() : 0) {}
  ~KernelSpan() {
    if (name_) trace_kernel(queue_, name_, start_, trace_clock());
  }
  KernelSpan(const KernelSpan&) = delete;
  KernelSpan& operator=(const KernelSpan&) = delete;

 private:
  const std::string& queue_;
  const char* name_;
  int64_t start_;
};

void run_all(const TeamQueue::Command& c, Scratch& scratch) {
  std::byte* mine = scratch.at_least(c.scratch_bytes);
  for (int64_t g = 0; g < c.groups; ++g) c.run(c.context, g, mine);
}

}  // namespace

#if defined(__wasi__)

struct TeamQueue::Impl {
  std::string name;
  Scratch scratch;
  Ticket next = 0;
};
TeamQueue::TeamQueue(int, std::string name) : impl_(std::make_unique<Impl>()) { impl_->name = std::move(name); }
TeamQueue::~TeamQueue() = default;
void TeamQueue::stop() {}
int TeamQueue::threads() const { return 1; }
TeamQueue::Ticket TeamQueue::post(const std::vector<Command>& commands) {
  for (const Command& c : commands) {
    const KernelSpan span(impl_->name, c);
    run_all(c, impl_->scratch);
  }
  return ++impl_->next;
}
void TeamQueue::wait(Ticket) {}
bool TeamQueue::done(Ticket) const { return true; }
int available_threads() { return 1; }

#else

namespace {

// How long a thread spins before it sleeps: about 20 microseconds, longer than the gap between two steps of a plan.
constexpr int spin_rounds = 2000;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

struct TeamQueue::Impl {
  int threads = 1;
  std::string name;

  // Posting side.
  Mutex mutex;
  std::condition_variable posted, passed;
  std::deque<std::pair<Ticket, std::vector<Command>>> batches;
  std::atomic<Ticket> finished{0};
  Ticket last = 0;
  std::atomic<int64_t> waiting_batches{0};
  bool stop = false;

  // The command in progress. Helpers join a command by its number: `work` holds number * 2^32 + helpers inside, so
  // that a helper that comes late never touches a command that was already left.
  const Command* command = nullptr;
  std::atomic<uint64_t> epoch{0};     // counts commands that were opened to helpers
  std::atomic<int64_t> next_group{0};
  std::atomic<int> inside{0};         // helpers that may still touch the command
  std::atomic<bool> open{false};
  std::atomic<bool> stopping{false};
  Mutex sleep_mutex;
  std::condition_variable wake;
  std::atomic<int> sleepers{0};

  std::vector<std::thread> team;

  void work_on(const Command& c, Scratch& scratch) {
    std::byte* mine = scratch.at_least(c.scratch_bytes);
    for (;;) {
      const int64_t g = next_group.fetch_add(1, std::memory_order_relaxed);
      if (g >= c.groups) return;
      c.run(c.context, g, mine);
    }
  }

  void helper() {
    Scratch scratch;
    uint64_t seen = 0;
    for (;;) {
      for (int i = 0; i < spin_rounds && epoch.load(std::memory_order_acquire) == seen && !stopping.load(); ++i)
        pause_briefly();
      if (epoch.load() == seen && !stopping.load()) {
        Lock lock(sleep_mutex);
        sleepers.fetch_add(1);
        wake.wait(lock, [&] { return epoch.load() != seen || stopping.load(); });
        sleepers.fetch_sub(1);
      }
      if (stopping.load()) return;
      seen = epoch.load();
      inside.fetch_add(1);
      if (open.load()) work_on(*command, scratch);
      inside.fetch_sub(1);
    }
  }

  void run_shared(const Command& c, Scratch& scratch) {
    command = &c;
    next_group.store(0);
    open.store(true);
    epoch.fetch_add(1);
    if (sleepers.load() > 0) {
      { Lock lock(sleep_mutex); }
      wake.notify_all();
    }
    work_on(c, scratch);
    open.store(false);
    while (inside.load() != 0) pause_briefly();
  }

  void run_batch(const std::vector<Command>& batch, Scratch& scratch) {
    for (const Command& c : batch) {
      const KernelSpan span(name, c);
      if (threads > 1 && c.groups > 1) run_shared(c, scratch);
      else run_all(c, scratch);
    }
  }

  void leader() {
    Scratch scratch;
    for (;;) {
      for (int i = 0; i < spin_rounds && waiting_batches.load(std::memory_order_acquire) == 0; ++i) pause_briefly();
      std::pair<Ticket, std::vector<Command>> batch;
      {
        Lock lock(mutex);
        posted.wait(lock, [&] { return !batches.empty() || stop; });
        if (batches.empty()) return;
        batch = std::move(batches.front());
        batches.pop_front();
        waiting_batches.fetch_sub(1);
      }
      run_batch(batch.second, scratch);
      {
        Lock lock(mutex);
        finished.store(batch.first, std::memory_order_release);
      }
      passed.notify_all();
    }
  }
};

TeamQueue::TeamQueue(int threads, std::string name) : impl_(std::make_unique<Impl>()) {
  impl_->name = std::move(name);
  impl_->threads = threads < 1 ? 1 : threads;
  try {
    impl_->team.emplace_back([this] { impl_->leader(); });
    for (int i = 1; i < impl_->threads; ++i) impl_->team.emplace_back([this] { impl_->helper(); });
  } catch (const std::system_error& e) {
    const size_t started = impl_->team.size();
    stop();
    throw Error(ErrorCode::device, cat("only ", int64_t(started), " of ", threads, " threads could be started (", e.what(), "); use fewer threads"));
  }
}

TeamQueue::~TeamQueue() { stop(); }

void TeamQueue::stop() {
  if (impl_->team.empty()) return;
  {
    Lock lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->posted.notify_all();
  impl_->team[0].join();  // the leader finishes what was posted, with its helpers still there
  {
    Lock lock(impl_->sleep_mutex);
    impl_->stopping.store(true);
  }
  impl_->wake.notify_all();
  for (size_t i = 1; i < impl_->team.size(); ++i) impl_->team[i].join();
}

int TeamQueue::threads() const { return impl_->threads; }

TeamQueue::Ticket TeamQueue::post(const std::vector<Command>& commands) {
  Ticket ticket;
  {
    Lock lock(impl_->mutex);
    ticket = ++impl_->last;
    impl_->batches.emplace_back(ticket, commands);
    impl_->waiting_batches.fetch_add(1);
  }
  impl_->posted.notify_one();
  return ticket;
}

void TeamQueue::wait(Ticket ticket) {
  for (int i = 0; i < spin_rounds && impl_->finished.load(std::memory_order_acquire) < ticket; ++i) pause_briefly();
  Lock lock(impl_->mutex);
  impl_->passed.wait(lock, [&] { return impl_->finished.load() >= ticket; });
}

bool TeamQueue::done(Ticket ticket) const { return impl_->finished.load(std::memory_order_acquire) >= ticket; }

namespace {

// Whole processors that the container's CPU quota allows (cgroup v2), or 0 when there is no quota.
int cgroup_limit() {
  std::FILE* f = std::fopen("/sys/fs/cgroup/cpu.max", "r");
  if (!f) return 0;
  long long quota = 0, period = 0;
  const int fields = std::fscanf(f, "%lld %lld", &quota, &period);
  std::fclose(f);
  return fields == 2 && quota > 0 && period > 0 ? int((quota + period - 1) / period) : 0;
}

}  // namespace

int available_threads() {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : int(std::thread::hardware_concurrency());
  if (const int limit = cgroup_limit(); limit > 0 && limit < count) count = limit;
  return count < 1 ? 1 : count;
}

#endif

}  // namespace tenon
