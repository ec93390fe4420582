#include "output.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

#include "tenon/error.h"

namespace tenon::cli {
namespace {

[[noreturn]] void output_failed() {
  const int code = errno;
  if (code == EPIPE) throw ClosedPipe();
  throw Error(ErrorCode::io, "cannot write to standard output: " + std::generic_category().message(code));
}

[[noreturn]] void input_failed(const std::string& path, int code) {
  throw Error(ErrorCode::io, "cannot read \"" + path + "\": " + std::generic_category().message(code), {.path = path});
}

std::string read_all(std::FILE* file, const std::string& name) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const size_t got = std::fread(buffer, 1, sizeof buffer, file);
    text.append(buffer, got);
    if (got == 0 && std::ferror(file)) input_failed(name, errno);
    if (got == 0) return text;
  }
}

}  // namespace

void write_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) output_failed();
}

void flush_output() {
  if (std::fflush(stdout) != 0) output_failed();
}

std::string to_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string read_stdin() { return read_all(stdin, "standard input"); }

std::string read_file(const std::string& path) {
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (!file) input_failed(path, errno);
  struct stat info;
  if (::fstat(fileno(file.get()), &info) == 0 && S_ISDIR(info.st_mode)) input_failed(path, EISDIR);
  return read_all(file.get(), path);
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)), part_(path_ + ".part") {
  file_ = std::fopen(part_.c_str(), "wb");
  if (!file_) failed(errno);
}

OutputFile::~OutputFile() {
  if (!file_) return;
  std::fclose(file_);
  std::remove(part_.c_str());
}

void OutputFile::write(std::string_view text) {
  const bool whole = std::fwrite(text.data(), 1, text.size(), file_) == text.size();
  const int code = errno;
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (whole && closed && std::rename(part_.c_str(), path_.c_str()) == 0) return;
  const int reason = whole ? errno : code;
  std::remove(part_.c_str());
  failed(reason);
}

void OutputFile::failed(int code) const {
  throw Error(ErrorCode::io, "cannot write \"" + path_ + "\": " + std::generic_category().message(code), {.path = path_});
}

}  // namespace tenon::cli
