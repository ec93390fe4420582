// Thousands of damaged files, the same on each run.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "gguf_writer.h"
#include "io/gguf.h"
#include "tenon/error.h"

namespace tenon {
namespace {

using test::GgufWriter;
using Bytes = std::vector<std::byte>;

GgufWriter small_model() {
  GgufWriter w;
  w.kv("general.architecture", "llama").kv("llama.block_count", uint32_t(2)).kv("eps", 1e-5f).kv("flag", true);
  w.strings("tokens", {"a", "", std::string("\xff\0z", 3)});
  w.array<float>("scores", {0.5f, -1}).array<int32_t>("types", {1, -3});
  w.tensor("x", {2, 3}, {1, 2, 3, 4, 5, 6}).tensor("q", {2, 64}, 8, Bytes(4 * 34, std::byte(7)));
  return w;
}

// Each file opens, with a directory that can be trusted, or throws Error.
void open_or_reject(const Bytes& bytes, int64_t& opened) {
  try {
    Gguf g = Gguf::open(memory_source("test.gguf", bytes));
    ++opened;
    for (const GgufEntry& e : g.metadata()) {
      EXPECT_EQ(g.find_entry(e.key), &e);
      EXPECT_FALSE(e.value.text().empty());
    }
    for (const GgufTensor& t : g.tensors()) {
      EXPECT_GE(t.offset, 0);
      EXPECT_GE(t.bytes, 0);
      EXPECT_LE(t.offset + t.bytes, int64_t(bytes.size()));
      EXPECT_EQ(t.offset % g.alignment(), 0);
      std::vector<std::byte> data(size_t(t.bytes));
      g.source()->read(t.offset, data);
    }
  } catch (const Error& e) {
    EXPECT_NE(e.code(), ErrorCode::internal) << e.what();
    EXPECT_NE(e.code(), ErrorCode::out_of_memory) << e.what();
  }
}

TEST(GgufMutations, OpenOrThrow) {
  const Bytes valid = small_model().build();
  const uint64_t values[] = {0, 1, 9, 0x7fffffff, 0xffffffff, uint64_t(1) << 32, uint64_t(1) << 62,
                             INT64_MAX, UINT64_MAX};
  std::mt19937 random(7);
  int64_t opened = 0, total = 0;
  for (size_t at = 0; at < valid.size(); ++at)  // each byte, some values
    for (int x : {0, 1, 9, 0x7f, 0x80, 0xff, int(valid[at]) + 1, int(valid[at]) - 1}) {
      Bytes b = valid;
      b[at] = std::byte(x);
      open_or_reject(b, opened), ++total;
    }
  for (size_t at = 0; at + 8 <= valid.size(); at += 1)  // each place, telling numbers
    for (uint64_t v : values) {
      Bytes b = valid;
      for (size_t i = 0; i < 8; ++i) b[at + i] = std::byte(v >> (8 * i));
      open_or_reject(b, opened), ++total;
    }
  for (int i = 0; i < 3000; ++i) {  // several random bytes, a cut, a doubled piece
    Bytes b = valid;
    for (uint32_t n = random() % 6; n > 0; --n) b[random() % b.size()] = std::byte(random());
    size_t from = random() % b.size(), to = from + random() % (b.size() - from);
    if (i % 3 == 0) b.erase(b.begin() + long(from), b.begin() + long(to));
    if (i % 3 == 1) b.insert(b.begin() + long(from), valid.begin() + long(from), valid.begin() + long(to));
    open_or_reject(b, opened), ++total;
  }
  EXPECT_GT(opened, 100);  // the mutations are not all trivial
  EXPECT_LT(opened, total);
}

}  // namespace
}  // namespace tenon
