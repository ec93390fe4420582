#include "text/utf8.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

using namespace tenon;

std::string whole(std::string_view bytes) {
  Utf8Stream stream;
  std::string out = stream.push(bytes);
  return out + stream.flush();
}

std::string byte_by_byte(std::string_view bytes) {
  Utf8Stream stream;
  std::string out;
  for (char b : bytes) out += stream.push(std::string_view(&b, 1));
  return out + stream.flush();
}

TEST(Utf8, EveryCodePointRoundTrips) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string bytes;
    append_utf8(bytes, c);
    const Utf8Char read = read_utf8(bytes, 0);
    ASSERT_EQ(read.status, Utf8Status::valid) << static_cast<uint32_t>(c);
    ASSERT_TRUE(read.code == c);
    ASSERT_EQ(read.length, static_cast<int64_t>(bytes.size()));
    for (int64_t cut = 1; cut < read.length; ++cut)
      ASSERT_EQ(read_utf8(std::string_view(bytes).substr(0, cut), 0).status, Utf8Status::truncated) << static_cast<uint32_t>(c);
  }
}

// What Python's bytes.decode("utf-8", "replace") gives.
TEST(Utf8, IllFormedBecomesReplacementPerMaximalSubpart) {
  const std::string r = "\uFFFD";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\xE2\x80", r},
      {"\xE6\xAD", r},
      {"\xFF", r},
      {"\xC0\xAF", r + r},
      {"\xED\xA0\x80", r + r + r},
      {"\xF4\x90\x80\x80", r + r + r + r},
      {"\xF0\x9F", r},
      {"\xF0\x9F\x98" "A", r + "A"},
      {"a\xE2\x80" "b", "a" + r + "b"},
      {"\xE0\x80\x80", r + r + r},
      {"\x80", r},
      {"", ""},
      {std::string("a\0b", 3), std::string("a\0b", 3)},
  };
  for (const auto& [bytes, wanted] : cases) {
    EXPECT_EQ(whole(bytes), wanted);
    EXPECT_EQ(byte_by_byte(bytes), wanted);
  }
}

TEST(Utf8, StreamDoesNotDependOnWhereBytesAreCut) {
  std::mt19937 rng(1);
  const std::string_view bits[] = {"a", "\xC3\xA9", "\xE4\xB8\x96", "\xF0\x9F\x98\x80", "\xF0", "\x9F", "\xE2\x80", "\xFF"};
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += bits[rng() % std::size(bits)];
    const std::string wanted = whole(bytes);
    EXPECT_EQ(byte_by_byte(bytes), wanted);
    for (int64_t i = 0; i < static_cast<int64_t>(wanted.size());) {
      const Utf8Char c = read_utf8(wanted, i);
      ASSERT_EQ(c.status, Utf8Status::valid);
      i += c.length;
    }
  }
}

}  // namespace
