// Kernels of one device: text by description, compiled together when a plan is made, kept in memory.
#pragma once
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/cuda/context.h"
#include "backends/cuda/images.h"
#include "codegen/codegen.h"
#include "runtime/backend.h"

namespace tenon::cuda {

// Where kernel text comes from: src/codegen, or a test's own.
struct Generator {
  codegen::Source (*emit)(const KernelDesc&, const codegen::Target&) = codegen::emit;
  codegen::Extent (*extent)(const KernelDesc&, const codegen::Source&, const Params&) = codegen::extent;
};

struct Kernel : BackendKernel {
  KernelDesc desc;
  bool plain = false;               // made without tuned phases
  codegen::Source source;
  std::vector<std::byte> image;     // found, not yet loaded
  std::vector<Function> functions;  // one per phase; empty until loaded
};

inline constexpr int max_bindings = codegen::max_bindings;

// Texts by description.
class KernelTexts {
 public:
  KernelTexts(codegen::Target target, Generator generator) : target_(target), generator_(generator) {}

  // Null when there is no text for the description, or none of that choice. Thread-safe; compiles nothing.
  Kernel* find(const KernelDesc& desc, KernelChoice choice);
  codegen::Extent extent(const Kernel& kernel, const Params& params) const {
    return generator_.extent(kernel.desc, kernel.source, params);
  }
  // Scratch is the whole launch's: launches run one after the other and share it.
  Grid grid(const Kernel& kernel, const Params& params) const;

 private:
  const codegen::Target target_;
  const Generator generator_;
  Mutex mutex_;
  std::unordered_multimap<uint64_t, std::unique_ptr<Kernel>> kernels_;
};

class Kernels {
 public:
  Kernels(DeviceHandle& device, const Images& images, codegen::Target target, Generator generator);
  ~Kernels();
  Kernels(const Kernels&) = delete;

  const Kernel* find(const KernelDesc& desc, KernelChoice choice) { return texts_.find(desc, choice); }
  // Whether all are there already, or a compiler is.
  bool serves(std::span<const PlannedLaunch> launches);
  // Compiles those that are not, side by side, and loads them.
  void prepare(std::span<const PlannedLaunch> launches);
  codegen::Extent extent(const Kernel& kernel, const Params& params) const { return texts_.extent(kernel, params); }
  Grid grid(const Kernel& kernel, const Params& params) const { return texts_.grid(kernel, params); }

 private:
  void make_images(const std::vector<Kernel*>& kernels) const;
  void load(Kernel& kernel);

  DeviceHandle& device_;
  const Images& images_;
  KernelTexts texts_;
  Mutex mutex_;
  std::vector<Module> modules_;
};

}  // namespace tenon::cuda
