// Kernels made ahead of time, by the same text and the same compiler as at run time.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <exception>

#include "backends/cuda/kernels.h"
#include "base/cat.h"
#include "base/mutex.h"
#include "base/thread_pool.h"
#include "runtime/device_context.h"
#include "runtime/kernel_cache.h"
#include "tenon/kernel_cache.h"

namespace tenon {
namespace cuda {
namespace {

// The kernels of one architecture that plans asked for.
struct Wanted {
  Mutex mutex;
  std::vector<std::pair<std::string, std::string>> texts;  // by name
};

// Plans for an architecture, runs nothing, and notes which kernels its plans have.
class PlanningBackend : public Backend {
 public:
  PlanningBackend(const std::string& architecture, std::shared_ptr<Wanted> wanted, bool plain)
      : name_(cat(architecture, plain ? " without a compiler" : "")), description_("plans only, to make kernels"),
        texts_(codegen::target_of(architecture), {}), wanted_(std::move(wanted)), plain_(plain) {
    limits_ = codegen::limits();
    limits_.fixed_kernels = plain;
  }

  const std::string& name() const override { return name_; }
  const std::string& description() const override { return description_; }
  const Limits& limits() const override { return limits_; }

  Handle alloc(int64_t) override { return {++blocks_}; }
  void free(Handle) override {}
  void write(Handle, int64_t, std::span<const std::byte>) override {}
  void read(Handle, int64_t, std::span<std::byte> into) override { std::fill(into.begin(), into.end(), std::byte(0)); }
  void copy(Handle, int64_t, Handle, int64_t, int64_t) override {}

  const BackendKernel* kernel(const KernelDesc& desc, KernelChoice choice) override { return texts_.find(desc, choice); }
  Grid grid(const BackendKernel& k, const Params& params) const override { return texts_.grid(static_cast<const Kernel&>(k), params); }
  bool serves(std::span<const PlannedLaunch>) override { return !plain_; }
  void prepare(std::span<const PlannedLaunch> launches) override {
    Lock lock(wanted_->mutex);
    for (const PlannedLaunch& l : launches) {
      const auto& k = static_cast<const Kernel&>(*l.kernel);
      const bool known = std::any_of(wanted_->texts.begin(), wanted_->texts.end(), [&](auto& t) { return t.first == k.name; });
      if (!known) wanted_->texts.emplace_back(k.name, k.source.text);
    }
  }
  void dispatch(const BackendKernel&, std::span<const BoundView>, const Params&, BoundView, const Grid&) override {}

  Ticket submit() override { return ++ticket_; }
  void wait(Ticket) override {}
  bool passed(Ticket) const override { return true; }

 private:
  const std::string name_, description_;
  Limits limits_;
  KernelTexts texts_;
  std::shared_ptr<Wanted> wanted_;
  const bool plain_;
  uint64_t blocks_ = 0;
  Ticket ticket_ = 0;
};

// "sm_90a": a kind of code, and a compute capability.
int capability_of(const std::string& architecture) {
  const size_t digits = architecture.starts_with("sm_") ? 3 : architecture.starts_with("compute_") ? 8 : 0;
  size_t end = digits;
  while (end < architecture.size() && std::isdigit(static_cast<unsigned char>(architecture[end]))) ++end;
  const bool tail = end == architecture.size() || (architecture.substr(end) == "a" && digits == 3);
  if (digits == 0 || end < digits + 2 || end > digits + 3 || !tail)
    throw Error(ErrorCode::invalid_argument, cat("'", architecture, "' is no architecture; sm_80, sm_90a and compute_75 are some"));
  return std::atoi(architecture.c_str() + digits);
}

void check_compiler(const std::string& architecture) {
  const int capability = capability_of(architecture);
  if (!nvrtc().missing().empty()) throw Error(ErrorCode::device, cat("kernels cannot be made: ", nvrtc().missing()));
  const std::vector<int>& known = nvrtc().capabilities();
  if (std::find(known.begin(), known.end(), capability) != known.end() && capability >= lowest_capability) return;
  std::string list;
  for (int k : known)
    if (k >= lowest_capability) list += cat(list.empty() ? "" : ", ", "sm_", k);
  throw Error(ErrorCode::device, cat("kernels cannot be made for ", architecture, ": NVRTC ", nvrtc().version(), " (", nvrtc().library(),
                                     ") compiles for ", list));
}

// What the threads of one write share.
struct Writing {
  const std::vector<std::pair<std::string, std::string>>& texts;
  const std::string& architecture;
  KernelCache into;                    // writes
  KernelCache from;                    // reads
  const std::function<void(int64_t, int64_t)>& progress;
  Mutex mutex;
  KernelBuild::Made made;
  std::exception_ptr error;
  std::atomic<bool> failed{false};

