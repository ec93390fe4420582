#include "base/folder.h"

#include <atomic>
#include <cstdlib>

#include "base/cat.h"
#include "tenon/error.h"

#if !defined(__wasi__)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#endif

namespace tenon {

#if defined(__wasi__)

std::vector<FolderFile> list_folder(const std::string&) { return {}; }
std::vector<std::string> list_subfolders(const std::string&) { return {}; }
void write_file_atomically(const std::string& folder, const std::string& name, std::span<const std::byte>) {
  throw Error(ErrorCode::unsupported, cat("cannot write \"", folder, "/", name, "\": this build has no file system"));
}
bool remove_file(const std::string&) { return true; }
void mark_used(const std::string&) {}
std::string user_cache_folder(const std::string&) { return {}; }

#else

namespace {

namespace fs = std::filesystem;

Error folder_error(const char* action, const std::string& path, int code) {
  ErrorContext context;
  context.path = path;
  return Error(ErrorCode::io, cat("cannot ", action, " \"", path, "\": ", std::generic_category().message(code)),
               std::move(context));
}

// Closes and, unless kept, removes the temporary file.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd_ < 0) throw folder_error("create", path_, errno);
  }
  ~TemporaryFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t wrote = ::write(fd_, bytes.data(), std::min<size_t>(bytes.size(), size_t(1) << 30));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) throw folder_error("write", path_, errno);
      bytes = bytes.subspan(size_t(wrote));
    }
  }
  void become(const std::string& path) {
    const int closed = ::close(std::exchange(fd_, -1));
    if (closed != 0) throw folder_error("write", path_, errno);
    if (::rename(path_.c_str(), path.c_str()) != 0) throw folder_error("rename a file to", path, errno);
    path_.clear();
  }

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace

std::vector<FolderFile> list_folder(const std::string& folder) {
  std::vector<FolderFile> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    struct stat info;
    if (::stat(it->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;  // gone meanwhile, or no file
    out.push_back({it->path().filename().string(), int64_t(info.st_size),
                   int64_t(info.st_mtim.tv_sec) * 1000000000 + info.st_mtim.tv_nsec});
  }
  std::sort(out.begin(), out.end(), [](const FolderFile& a, const FolderFile& b) { return a.name < b.name; });
  return out;
}

std::vector<std::string> list_subfolders(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error, ignored;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->is_directory(ignored)) out.push_back(it->path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

void write_file_atomically(const std::string& folder, const std::string& name, std::span<const std::byte> bytes) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw folder_error("make the folder", folder, error.value());
  // Unique among processes and among the threads of one.
  static std::atomic<uint64_t> counter{0};
  TemporaryFile file(cat(folder, "/.", name, ".", int64_t(::getpid()), ".", counter.fetch_add(1), ".tmp"));
  file.write(bytes);
  file.become(cat(folder, "/", name));
}

bool remove_file(const std::string& path) { return ::unlink(path.c_str()) == 0 || errno == ENOENT; }

void mark_used(const std::string& path) { ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

std::string user_cache_folder(const std::string& program) {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/') return cat(cache, "/", program);
  if (const char* home = std::getenv("HOME"); home && *home == '/') return cat(home, "/.cache/", program);
  return {};
}

#endif

}  // namespace tenon
