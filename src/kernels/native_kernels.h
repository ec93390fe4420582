// Kernels that are C++ functions, made ready once per description. Shared by the backends that run them.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "kernels/index.h"
#include "runtime/backend.h"

namespace tenon {

struct ReadyKernel : BackendKernel {
  const NativeKernel* code = nullptr;
  KernelDesc desc;
  KernelChoice choice = KernelChoice::best;
  std::shared_ptr<const void> prepared;
};

class NativeKernels {
 public:
  explicit NativeKernels(std::string target) : target_(std::move(target)) {}
  // Null when the target has no row for the description. Thread-safe; the kernel lives as long as this.
  const ReadyKernel* find(const KernelDesc& desc, KernelChoice choice);

 private:
  std::string target_;
  Mutex mutex_;
  std::unordered_multimap<uint64_t, std::unique_ptr<ReadyKernel>> ready_;
};

}  // namespace tenon
