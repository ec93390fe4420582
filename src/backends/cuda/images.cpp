#include "backends/cuda/images.h"

#include <algorithm>

#include "base/cat.h"
#include "tenon/error.h"

namespace tenon::cuda {
namespace {

const std::string binary = "sm_", portable = "compute_";

// The better the larger; 0: the device cannot run it.
int rank(const std::string& architecture, int capability) {
  const int made_for = codegen::capability_of(architecture);
  if (made_for <= 0 || made_for > capability) return 0;
  if (architecture.starts_with(portable)) return made_for;
  if (!architecture.starts_with(binary)) return 0;
  const bool for_one_only = architecture.back() == 'a';
  if (made_for == capability) return for_one_only ? 30000 : 20000;
  return !for_one_only && made_for / 10 == capability / 10 ? 10000 + made_for : 0;
}

constexpr const char* help = "Install NVRTC (the CUDA toolkit, or PyPI's nvidia-cuda-nvrtc), or make kernels where it is: "
                             "tenon cache build --arch ";

}  // namespace

std::vector<std::string> usable_architectures(int capability, const std::vector<std::string>& shipped) {
  std::vector<std::string> usable;
  for (const std::string& a : shipped)
    if (rank(a, capability) > 0 && std::find(usable.begin(), usable.end(), a) == usable.end()) usable.push_back(a);
  std::sort(usable.begin(), usable.end(), [&](auto& a, auto& b) { return rank(a, capability) > rank(b, capability); });
  return usable;
}

Images::Images(const Nvrtc& nvrtc, KernelCache& cache, int capability) : nvrtc_(nvrtc), cache_(cache), capability_(capability) {
  no_compiler_ = nvrtc.missing();
  if (no_compiler_.empty()) try {
      architecture_ = nvrtc.architecture(capability);
    } catch (const Error& e) {
      no_compiler_ = e.what();
    }
  std::vector<std::string> all;
  for (const ShippedKernels& s : cache.shipped()) all.push_back(s.architecture);
  shipped_ = usable_architectures(capability, all);
  if (!compiles() && shipped_.empty())
    missing_ = cat(no_compiler_, "; and no kernels ship for compute capability ", capability / 10, ".", capability % 10, " (", where(), "). ",
                   help, binary, capability);
}

std::string Images::description() const {
  if (compiles()) return "NVRTC " + nvrtc_.version();
  return shipped_.empty() ? "no NVRTC" : "no NVRTC, kernels shipped for " + shipped_[0];
}

codegen::Target Images::target(const codegen::Target& of_device) const {
  return compiles() || shipped_.empty() ? of_device : codegen::target_of(shipped_[0]);
}

// Where a binary fits the device, the compiler's own is as good as what ships; portable text is not.
std::optional<std::vector<std::byte>> Images::find(const std::string& name, const std::string& text) const {
  for (const std::string& a : shipped_) {
    if (compiles() && a.starts_with(portable)) continue;
    if (auto image = cache_.find_shipped({name, a, any_compiler, text})) return image;
  }
  return compiles() ? cache_.find({name, architecture_, nvrtc_.compiler(), text}) : std::nullopt;
}

std::vector<std::byte> Images::make(const std::string& name, const std::string& text) const {
  if (auto there = find(name, text)) return std::move(*there);
  if (compiles()) {
    std::vector<std::byte> image = nvrtc_.compile(text, name, architecture_);
    cache_.store({name, architecture_, nvrtc_.compiler(), text}, image);
    return image;
  }
  std::string damaged;
  for (const std::string& a : shipped_) cache_.find_shipped({name, a, any_compiler, text}, &damaged);
  throw Error(ErrorCode::unsupported,
              cat("there is no kernel ", name, " for compute capability ", capability_ / 10, ".", capability_ % 10, ": ", no_compiler_,
                  "; among the kernels that ship (", where(), ") ",
                  damaged.empty() ? "it is not, so they were made by another version or for other models" : "its entry is damaged: " + damaged, ". ",
                  help, shipped_.empty() ? cat(binary, capability_) : shipped_[0]));
}

std::string Images::where() const {
  std::string out;
  for (const std::string& folder : cache_.shipped_folders()) {
    out += cat(out.empty() ? "looked in " : ", ", folder, ":");
    bool any = false;
    for (const ShippedKernels& s : cache_.shipped())
      if (s.folder == folder) out += cat(any ? ", " : " ", s.kernels, " for ", s.architecture), any = true;
    if (!any) out += " none";
  }
  return out.empty() ? "no folder to look in, TENON_SHIPPED_KERNELS is empty" : out;
}

}  // namespace tenon::cuda
