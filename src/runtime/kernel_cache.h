// Compiled kernels on disk. Looked for in the folders that ship with the library, then in the user's; only the user's
// is written. Ahead of time and at run time are one path: `tenon cache build` fills a folder by this same class.
//
// A shipped folder has a folder for each architecture, whose entries are by any compiler: they were made once, for
// machines that may have none.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "tenon/kernel_cache.h"

namespace tenon {

// All that a kernel's binary depends on. Two keys that differ in any field never share an entry.
struct KernelKey {
  std::string name;          // readable prefix and hash of the description
  std::string architecture;  // "sm_90a"
  std::string compiler;      // "nvrtc 13.0 --fmad=false"
  std::string source;        // the whole text: a forgotten version number cannot serve stale code
};
// The compiler of shipped entries' keys.
inline constexpr const char* any_compiler = "any";

class KernelCache {
 public:
  static constexpr int64_t default_limit_bytes = int64_t(512) << 20;

  // `user` may be empty: nothing is kept then. Folders need not exist.
  KernelCache(std::string user, std::vector<std::string> shipped, int64_t limit_bytes = default_limit_bytes);

  // With the folders that include/tenon/kernel_cache.h names.
  static KernelCache& of_this_process();

  // What writes the entries of one architecture of a folder that will be shipped.
  static KernelCache for_shipping(const std::string& folder, const std::string& architecture);

  // The binary, or nothing. A damaged entry of the user's folder is removed, so that it is made again.
  std::optional<std::vector<std::byte>> find(const KernelKey& key);
  // Only in the folders that ship, whatever the key's compiler. `damaged`: the path of an entry that is no good.
  std::optional<std::vector<std::byte>> find_shipped(KernelKey key, std::string* damaged = nullptr) const;
  // Keeps a binary and removes the least recently used ones past the limit. A disk that is full or read only is no
  // error: the kernel is compiled again next time. False when it was not kept; why() says the reason.
  bool store(const KernelKey& key, std::span<const std::byte> binary);

  std::vector<CachedKernel> list() const;
  // What ships, without looking into the entries.
  std::vector<ShippedKernels> shipped() const;
  // Removes the user's entries; how many.
  int64_t clear();

  const std::string& user_folder() const { return user_; }
  const std::vector<std::string>& shipped_folders() const { return shipped_; }
  std::string why() const;

 private:
  void keep_below_limit();

  std::string user_;
  std::vector<std::string> shipped_;
  int64_t limit_bytes_;
  mutable Mutex mutex_;
  std::string why_;
};

}  // namespace tenon
