#include "backends/null/null.h"

#include <cstdlib>
#include <unordered_map>

#include "base/check.h"
#include "base/folder.h"
#include "base/mutex.h"
#include "codegen/codegen.h"

namespace tenon {
namespace {

// Plans as they are for any device: each family has a kernel.
class NullBackend : public Backend {
 public:
  NullBackend(std::string name, std::string description, const Limits& limits)
      : name_(std::move(name)), description_(std::move(description)), limits_(limits) {}

  const std::string& name() const override { return name_; }
  const std::string& description() const override { return description_; }
  const Limits& limits() const override { return limits_; }

  Handle alloc(int64_t) override { return {++next_}; }
  void free(Handle) override {}
  void write(Handle, int64_t, std::span<const std::byte>) override {}
  void read(Handle, int64_t, std::span<std::byte>) override { refuse(); }
  void copy(Handle, int64_t, Handle, int64_t, int64_t) override {}

  // Any kernel of the portable set; a group is 256 elements of the output space.
  const BackendKernel* kernel(const KernelDesc& desc, KernelChoice) override { return &planned(desc); }
  Grid grid(const BackendKernel& k, const Params& params) const override {
    const KernelDesc& d = static_cast<const Planned&>(k).desc;
    int64_t n = 1;
    for (int a = 0; a < d.outer_rank; ++a) n *= params.region.dims[a];
    return {d.inner_rank > 0 ? n : (n + 255) / 256, 0};
  }
  void dispatch(const BackendKernel&, std::span<const BoundView>, const Params&, BoundView, const Grid&) override {}

  Ticket submit() override { return ++ticket_; }
  void wait(Ticket) override {}
  bool passed(Ticket) const override { return true; }

 protected:
  struct Planned : BackendKernel {
    KernelDesc desc;
    codegen::Source source;  // for GeneratedBackend
  };
  const Planned& planned(const KernelDesc& desc) {
    Lock lock(mutex_);
    const auto [begin, end] = kernels_.equal_range(hash(desc));
    for (auto it = begin; it != end; ++it)
      if (it->second.desc == desc) return it->second;
    Planned& k = kernels_.emplace(hash(desc), Planned())->second;
    k.desc = desc;
    k.name = kernel_name(desc);
    made(k);
    return k;
  }
  // Called once for each kernel.
  virtual void made(Planned&) {}

 private:
  [[noreturn]] void refuse() const {
    throw Error(ErrorCode::unsupported, cat("device ", name_, " only plans; it cannot run or give values"), {.device = name_});
  }
  std::string name_, description_;
  Limits limits_;
  Mutex mutex_;
  std::unordered_multimap<uint64_t, Planned> kernels_;  // whose addresses stay
  uint64_t next_ = 0;
  Ticket ticket_ = 0;
};

// Plans as a device whose kernels src/codegen writes: the same kernels, phases and groups. Their texts go into the folder
// that TENON_KERNEL_TEXTS names, for whoever wants to see or compile them.
class GeneratedBackend : public NullBackend {
 public:
  GeneratedBackend(std::string name, std::string description, const Limits& limits, const codegen::Target& target)
      : NullBackend(std::move(name), std::move(description), limits), target_(target) {
    if (const char* folder = std::getenv("TENON_KERNEL_TEXTS")) texts_ = folder;
  }

  const BackendKernel* kernel(const KernelDesc& desc, KernelChoice) override {
    const Planned& k = planned(desc);
    return k.source.phases.empty() ? nullptr : &k;
  }
  Grid grid(const BackendKernel& k, const Params& params) const override {
    const auto& planned = static_cast<const Planned&>(k);
    return codegen::grid(codegen::extent(planned.desc, planned.source, params));
  }
  // Not before: the planner also asks for kernels that it then does not launch.
  void prepare(std::span<const PlannedLaunch> launches) override {
    if (texts_.empty()) return;
    for (const PlannedLaunch& l : launches) {
      const auto& k = static_cast<const Planned&>(*l.kernel);
      write_file_atomically(texts_, k.name + ".cu", std::as_bytes(std::span(k.source.text)));
    }
  }

 private:
  void made(Planned& k) override {
    k.source = codegen::emit(k.desc, target_);
    if (texts_.empty()) k.source.text.clear();
  }
  codegen::Target target_;
  std::string texts_;
};

Limits limits(int bindings, int64_t binding_bytes, int64_t groups, int64_t alignment, bool wide_lanes) {
  Limits l;
  l.wide_lanes = wide_lanes;
  l.max_bindings = bindings;
  l.max_binding_bytes = binding_bytes;
  l.max_groups = groups;
  l.view_alignment = alignment;
  return l;
}

Limits generated_limits(int64_t memory_bytes, int64_t groups) {
  Limits l = codegen::limits();
  l.max_buffer_bytes = l.memory_bytes = memory_bytes;
  l.max_groups = groups;
  return l;
}

std::unique_ptr<Backend> open_plain(const char* name, const char* about, const Limits& limits) {
  return std::make_unique<NullBackend>(name, about, limits);
}

// What the driver says of an H200.
std::unique_ptr<Backend> open_h200(const char* name, const char* about, const Limits& limits) {
  return std::make_unique<GeneratedBackend>(name, about, limits, codegen::Target{90, 1024, 227 << 10});
}

struct Variant {
  const char* name;
  const char* description;
  Limits limits;
  std::unique_ptr<Backend> (*open)(const char* name, const char* about, const Limits& limits);
};

const Variant variants[] = {
    {"null:roomy", "plans only; no limits", limits(32, int64_t(1) << 62, int64_t(1) << 62, 1, true), open_plain},
    {"null:webgpu", "plans only; 8 bindings, 128 MiB each and aligned to 256 bytes, 65535 groups a dimension",
     limits(8, int64_t(128) << 20, 65535, 256, false), open_plain},
    {"null:tiny", "plans only; 4 bindings, 128 MiB each and aligned to 256 bytes, 65535 groups a dimension",
     limits(4, int64_t(128) << 20, 65535, 256, false), open_plain},
    {"null:cuda", "plans only; the launches of an NVIDIA H200",
     generated_limits(int64_t(143771) << 20, int64_t(2147483647) * 65535), open_h200},
};

}  // namespace

std::unique_ptr<Backend> open_null(const std::string& name, int) {
  for (const Variant& v : variants)
    if (name == v.name) return v.open(v.name, v.description, v.limits);
  return nullptr;
}

}  // namespace tenon
