#if !defined(_FILE_OFFSET_BITS)
#define _FILE_OFFSET_BITS 64  // 64-bit offsets on 32-bit systems too
#endif
#include "base/byte_source.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

#include "base/cat.h"
#include "tenon/error.h"

#if !defined(__wasi__)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#endif

namespace tenon {
namespace {

Error source_error(ErrorCode code, const std::string& name, int64_t offset, const std::string& message) {
  ErrorContext context;
  context.path = name;
  context.offset = offset;
  return Error(code, cat(name, ": ", message), std::move(context));
}

// Unsigned comparison, so that a huge `out` on a 64-bit machine cannot wrap.
void check_range(const std::string& name, int64_t size, int64_t offset, std::span<std::byte> out) {
  if (offset < 0)
    throw source_error(ErrorCode::invalid_argument, name, offset,
                       cat("cannot read at byte ", offset, ": offsets start at 0"));
  if (offset > size || uint64_t(out.size()) > uint64_t(size - offset))
    throw source_error(ErrorCode::format, name, offset,
                       cat("ends at byte ", size, ", but ", uint64_t(out.size()), " bytes were wanted at byte ", offset,
                           "; the file is truncated or damaged"));
}

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::span<const std::byte> bytes)
      : name_(std::move(name)), bytes_(bytes.begin(), bytes.end()) {}
  const std::string& name() const override { return name_; }
  int64_t size() const override { return int64_t(bytes_.size()); }
  void read(int64_t offset, std::span<std::byte> out) const override {
    check_range(name_, size(), offset, out);
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }

 private:
  std::string name_;
  std::vector<std::byte> bytes_;
};

#if !defined(__wasi__)
Error system_error(const std::string& path, const char* action, int code) {
  ErrorContext context;
  context.path = path;
  return Error(ErrorCode::io, cat("cannot ", action, " \"", path, "\": ", std::generic_category().message(code)),
               std::move(context));
}

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : path_(path) {
    if (path.find('\0') != path.npos) throw system_error(path, "open", EINVAL);  // the system would stop at the zero
    // O_NONBLOCK: opening a pipe that nobody writes to must be an error, not a wait. Regular files ignore it.
    do fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd_ < 0 && errno == EINTR);
    if (fd_ < 0) throw system_error(path, "open", errno);
    try {
      find_size();
    } catch (...) {
      ::close(fd_);
      throw;
    }
  }
  ~FileSource() override { ::close(fd_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  const std::string& name() const override { return path_; }
  int64_t size() const override { return size_; }

  void read(int64_t offset, std::span<std::byte> out) const override {
    check_range(path_, size_, offset, out);
    while (!out.empty()) {
      // Systems refuse or cut single reads of 2 GiB and more.
      ssize_t got = ::pread(fd_, out.data(), std::min<size_t>(out.size(), size_t(1) << 30), off_t(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw system_error(path_, "read", errno);
      if (got == 0)
        throw source_error(ErrorCode::format, path_, offset,
                           cat("ended at byte ", offset, " while being read; it had ", size_,
                               " bytes when it was opened, so another process cut it short"));
      out = out.subspan(size_t(got));
      offset += got;
    }
  }

 private:
  void find_size() {
    struct stat info;
    if (::fstat(fd_, &info) != 0) throw system_error(path_, "inspect", errno);
    ErrorContext context;
    context.path = path_;
    if (S_ISDIR(info.st_mode))
      throw Error(ErrorCode::io, cat("cannot open \"", path_, "\": it is a folder, a file was expected"),
                  std::move(context));
    if (!S_ISREG(info.st_mode))
      throw Error(ErrorCode::io,
                  cat("cannot open \"", path_, "\": it is not a regular file (a pipe, socket or device cannot be read "
                                               "at any offset; copy it to a file first)"),
                  std::move(context));
    static_assert(sizeof(info.st_size) == 8, "file sizes are 64-bit");
    size_ = int64_t(info.st_size);
  }

  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
};
#endif

}  // namespace

std::shared_ptr<ByteSource> open_file(const std::string& path) {
#if defined(__wasi__)
  ErrorContext context;
  context.path = path;
  throw Error(ErrorCode::unsupported,
              cat("cannot open \"", path,
                  "\": this build has no file system; hand the bytes over as a memory source or a stream"),
              std::move(context));
#else
  return std::make_shared<FileSource>(path);
#endif
}

std::shared_ptr<ByteSource> memory_source(std::string name, std::span<const std::byte> bytes) {
  return std::make_shared<MemorySource>(std::move(name), bytes);
}

std::string read_text_file(const std::string& path) {
  std::shared_ptr<ByteSource> source = open_file(path);
  std::string text;
  try {
    if (uint64_t(source->size()) > uint64_t(text.max_size())) throw std::bad_alloc();
    text.resize(size_t(source->size()));
  } catch (const std::bad_alloc&) {
    throw source_error(ErrorCode::out_of_memory, path, -1,
                       cat("is too large to read as text: ", source->size(), " bytes do not fit in memory"));
  }
  source->read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace tenon
