#include "backends/cuda/cuda.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <unordered_set>
#include <utility>

#include "backends/cuda/context.h"
#include "backends/cuda/graph.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/queue.h"
#include "backends/cuda/staging.h"
#include "backends/cuda/timeline.h"
#include "base/check.h"
#include "base/trace.h"

namespace tenon {
namespace cuda {
namespace {

const std::string family = "cuda:";

DeviceAddress address(Handle h) { return h.id; }

int ordinal(const std::string& name) { return std::atoi(name.c_str() + family.size()); }

std::string capability_text(int capability) { return cat(capability / 10, ".", capability % 10); }

class CudaBackend : public Backend {
 public:
  CudaBackend(const std::string& name, const Driver& driver, const Properties& p, Generator generator)
      : properties_(p), handle_(std::make_shared<DeviceHandle>(driver, ordinal(name), name)), queue_(device_),
        up_(device_, queue_), down_(device_, queue_), images_(nvrtc(), KernelCache::of_this_process(), p.capability),
        kernels_(device_, images_, images_.target({p.capability, p.max_threads, p.shared_bytes}), generator) {
    description_ = cat(p.model, ", compute capability ", capability_text(p.capability), ", ", p.memory_bytes >> 20,
                       " MiB, CUDA ", version_text(driver.version()), ", ", images_.description());
    limits_ = codegen::limits();
    limits_.replays = limits_.keeps_kernels = true;
    limits_.fixed_kernels = !images_.compiles();
    limits_.max_buffer_bytes = limits_.memory_bytes = p.memory_bytes;
    limits_.max_groups = p.max_grid_x * p.max_grid_y;
    const char* sync = std::getenv("TENON_CUDA_SYNC");
    wait_always_ = sync && *sync && *sync != '0';
  }
  ~CudaBackend() override {
    try {
      device_.activate();  // for what the members give back
      wait(submit());
    } catch (const Error&) {
      // A device that failed has nothing left to wait for.
    }
    if (scratch_) free(scratch_);
  }

  const std::string& name() const override { return device_.name(); }
  const std::string& description() const override { return description_; }
  const Limits& limits() const override { return limits_; }

  Handle alloc(int64_t bytes) override {
    device_.activate();
    DeviceAddress a = 0;
    const Result r = device_.driver().memory_alloc(&a, size_t(bytes));
    if (r == result::out_of_memory) {
      size_t free = 0, total = 0;
      device_.driver().memory_info(&free, &total);
      throw Error(ErrorCode::out_of_memory,
                  cat(name(), ": ", bytes, " bytes asked, ", int64_t(free), " of ", int64_t(total), " are free"), {.device = name()});
    }
    device_.check(r, cat("allocating ", bytes, " bytes"));
    return {a};
  }
  void free(Handle h) override {
    if (device_.activate_quietly()) device_.driver().memory_free(address(h));
  }

  void write(Handle to, int64_t offset, std::span<const std::byte> bytes) override {
    for_pieces(bytes.size(), [&](size_t at, size_t n) {
      std::byte* piece = up_.take(int64_t(n));
      std::memcpy(piece, bytes.data() + at, n);
      check_copy(device_.driver().copy_up(address(to) + uint64_t(offset) + at, piece, n, queue_.record()), n, "to");
    });
  }
  void read(Handle from, int64_t offset, std::span<std::byte> into) override {
    try {
      for_pieces(into.size(), [&](size_t at, size_t n) {
        std::byte* piece = down_.take(int64_t(n));
        check_copy(device_.driver().copy_down(piece, address(from) + uint64_t(offset) + at, n, queue_.record()), n, "from");
        queue_.copy_when_passed(into.data() + at, piece, n);
      });
    } catch (...) {
      queue_.forget_copies(into.data(), into.size());  // the caller's memory goes with the error
      throw;
    }
  }
  void copy(Handle to, int64_t to_offset, Handle from, int64_t from_offset, int64_t bytes) override {
    if (bytes <= 0) return;
    check_copy(device_.driver().copy_within(address(to) + uint64_t(to_offset), address(from) + uint64_t(from_offset),
                                            size_t(bytes), queue_.record()),
               size_t(bytes), "within");
  }

  const BackendKernel* kernel(const KernelDesc& desc, KernelChoice choice) override { return kernels_.find(desc, choice); }
  Grid grid(const BackendKernel& k, const Params& params) const override { return kernels_.grid(static_cast<const Kernel&>(k), params); }
  bool serves(std::span<const PlannedLaunch> launches) override { return kernels_.serves(launches); }
  void prepare(std::span<const PlannedLaunch> launches) override {
    kernels_.prepare(launches);
    for (const PlannedLaunch& l : launches) grow_scratch(l.grid.scratch_bytes);
  }
  void dispatch(const BackendKernel& k, std::span<const BoundView> views, const Params& params, BoundView scalars,
                const Grid&) override {
    const auto& kernel = static_cast<const Kernel&>(k);
    TENON_CHECK(int(views.size()) <= limits_.max_bindings && kernel.functions.size() == kernel.source.phases.size());
    const codegen::Extent extent = kernels_.extent(kernel, params);
    TENON_CHECK(extent.groups.size() == kernel.functions.size() && extent.scratch_bytes <= scratch_bytes_);
    std::array<DeviceAddress, max_bindings + 2> addresses;
    std::array<void*, max_bindings + 3> arguments;
    size_t n = 0;
    auto add = [&](DeviceAddress a) {
      addresses[n] = a;
      arguments[n] = &addresses[n];
      ++n;
    };
    for (size_t i = 0; i < views.size(); ++i)
      add(address(views[i].buffer) + uint64_t(views[i].offset + native_base(kernel.desc, params, i)));
    add(address(scalars.buffer) + uint64_t(scalars.offset));
    arguments[n++] = const_cast<Params*>(&params);
    if (kernel.source.scratch) {
      addresses[n] = address(scratch_);
      arguments[n] = &addresses[n];
    }
    for (size_t phase = 0; phase < kernel.functions.size(); ++phase) launch(kernel, phase, extent.groups[phase], arguments.data());
  }

