#include "backends/cuda/kernels.h"

#include <algorithm>
#include <exception>

#include "base/check.h"
#include "base/thread_pool.h"
#include "runtime/kernel_cache.h"

namespace tenon::cuda {
namespace {

// What a kernel may have without being asked for more.
constexpr int64_t plain_shared_bytes = 48 << 10;

// One compilation of several that run side by side.
struct Compilation {
  const Nvrtc* nvrtc;
  const Kernel* kernel;
  const std::string* architecture;
  std::vector<std::byte> image;
  std::exception_ptr error;
};

void run_compilation(void* context, int64_t number, std::byte*) {
  Compilation& c = static_cast<Compilation*>(context)[number];
  try {
    KernelCache& cache = KernelCache::of_this_process();
    const KernelKey key{c.kernel->name, *c.architecture, c.nvrtc->compiler(), c.kernel->source.text};
    if (auto kept = cache.find(key)) {
      c.image = std::move(*kept);
      return;
    }
    c.image = c.nvrtc->compile(c.kernel->source.text, c.kernel->name, *c.architecture);
    cache.store(key, c.image);
  } catch (...) {
    c.error = std::current_exception();
  }
}

}  // namespace

Kernels::Kernels(DeviceHandle& device, const Nvrtc& nvrtc, codegen::Target target, Generator generator)
    : device_(device), nvrtc_(nvrtc), target_(target), generator_(generator), architecture_(nvrtc.architecture(target.capability)) {}

Kernels::~Kernels() {
  for (Module m : modules_) device_.driver().module_unload(m);
}

const Kernel* Kernels::find(const KernelDesc& desc) {
  Lock lock(mutex_);
  const uint64_t h = hash(desc);
  auto [begin, end] = kernels_.equal_range(h);
  auto it = std::find_if(begin, end, [&](const auto& entry) { return entry.second->desc == desc; });
  if (it == end) {
    auto made = std::make_unique<Kernel>();
    made->desc = desc;
    made->name = kernel_name(desc);
    made->source = generator_.emit(desc, target_);
    it = kernels_.emplace(h, std::move(made));
  }
  return it->second->source.phases.empty() ? nullptr : it->second.get();
}

void Kernels::prepare(std::span<const PlannedLaunch> launches) {
  Lock lock(mutex_);
  std::vector<Kernel*> fresh;
  for (const PlannedLaunch& l : launches) {
    auto* k = const_cast<Kernel*>(static_cast<const Kernel*>(l.kernel));  // ours; the caller only looks at it
    if (k->functions.empty() && std::find(fresh.begin(), fresh.end(), k) == fresh.end()) fresh.push_back(k);
  }
  if (fresh.empty()) return;
  const std::vector<std::vector<std::byte>> images = compile(fresh);
  device_.activate();
  for (size_t i = 0; i < fresh.size(); ++i) load(*fresh[i], images[i]);
}

std::vector<std::vector<std::byte>> Kernels::compile(const std::vector<Kernel*>& kernels) const {
  std::vector<Compilation> all;
  for (const Kernel* k : kernels) all.push_back({&nvrtc_, k, &architecture_, {}, {}});
  TeamQueue team(std::min(int(all.size()), available_threads()));
  team.wait(team.post({{run_compilation, all.data(), int64_t(all.size()), 0}}));
  std::vector<std::vector<std::byte>> images;
  for (Compilation& c : all) {
    if (c.error) std::rethrow_exception(c.error);
    images.push_back(std::move(c.image));
  }
  return images;
}

void Kernels::load(Kernel& kernel, const std::vector<std::byte>& image) {
  const Driver& driver = device_.driver();
  Module module = nullptr;
  device_.check(driver.module_load(&module, image.data()), cat("loading kernel ", kernel.name, " for ", architecture_));
  modules_.push_back(module);
  std::vector<Function> functions;
  for (const codegen::Phase& p : kernel.source.phases) {
    Function f = nullptr;
    device_.check(driver.module_function(&f, module, p.entry.c_str()), cat("finding ", p.entry, " in kernel ", kernel.name));
    if (p.dynamic_shared_bytes > plain_shared_bytes)
      device_.check(driver.function_set_attribute(f, function_max_dynamic_shared, int(p.dynamic_shared_bytes)),
                    cat("asking for ", p.dynamic_shared_bytes, " bytes of shared memory for kernel ", kernel.name));
    functions.push_back(f);
  }
  kernel.functions = std::move(functions);
}

}  // namespace tenon::cuda
