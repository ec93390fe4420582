// Where the binary of a kernel comes from, in this order: what ships, the user's cache, the compiler.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/nvrtc.h"
#include "codegen/codegen.h"
#include "runtime/kernel_cache.h"

namespace tenon::cuda {

// Of the architectures that kernels ship for those that a device can run, the best first: its own ("sm_90a", "sm_90"),
// earlier ones of its generation, then portable ones ("compute_75").
std::vector<std::string> usable_architectures(int capability, const std::vector<std::string>& shipped);

class Images {
 public:
  Images(const Nvrtc& nvrtc, KernelCache& cache, int capability);

  // Why no kernel can be had: no compiler for the device, and nothing that ships for it. Empty when one can.
  const std::string& missing() const { return missing_; }
  bool compiles() const { return !architecture_.empty(); }
  // "NVRTC 13.0"; "no NVRTC, kernels shipped for sm_90a"
  std::string description() const;
  // What text is made for: what ships was made by what is known of an architecture, not of a device.
  codegen::Target target(const codegen::Target& of_device) const;

  // What is there already.
  std::optional<std::vector<std::byte>> find(const std::string& name, const std::string& text) const;
  // That, or compiled now and kept. Throws Error(internal) with the compiler's log, or Error(unsupported): which kernel,
  // for what, where it was looked for, what would help. Thread-safe.
  std::vector<std::byte> make(const std::string& name, const std::string& text) const;

 private:
  std::string where() const;
  const Nvrtc& nvrtc_;
  KernelCache& cache_;
  const int capability_;
  std::string architecture_;     // what the compiler is asked for; empty: there is none
  std::string no_compiler_;      // why
  std::vector<std::string> shipped_;  // usable ones, the best first
  std::string missing_;
};

}  // namespace tenon::cuda
