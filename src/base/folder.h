// Folders of files that programs keep for themselves. A build without a file system (wasm) has empty folders and writes
// nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenon {

struct FolderFile {
  std::string name;       // within the folder
  int64_t bytes = 0;
  int64_t last_used = 0;  // nanoseconds since some fixed time; see mark_used()
};

// The regular files of a folder, by name; none when it does not exist or cannot be read.
std::vector<FolderFile> list_folder(const std::string& folder);

// The names of a folder's folders, in order; none when it does not exist or cannot be read.
std::vector<std::string> list_subfolders(const std::string& folder);

// Writes a whole file or nothing: to a temporary name in the same folder, then renamed. Makes the folder when it is
// missing. Safe beside other processes that do the same; the last one wins. Throws Error(io).
void write_file_atomically(const std::string& folder, const std::string& name, std::span<const std::byte> bytes);

// False when it could not be removed; a file that is not there counts as removed.
bool remove_file(const std::string& path);

// Notes that a file was used now, for list_folder(). Failing to is no error.
void mark_used(const std::string& path);

// Where a user's programs keep what can be made again: $XDG_CACHE_HOME or ~/.cache, then `program`. Empty when neither
// is known.
std::string user_cache_folder(const std::string& program);

}  // namespace tenon
