#include "backends/cpu/cpu.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "kernels/native_kernels.h"
#include "base/check.h"
#include "base/cpu_features.h"
#include "base/thread_pool.h"

namespace tenon {
namespace {

constexpr size_t max_buffers = 24;
// Small writes are copied into the command; larger ones wait for the queue and go straight to their place.
constexpr size_t staged_bytes = 4096;
constexpr int64_t copy_bytes_per_group = int64_t(1) << 20;

std::byte* address(Handle h) { return reinterpret_cast<std::byte*>(uintptr_t(h.id)); }

struct Recorded {
  // launch
  const ReadyKernel* kernel = nullptr;
  const Params* params = nullptr;
  const uint32_t* scalars = nullptr;
  std::array<std::byte*, max_buffers> buffers{};
  // copy
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  int64_t bytes = 0;
  std::vector<std::byte> staged;
};

void run_launch(void* context, int64_t group, std::byte* scratch) {
  auto& r = *static_cast<Recorded*>(context);
  const KernelArgs args{&r.kernel->desc, r.kernel->prepared.get(), r.buffers.data(), r.params, r.scalars};
  r.kernel->code->run(args, group, scratch);
}

void run_copy(void* context, int64_t group, std::byte*) {
  auto& r = *static_cast<Recorded*>(context);
  const int64_t start = group * copy_bytes_per_group;
  std::memcpy(r.to + start, r.from + start, size_t(std::min(copy_bytes_per_group, r.bytes - start)));
}

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(int threads) : queue_(threads > 0 ? threads : available_threads(), "cpu") {
    limits_.wide_lanes = true;
    limits_.prologue_rows = 4;
    limits_.prologue_elements = 256;
    description_ = cat(to_string(cpu_isa()), ", ", queue_.threads(), queue_.threads() == 1 ? " thread" : " threads");
  }
  ~CpuBackend() override { wait(submit()); }

  const std::string& name() const override { return name_; }
  const std::string& description() const override { return description_; }
  const Limits& limits() const override { return limits_; }

  Handle alloc(int64_t bytes) override {
    void* p = std::aligned_alloc(64, size_t((bytes + 63) / 64 * 64));
    if (!p) throw Error(ErrorCode::out_of_memory, cat("cpu: ", bytes, " bytes asked, the system has no more"), {.device = name_});
    return {reinterpret_cast<uintptr_t>(p)};
  }
  void free(Handle h) override { std::free(address(h)); }

  void write(Handle to, int64_t offset, std::span<const std::byte> bytes) override {
    if (bytes.empty()) return;
    if (bytes.size() > staged_bytes) {
      wait(submit());
      std::memcpy(address(to) + offset, bytes.data(), bytes.size());
      return;
    }
    Recorded& r = record();
    r.staged.assign(bytes.begin(), bytes.end());
    add_copy(r, address(to) + offset, r.staged.data(), int64_t(bytes.size()));
  }
  void read(Handle from, int64_t offset, std::span<std::byte> into) override {
    if (!into.empty()) add_copy(record(), into.data(), address(from) + offset, int64_t(into.size()));
  }
  void copy(Handle to, int64_t to_offset, Handle from, int64_t from_offset, int64_t bytes) override {
    if (bytes > 0) add_copy(record(), address(to) + to_offset, address(from) + from_offset, bytes);
  }

  const BackendKernel* kernel(const KernelDesc& desc, KernelChoice choice) override {
    return kernels_.find(desc, choice);
  }
  Grid grid(const BackendKernel& k, const Params& params) const override {
    const auto& ready = static_cast<const ReadyKernel&>(k);
    return ready.code->grid(ready.desc, params);
  }
  void dispatch(const BackendKernel& k, std::span<const BoundView> views, const Params& params, BoundView scalars,
                const Grid& grid) override {
    TENON_CHECK(views.size() <= max_buffers);
    Recorded& r = record();
    r.kernel = static_cast<const ReadyKernel*>(&k);
    r.params = &params;
    r.scalars = reinterpret_cast<const uint32_t*>(address(scalars.buffer) + scalars.offset);
    for (size_t i = 0; i < views.size(); ++i)
      r.buffers[i] = address(views[i].buffer) + views[i].offset + native_base(r.kernel->desc, params, i);
    commands_.push_back({run_launch, &r, grid.groups, grid.scratch_bytes, k.name.c_str()});
  }

  Ticket submit() override {
    while (!in_flight_.empty() && queue_.done(in_flight_.front().ticket)) in_flight_.pop_front();
    if (commands_.empty()) return last_;
    last_ = queue_.post(commands_);
    commands_.clear();
    in_flight_.push_back({last_, std::move(recorded_)});
    recorded_.clear();
    return last_;
  }
  void wait(Ticket ticket) override { queue_.wait(ticket); }
  bool passed(Ticket ticket) const override { return queue_.done(ticket); }

 private:
  // A deque: commands point to their records.
  Recorded& record() { return recorded_.emplace_back(); }
  void add_copy(Recorded& r, std::byte* to, const std::byte* from, int64_t bytes) {
    r.to = to;
    r.from = from;
    r.bytes = bytes;
    commands_.push_back({run_copy, &r, (bytes + copy_bytes_per_group - 1) / copy_bytes_per_group, 0, "copy"});
  }

  struct InFlight {
    Ticket ticket;
    std::deque<Recorded> recorded;
  };
  std::string name_ = "cpu", description_;
  Limits limits_;
  NativeKernels kernels_{"cpu"};
  TeamQueue queue_;
  std::vector<TeamQueue::Command> commands_;
  std::deque<Recorded> recorded_;
  std::deque<InFlight> in_flight_;
  Ticket last_ = 0;
};

}  // namespace

std::unique_ptr<Backend> open_cpu(const std::string&, int threads) { return std::make_unique<CpuBackend>(threads); }

}  // namespace tenon
