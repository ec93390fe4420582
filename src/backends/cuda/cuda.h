// NVIDIA GPUs through the CUDA driver API and NVRTC, both opened at run time.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.h"

namespace tenon {

// "cuda:0", "cuda:1", ...; without a usable driver "cuda:0" alone, so that asking for it says what is missing.
std::vector<std::string> cuda_names();
// Empty when the device can be opened, otherwise which library, version or symbol is missing, or why it is refused.
std::string cuda_unavailable(const std::string& name);
std::unique_ptr<Backend> open_cuda(const std::string& name, int threads);

namespace cuda {
struct Generator;
// With kernel text from elsewhere: for tests of this backend alone.
std::unique_ptr<Backend> open(const std::string& name, const Generator& generator);
}  // namespace cuda

}  // namespace tenon
