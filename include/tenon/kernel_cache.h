// Compiled kernels that devices keep on disk, so that a program's second start compiles nothing; and those that ship with
// a program, so that its first start compiles nothing either, and needs no compiler.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenon/device.h"

namespace tenon {

struct CachedKernel {
  std::string folder, file;
  std::string name;          // readable prefix and hash of its description
  std::string architecture;  // "sm_90a"
  std::string compiler;
  int64_t bytes = 0;
  bool shipped = false;      // came with the library; never written
};

// Where this process keeps compiled kernels: $TENON_KERNEL_CACHE, or "tenon/kernels" in the user's cache folder
// ($XDG_CACHE_HOME, ~/.cache). Empty when nothing is kept (TENON_KERNEL_CACHE=off, or no home).
std::string kernel_cache_folder();
// Those of the folders that ship with the library and of the user's. Damaged entries are left out.
std::vector<CachedKernel> list_cached_kernels();
// Removes the user's; how many.
int64_t clear_cached_kernels();

// Where kernels that ship are looked for: $TENON_SHIPPED_KERNELS (folders separated by colons), or "tenon_kernels" and
// "../share/tenon/kernels" beside the program or library.
std::vector<std::string> shipped_kernel_folders();

struct ShippedKernels {
  std::string folder;
  std::string architecture;  // "sm_90a", or "compute_75": portable, for every device from there on
  int64_t kernels = 0, bytes = 0;
};
// What was found in those folders.
std::vector<ShippedKernels> list_shipped_kernels();

// The compiler of kernels, opened at run time.
struct KernelCompiler {
  std::string name;     // "NVRTC 13.0 (libnvrtc.so.13)"; empty when it is missing
  std::string missing;  // why
  // What it compiles for that is of use to devices of today, the lowest first: compute capabilities, 10 * major + minor.
  std::vector<int> capabilities;
};
KernelCompiler kernel_compiler();

// Makes kernels to ship for one architecture; write() needs the compiler, nothing needs a GPU. Its devices plan and run nothing: plans
// that are made on them say which kernels there will be.
class KernelBuild {
 public:
  // Throws Error(invalid_argument) for a word that names no architecture.
  explicit KernelBuild(const std::string& architecture);
  ~KernelBuild();
  KernelBuild(const KernelBuild&) = delete;

  // Plans as a GPU does that has the compiler: for a model's own kernels.
  Device device() const;
  // Plans as a GPU does that has none: each launch one of a bounded number of kernels; see plan_every_op().
  Device plain_device() const;
  int64_t kernels() const;  // that plans asked for so far
  std::vector<std::string> names() const;

  struct Made {
    int64_t compiled = 0, kept = 0;  // kept: were in the folder already
    int64_t bytes = 0;               // of all of them
  };
  // Writes FOLDER/ARCHITECTURE/. Entries are written whole or not at all; several processes may write at once. `progress`
  // is called after each kernel, one call at a time. Throws
  // Error(device) without a compiler for the architecture, Error(internal) with its log, Error(io).
  Made write(const std::string& folder, const std::function<void(int64_t done, int64_t total)>& progress) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Plans on `device`, a KernelBuild's plain_device(), every op for every dtype.
void plan_every_op(const Device& device);

}  // namespace tenon
