#include "backends/cuda/kernels.h"

#include <algorithm>
#include <exception>

#include "base/check.h"
#include "base/thread_pool.h"

namespace tenon::cuda {
namespace {

// What a kernel may have without being asked for more.
constexpr int64_t plain_shared_bytes = 48 << 10;

// One compilation of several that run side by side.
struct Compilation {
  const Images* images;
  Kernel* kernel;
  std::exception_ptr error;
};

void run_compilation(void* context, int64_t number, std::byte*) {
  Compilation& c = static_cast<Compilation*>(context)[number];
  try {
    c.kernel->image = c.images->make(c.kernel->name, c.kernel->source.text);
  } catch (...) {
    c.error = std::current_exception();
  }
}

// The kernels of the launches that are not loaded, each once. They are ours; the caller only looks at them.
std::vector<Kernel*> not_loaded(std::span<const PlannedLaunch> launches) {
  std::vector<Kernel*> fresh;
  for (const PlannedLaunch& l : launches) {
    auto* k = const_cast<Kernel*>(static_cast<const Kernel*>(l.kernel));
    if (k->functions.empty() && std::find(fresh.begin(), fresh.end(), k) == fresh.end()) fresh.push_back(k);
  }
  return fresh;
}

}  // namespace

Kernel* KernelTexts::find(const KernelDesc& desc, KernelChoice choice) {
  if (choice == KernelChoice::fixed && !codegen::ships(desc)) return nullptr;
  const bool plain = choice == KernelChoice::plain;
  Lock lock(mutex_);
  const uint64_t h = hash(desc);
  auto [begin, end] = kernels_.equal_range(h);
  auto it = std::find_if(begin, end, [&](const auto& entry) { return entry.second->plain == plain && entry.second->desc == desc; });
  if (it == end) {
    auto made = std::make_unique<Kernel>();
    made->desc = desc;
    made->name = kernel_name(desc);
    made->plain = plain;
    codegen::Target target = target_;
    target.plain = plain;
    made->source = generator_.emit(desc, target);
    it = kernels_.emplace(h, std::move(made));
  }
  return it->second->source.phases.empty() ? nullptr : it->second.get();
}

Grid KernelTexts::grid(const Kernel& kernel, const Params& params) const {
  return codegen::grid(extent(kernel, params));
}

Kernels::Kernels(DeviceHandle& device, const Images& images, codegen::Target target, Generator generator)
    : device_(device), images_(images), texts_(target, generator) {}

Kernels::~Kernels() {
  for (Module m : modules_) device_.driver().module_unload(m);
}

bool Kernels::serves(std::span<const PlannedLaunch> launches) {
  if (images_.compiles()) return true;
  Lock lock(mutex_);
  for (Kernel* k : not_loaded(launches)) {
    if (!k->image.empty()) continue;
    auto image = images_.find(k->name, k->source.text);
    if (!image) return false;
    k->image = std::move(*image);
  }
  return true;
}

void Kernels::prepare(std::span<const PlannedLaunch> launches) {
  Lock lock(mutex_);
  const std::vector<Kernel*> fresh = not_loaded(launches);
  if (fresh.empty()) return;
  make_images(fresh);
  device_.activate();
  for (Kernel* k : fresh) load(*k);
}

void Kernels::make_images(const std::vector<Kernel*>& kernels) const {
  std::vector<Compilation> all;
  for (Kernel* k : kernels)
    if (k->image.empty()) all.push_back({&images_, k, {}});
  if (all.empty()) return;
  TeamQueue team(std::min(int(all.size()), available_threads()));
  team.wait(team.post({{run_compilation, all.data(), int64_t(all.size()), 0}}));
  for (const Compilation& c : all)
    if (c.error) std::rethrow_exception(c.error);
}

void Kernels::load(Kernel& kernel) {
  const Driver& driver = device_.driver();
  Module module = nullptr;
  device_.check(driver.module_load(&module, kernel.image.data()), cat("loading kernel ", kernel.name, " (", images_.description(), ")"));
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
  kernel.image = {};
}

}  // namespace tenon::cuda
