#include "backends/null/null.h"

#include <deque>

#include "base/check.h"

namespace tenon {
namespace {

struct Variant {
  const char* name;
  const char* description;
  Limits limits;
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

const Variant variants[] = {
    {"null:roomy", "plans only; no limits", limits(32, int64_t(1) << 62, int64_t(1) << 62, 1, true)},
    {"null:webgpu", "plans only; 8 bindings, 128 MiB each and aligned to 256 bytes, 65535 groups a dimension",
     limits(8, int64_t(128) << 20, 65535, 256, false)},
    {"null:tiny", "plans only; 4 bindings, 128 MiB each and aligned to 256 bytes, 65535 groups a dimension",
     limits(4, int64_t(128) << 20, 65535, 256, false)},
};

class NullBackend : public Backend {
 public:
  explicit NullBackend(const Variant& v) : name_(v.name), description_(v.description), limits_(v.limits) {}

  const std::string& name() const override { return name_; }
  const std::string& description() const override { return description_; }
  const Limits& limits() const override { return limits_; }

  Handle alloc(int64_t) override { return {++next_}; }
  void free(Handle) override {}
  void write(Handle, int64_t, std::span<const std::byte>) override {}
  void read(Handle, int64_t, std::span<std::byte>) override { refuse(); }
  void copy(Handle, int64_t, Handle, int64_t, int64_t) override {}

  // Any kernel of the portable set; a group is 256 elements of the output space.
  const BackendKernel* kernel(const KernelDesc& desc, KernelChoice) override {
    for (const Planned& k : kernels_)
      if (k.desc == desc) return &k;
    Planned& k = kernels_.emplace_back();
    k.desc = desc;
    k.name = kernel_name(desc);
    return &k;
  }
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

 private:
  struct Planned : BackendKernel {
    KernelDesc desc;
  };
  [[noreturn]] void refuse() const {
    throw Error(ErrorCode::unsupported, cat("device ", name_, " only plans; it cannot run or give values"), {.device = name_});
  }
  std::string name_, description_;
  Limits limits_;
  std::deque<Planned> kernels_;
  uint64_t next_ = 0;
  Ticket ticket_ = 0;
};

}  // namespace

std::unique_ptr<Backend> open_null(const std::string& name, int) {
  for (const Variant& v : variants)
    if (name == v.name) return std::make_unique<NullBackend>(v);
  return nullptr;
}

}  // namespace tenon
