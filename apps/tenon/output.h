// Standard output, and files and standard input as text.
#pragma once
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tenon::cli {

// The reader of standard output is gone.
struct ClosedPipe {};

// Throws ClosedPipe, or std::runtime_error when the system refuses (a full disk).
void write_output(std::string_view text);
void flush_output();

// Keys in the order in which they are added.
using Json = nlohmann::ordered_json;
// One line. Bytes that are not UTF-8 become U+FFFD.
std::string to_line(const Json& json);

// All bytes of standard input, or of a file. Throws tenon::Error(io).
std::string read_stdin();
std::string read_file(const std::string& path);

// A file that is written at the end of long work: opened at the start, so that a path that cannot be written is an error
// before the work; whole or not there. Throws tenon::Error(io).
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  void write(std::string_view text);  // once

 private:
  [[noreturn]] void failed(int code) const;
  std::string path_, part_;
  std::FILE* file_ = nullptr;
};

}  // namespace tenon::cli
