#include "kernels/native_kernels.h"

namespace tenon {

const ReadyKernel* NativeKernels::find(const KernelDesc& desc, KernelChoice choice) {
  Lock lock(mutex_);
  const uint64_t h = hash(desc);
  auto [begin, end] = ready_.equal_range(h);
  for (auto it = begin; it != end; ++it)
    if (it->second->desc == desc && it->second->choice == choice) return it->second.get();
  const NativeKernel* code = find_native_kernel(target_, desc, choice);
  if (!code) return nullptr;
  auto k = std::make_unique<ReadyKernel>();
  k->code = code;
  k->desc = desc;
  k->choice = choice;
  const std::string own = code->name;
  k->name = own.empty() ? kernel_name(desc) : own + kernel_name(desc).substr(desc.family.size());
  if (code->prepare) k->prepared = code->prepare(k->desc);
  return ready_.emplace(h, std::move(k))->second.get();
}

}  // namespace tenon
