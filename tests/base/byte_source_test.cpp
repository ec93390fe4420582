#include "base/byte_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "support/thrown.h"
#include "tenon/error.h"

namespace tenon {
namespace {
using tenon::testing::error_of;

// A folder that is removed with its files.
class TempFolder {
 public:
  TempFolder() {
    path_ = ::testing::TempDir() + "tenon_byte_source_XXXXXX";
    if (!mkdtemp(path_.data())) throw std::runtime_error("no temporary folder");
  }
  ~TempFolder() {
    for (const std::string& f : files_) std::remove(f.c_str());
    rmdir(path_.c_str());
  }
  std::string file(const std::string& name) {
    files_.push_back(path_ + "/" + name);
    return files_.back();
  }
  std::string write(const std::string& name, std::string_view content) {
    std::string path = file(name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::vector<std::string> files_;
};

std::string read_string(const ByteSource& source, int64_t offset, size_t count) {
  std::string out(count, '?');
  source.read(offset, std::as_writable_bytes(std::span(out)));
  return out;
}

void expect_contains(const Error& e, std::string_view text) {
  EXPECT_NE(std::string_view(e.what()).find(text), std::string_view::npos) << e.what() << " lacks " << text;
}

TEST(ByteSource, FileReadsAnyRange) {
  TempFolder folder;
  std::string path = folder.write("a", std::string("hello\0world", 11));
  auto source = open_file(path);
  EXPECT_EQ(source->name(), path);
  EXPECT_EQ(source->size(), 11);
  EXPECT_EQ(read_string(*source, 0, 11), std::string("hello\0world", 11));
  EXPECT_EQ(read_string(*source, 6, 5), "world");
  EXPECT_EQ(read_string(*source, 11, 0), "");
}

TEST(ByteSource, ReadPastTheEndNamesPathAndOffset) {
  TempFolder folder;
  std::string path = folder.write("a", "hello");
  std::string bytes = "hello";
  for (auto source : {open_file(path), memory_source(path, std::as_bytes(std::span(bytes)))}) {
    for (auto [offset, count] : {std::pair<int64_t, size_t>{0, 6}, {5, 1}, {4, 2}, {6, 0}, {INT64_MAX, 1}}) {
      Error e = error_of([&] { read_string(*source, offset, count); });
      EXPECT_EQ(e.code(), ErrorCode::format);
      EXPECT_EQ(e.context().path, path);
      EXPECT_EQ(e.context().offset, offset);
      expect_contains(e, "ends at byte 5");
    }
    EXPECT_EQ(error_of([&] { read_string(*source, -1, 1); }).code(), ErrorCode::invalid_argument);
    // A span that only claims its size: the range is checked before a byte is touched.
    std::byte one;
    Error e = error_of([&] { source->read(1, std::span(&one, SIZE_MAX)); });
    EXPECT_EQ(e.code(), ErrorCode::format);
  }
}

TEST(ByteSource, FileCutWhileOpenIsAnError) {
  TempFolder folder;
  std::string path = folder.write("a", std::string(10000, 'x'));
  auto source = open_file(path);
  ASSERT_EQ(truncate(path.c_str(), 100), 0);
  EXPECT_EQ(read_string(*source, 0, 100), std::string(100, 'x'));
  Error e = error_of([&] { read_string(*source, 0, 10000); });
  EXPECT_EQ(e.code(), ErrorCode::format);
  EXPECT_EQ(e.context().offset, 100);
  expect_contains(e, "cut it short");
}

TEST(ByteSource, OpenErrorsSayWhy) {
  TempFolder folder;
  Error missing = error_of([&] { open_file(folder.path() + "/none"); });
  EXPECT_EQ(missing.code(), ErrorCode::io);
  EXPECT_EQ(missing.context().path, folder.path() + "/none");
  expect_contains(missing, "No such file");

  Error dir = error_of([&] { open_file(folder.path()); });
  EXPECT_EQ(dir.code(), ErrorCode::io);
  expect_contains(dir, "is a folder");

  Error empty = error_of([&] { open_file(""); });
  EXPECT_EQ(empty.code(), ErrorCode::io);

  std::string path = folder.write("a", "x");
  Error zero = error_of([&] { open_file(path + std::string("\0.gguf", 6)); });
  EXPECT_EQ(zero.code(), ErrorCode::io);

  if (geteuid() != 0) {  // root may read everything
    ASSERT_EQ(chmod(path.c_str(), 0), 0);
    Error denied = error_of([&] { open_file(path); });
    EXPECT_EQ(denied.code(), ErrorCode::io);
    expect_contains(denied, "ermission");
  }
}

TEST(ByteSource, PipeIsAnErrorAndDoesNotWait) {
  TempFolder folder;
  std::string path = folder.file("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  Error e = error_of([&] { open_file(path); });
  EXPECT_EQ(e.code(), ErrorCode::io);
  expect_contains(e, "not a regular file");
  expect_contains(error_of([&] { open_file("/dev/null"); }), "not a regular file");
}

TEST(ByteSource, OffsetsPastFourGiB) {
  TempFolder folder;
  std::string path = folder.write("sparse", "start");
  constexpr int64_t far = (int64_t(1) << 32) + 5;
  {
    std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(far);
    f << "end";
  }
  auto source = open_file(path);
  EXPECT_EQ(source->size(), far + 3);
  EXPECT_EQ(read_string(*source, far, 3), "end");
  EXPECT_EQ(read_string(*source, far - 2, 5), std::string("\0\0end", 5));
}

TEST(ByteSource, MemoryCopies) {
  std::string bytes = "abc";
  auto source = memory_source("page", std::as_bytes(std::span(bytes)));
  bytes = "xyz";
  EXPECT_EQ(source->name(), "page");
  EXPECT_EQ(source->size(), 3);
  EXPECT_EQ(read_string(*source, 1, 2), "bc");
  EXPECT_EQ(memory_source("none", {})->size(), 0);
  EXPECT_EQ(read_string(*memory_source("none", {}), 0, 0), "");
}

TEST(ByteSource, TextFile) {
  TempFolder folder;
  std::string content = "line\r\n\xc3\xa9";
  content += '\0';
  EXPECT_EQ(read_text_file(folder.write("a", content)), content);
  EXPECT_EQ(read_text_file(folder.write("b", "")), "");
  EXPECT_EQ(error_of([&] { read_text_file(folder.path()); }).code(), ErrorCode::io);
}

}  // namespace
}  // namespace tenon
