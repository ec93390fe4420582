// Kernels of one device: text by description, compiled together when a plan is made, kept in memory.
#pragma once
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/cuda/context.h"
#include "backends/cuda/nvrtc.h"
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
  codegen::Source source;
  std::vector<Function> functions;  // one per phase; empty until compiled
};

class Kernels {
 public:
  Kernels(DeviceHandle& device, const Nvrtc& nvrtc, codegen::Target target, Generator generator);
  ~Kernels();
  Kernels(const Kernels&) = delete;

  // Null when there is no text for the description. Thread-safe; compiles nothing.
  const Kernel* find(const KernelDesc& desc);
  // Compiles those that are not, side by side, and loads them.
  void prepare(std::span<const PlannedLaunch> launches);
  codegen::Extent extent(const Kernel& kernel, const Params& params) const {
    return generator_.extent(kernel.desc, kernel.source, params);
  }

 private:
  std::vector<std::vector<std::byte>> compile(const std::vector<Kernel*>& kernels) const;
  void load(Kernel& kernel, const std::vector<std::byte>& image);

  DeviceHandle& device_;
  const Nvrtc& nvrtc_;
  const codegen::Target target_;
  const Generator generator_;
  std::string architecture_;
  Mutex mutex_;
  std::unordered_multimap<uint64_t, std::unique_ptr<Kernel>> kernels_;
  std::vector<Module> modules_;
};

}  // namespace tenon::cuda