  // While launches are waited for, one by one, nothing is recorded.
  bool begin_recording() override {
    if (wait_always_ || tracing()) return false;
    device_.check(device_.driver().capture_begin(queue_.record(), capture_relaxed), "recording launches");
    recorded_ = Recorded{};
    return true;
  }
  std::shared_ptr<Recording> end_recording() override {
    TENON_CHECK(recorded_);
    const Recorded r = *std::exchange(recorded_, std::nullopt);
    Graph graph = nullptr;
    const Result ended = device_.driver().capture_end(queue_.record(), &graph);
    device_.check(ended, "recording launches");
    return std::make_shared<GraphRecording>(
        handle_, graph, cat("a replay of ", r.launches, " launches, from ", r.first, " to ", r.last), scratch_);
  }
  bool replay(const Recording& recording) override {
    const auto& graph = static_cast<const GraphRecording&>(recording);
    if (wait_always_ || tracing() || graph.scratch() != scratch_) return false;
    const Stream stream = queue_.record();
    device_.replayed(queue_.next_ticket(), *replayed_.insert(graph.about()).first);
    graph.launch(stream);
    return true;
  }

  Ticket submit() override { return queue_.submit(); }
  void wait(Ticket ticket) override {
    queue_.wait(ticket);
    timeline_.collect();
  }
  bool passed(Ticket ticket) const override { return queue_.passed(ticket); }

 private:
  template <class F>
  static void for_pieces(size_t bytes, F f) {
    for (size_t at = 0; at < bytes; at += size_t(Staging::slot_bytes)) f(at, std::min(bytes - at, size_t(Staging::slot_bytes)));
  }
  void check_copy(Result r, size_t bytes, const char* way) {
    if (r != result::success) device_.check(r, cat("a copy of ", int64_t(bytes), " bytes ", way, " the device"));
  }

  // Groups go over x and, past its limit, over y; the rows are of equal length, so a few groups may be too many.
  void launch(const Kernel& kernel, size_t phase, int64_t groups, void** arguments) {
    if (groups == 0) return;
    const codegen::Phase& p = kernel.source.phases[phase];
    const int64_t rows = (groups + properties_.max_grid_x - 1) / properties_.max_grid_x;
    const int64_t columns = (groups + rows - 1) / rows;
    const Stream stream = queue_.record();
    const bool traced = tracing() && !recorded_;
    if (traced) timeline_.begin(stream);
    if (recorded_) recorded_->add(p.entry);
    else device_.launched(queue_.next_ticket(), kernel.name, groups, p.threads, p.dynamic_shared_bytes);
    const Result r = device_.driver().launch(kernel.functions[phase], unsigned(columns), unsigned(rows), 1, unsigned(p.threads),
                                             1, 1, unsigned(p.dynamic_shared_bytes), stream, arguments, nullptr);
    if (r != result::success) device_.check(r, "the launch of " + launch_text(kernel.name, groups, p.threads, p.dynamic_shared_bytes));
    if (traced) timeline_.end(stream, p.entry);
    if (wait_always_) wait(submit());
  }

  void grow_scratch(int64_t bytes) {
    if (bytes <= scratch_bytes_) return;
    const Handle larger = alloc(bytes);
    if (scratch_) {
      wait(submit());
      free(scratch_);
    }
    scratch_ = larger;
    scratch_bytes_ = bytes;
  }

  // What was launched since begin_recording().
  struct Recorded {
    int64_t launches = 0;
    std::string first, last;
    void add(const std::string& entry) {
      if (launches++ == 0) first = entry;
      last = entry;
    }
  };

  const Properties properties_;
  std::string description_;
  Limits limits_;
  bool wait_always_ = false;
  const std::shared_ptr<DeviceHandle> handle_;
  DeviceHandle& device_ = *handle_;
  std::optional<Recorded> recorded_;
  std::unordered_set<std::string> replayed_;  // what messages name
  Timeline timeline_{device_};
  mutable Queue queue_;
  Staging up_, down_;
  Images images_;
  Kernels kernels_;
  Handle scratch_;
  int64_t scratch_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Backend> open(const std::string& name, const Generator& generator) {
  return std::make_unique<CudaBackend>(name, driver(), properties(driver(), ordinal(name)), generator);
}

}  // namespace cuda

std::vector<std::string> cuda_names() {
  std::vector<std::string> names;
  for (int i = 0; i < std::max(cuda::driver().devices(), 1); ++i) names.push_back(cat(cuda::family, i));
  return names;
}

std::string cuda_unavailable(const std::string& name) {
  if (!cuda::driver().missing().empty()) return cuda::driver().missing();
  try {
    const cuda::Properties p = cuda::properties(cuda::driver(), cuda::ordinal(name));
    if (p.capability < cuda::lowest_capability)
      return cat(p.model, " has compute capability ", cuda::capability_text(p.capability), "; ",
                 cuda::capability_text(cuda::lowest_capability), " or later is needed");
    return cuda::Images(cuda::nvrtc(), KernelCache::of_this_process(), p.capability).missing();
  } catch (const Error& e) {
    return e.what();
  }
}

std::unique_ptr<Backend> open_cuda(const std::string& name, int) { return cuda::open(name, {}); }

}  // namespace tenon
