// Compiled kernels that devices keep on disk, so that a program's second start compiles nothing.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

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
// Those of the folders that ship with the library ($TENON_SHIPPED_KERNELS, separated by colons) and of the user's.
// Damaged entries are left out.
std::vector<CachedKernel> list_cached_kernels();
// Removes the user's; how many.
int64_t clear_cached_kernels();

}  // namespace tenon