  void one(const std::string& name, const std::string& text) {
    const KernelKey key{name, architecture, any_compiler, text};
    auto image = from.find_shipped(key);
    const bool kept = image.has_value();
    if (!kept) {
      image = nvrtc().compile(text, name, architecture);
      if (!into.store(key, *image)) throw Error(ErrorCode::io, into.why());
    }
    Lock lock(mutex);
    ++(kept ? made.kept : made.compiled);
    made.bytes += int64_t(image->size());
    if (progress) progress(made.kept + made.compiled, int64_t(texts.size()));
  }
};

void write_one(void* context, int64_t number, std::byte*) {
  Writing& w = *static_cast<Writing*>(context);
  if (w.failed) return;
  try {
    w.one(w.texts[size_t(number)].first, w.texts[size_t(number)].second);
  } catch (...) {
    Lock lock(w.mutex);
    if (!w.error) w.error = std::current_exception();
    w.failed = true;
  }
}

}  // namespace
}  // namespace cuda

struct KernelBuild::Impl {
  std::string architecture;
  std::shared_ptr<cuda::Wanted> wanted = std::make_shared<cuda::Wanted>();
  Device device, plain;

  explicit Impl(const std::string& a)
      : architecture(a), device(std::make_shared<DeviceContext>(std::make_unique<cuda::PlanningBackend>(a, wanted, false))),
        plain(std::make_shared<DeviceContext>(std::make_unique<cuda::PlanningBackend>(a, wanted, true))) {}
};

KernelBuild::KernelBuild(const std::string& architecture) {
  cuda::capability_of(architecture);
  impl_ = std::make_unique<Impl>(architecture);
}
KernelBuild::~KernelBuild() = default;

Device KernelBuild::device() const { return impl_->device; }
Device KernelBuild::plain_device() const { return impl_->plain; }

std::vector<std::string> KernelBuild::names() const {
  Lock lock(impl_->wanted->mutex);
  std::vector<std::string> out;
  for (const auto& [name, text] : impl_->wanted->texts) out.push_back(name);
  return out;
}
int64_t KernelBuild::kernels() const { return int64_t(names().size()); }

KernelBuild::Made KernelBuild::write(const std::string& folder, const std::function<void(int64_t, int64_t)>& progress) const {
  cuda::check_compiler(impl_->architecture);
  std::vector<std::pair<std::string, std::string>> texts;
  {
    Lock lock(impl_->wanted->mutex);
    texts = impl_->wanted->texts;
  }
  cuda::Writing all{texts, impl_->architecture, KernelCache::for_shipping(folder, impl_->architecture), KernelCache({}, {folder}), progress, {}, {}, {}, {}};
  TeamQueue team(available_threads());
  team.wait(team.post({{cuda::write_one, &all, int64_t(texts.size()), 0}}));
  if (all.error) std::rethrow_exception(all.error);
  return all.made;
}

KernelCompiler kernel_compiler() {
  const cuda::Nvrtc& n = cuda::nvrtc();
  if (!n.missing().empty()) return {{}, n.missing(), {}};
  KernelCompiler c{cat("NVRTC ", n.version(), " (", n.library(), ")"), {}, {}};
  for (int k : n.capabilities())
    if (k >= cuda::lowest_capability) c.capabilities.push_back(k);
  std::sort(c.capabilities.begin(), c.capabilities.end());
  return c;
}

}  // namespace tenon
