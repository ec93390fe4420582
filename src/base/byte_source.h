// A read-only run of bytes at 64-bit offsets: a file now, a stream or a browser's Blob later.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tenon {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual const std::string& name() const = 0;  // for messages: the path
  virtual int64_t size() const = 0;             // bytes
  // Fills `out` from `offset`. Throws Error(format) when the source ends before that (with path and offset),
  // Error(io) when the system refuses.
  virtual void read(int64_t offset, std::span<std::byte> out) const = 0;
};

// Opens a regular file. Reads go through pread, not a mapping: a file that another process cuts short is then an
// Error, where a mapping would end the process with SIGBUS; and bytes land in their final place once.
// Throws Error(io): no such file, a folder, no permission; the message says which.
std::shared_ptr<ByteSource> open_file(const std::string& path);

// Bytes in memory, copied; `name` appears in messages.
std::shared_ptr<ByteSource> memory_source(std::string name, std::span<const std::byte> bytes);

// The whole file as a string (same errors as open_file). For small inputs such as prompts.
std::string read_text_file(const std::string& path);

}  // namespace tenon
