#include "backends/host/host.h"

#include <cstdlib>
#include <cstring>

#include "kernels/native_kernels.h"
#include "base/trace.h"
#include "base/check.h"

namespace tenon {
namespace {

std::byte* address(Handle h) { return reinterpret_cast<std::byte*>(uintptr_t(h.id)); }

class HostBackend : public Backend {
 public:
  HostBackend() { limits_.fuses = false, limits_.one_way = true, limits_.wide_lanes = true; }

  const std::string& name() const override { return name_; }
  const std::string& description() const override { return description_; }
  const Limits& limits() const override { return limits_; }

  Handle alloc(int64_t bytes) override {
    auto* p = static_cast<std::byte*>(std::malloc(size_t(bytes)));
    if (!p) throw Error(ErrorCode::out_of_memory, cat("host: ", bytes, " bytes asked, the system has no more"), {.device = name_});
    std::memset(p, 0xff, size_t(bytes));  // poison: what was never written shows as NaN
    return {reinterpret_cast<uintptr_t>(p)};
  }
  void free(Handle h) override { std::free(address(h)); }
  void write(Handle to, int64_t offset, std::span<const std::byte> bytes) override {
    if (!bytes.empty()) std::memcpy(address(to) + offset, bytes.data(), bytes.size());
  }
  void read(Handle from, int64_t offset, std::span<std::byte> into) override {
    if (!into.empty()) std::memcpy(into.data(), address(from) + offset, into.size());
  }
  void copy(Handle to, int64_t to_offset, Handle from, int64_t from_offset, int64_t bytes) override {
    std::memmove(address(to) + to_offset, address(from) + from_offset, size_t(bytes));
  }

  const BackendKernel* kernel(const KernelDesc& desc, KernelChoice) override {
    return kernels_.find(desc, KernelChoice::best);
  }
  Grid grid(const BackendKernel& k, const Params& params) const override {
    const auto& ready = static_cast<const ReadyKernel&>(k);
    return ready.code->grid(ready.desc, params);
  }
  void dispatch(const BackendKernel& k, std::span<const BoundView> views, const Params& params, BoundView scalars,
                const Grid& grid) override {
    const auto& ready = static_cast<const ReadyKernel&>(k);
    std::vector<std::byte*> buffers;
    for (size_t i = 0; i < views.size(); ++i)
      buffers.push_back(address(views[i].buffer) + views[i].offset + native_base(ready.desc, params, i));
    const KernelArgs args{&ready.desc, ready.prepared.get(), buffers.data(), &params,
                          reinterpret_cast<const uint32_t*>(address(scalars.buffer) + scalars.offset)};
    std::vector<std::byte> scratch(size_t(grid.scratch_bytes) + 64);
    const auto misaligned = reinterpret_cast<uintptr_t>(scratch.data()) % 64;
    const int64_t start = tracing() ? trace_clock() : 0;
    for (int64_t g = 0; g < grid.groups; ++g) ready.code->run(args, g, scratch.data() + (64 - misaligned) % 64);
    if (start != 0) trace_kernel(name_, k.name, start, trace_clock());
  }

  Ticket submit() override { return ++ticket_; }
  void wait(Ticket) override {}
  bool passed(Ticket) const override { return true; }

 private:
  std::string name_ = "host", description_ = "reference in double precision, one op at a time";
  Limits limits_;
  NativeKernels kernels_{"host"};
  Ticket ticket_ = 0;
};

}  // namespace

std::unique_ptr<Backend> open_host(const std::string&, int) { return std::make_unique<HostBackend>(); }

}  // namespace tenon
