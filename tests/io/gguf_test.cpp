#include "io/gguf.h"

#include <gtest/gtest.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "gguf_writer.h"
#include "support/thrown.h"
#include "tenon/error.h"

namespace tenon {
namespace {
using tenon::testing::error_of;

using test::ByteWriter;
using test::GgufWriter;
using Bytes = std::vector<std::byte>;

constexpr uint32_t f32_id = 0, q8_0_id = 8, q4_K_id = 12;

Gguf open_bytes(const Bytes& bytes) { return Gguf::open(memory_source("test.gguf", bytes)); }

void expect_contains(const Error& e, std::string_view text) {
  EXPECT_NE(std::string_view(e.what()).find(text), std::string_view::npos) << e.what() << " lacks " << text;
}

// Opening fails with `code`, a message that holds `text` and the file's name, and the byte offset in the context.
Error expect_rejected(const Bytes& bytes, std::string_view text, ErrorCode code = ErrorCode::format) {
  Error e = error_of([&] { open_bytes(bytes); });
  EXPECT_EQ(e.code(), code) << e.what();
  EXPECT_EQ(e.context().path, "test.gguf");
  EXPECT_GE(e.context().offset, 0) << e.what();
  EXPECT_LE(e.context().offset, int64_t(bytes.size())) << e.what();
  expect_contains(e, text);
  expect_contains(e, "test.gguf");
  return e;
}

Bytes with_directory(const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset, size_t data_bytes) {
  GgufWriter w;
  w.directory("t", dims, type, offset);
  w.data().append(Bytes(data_bytes));
  return w.build();
}

GgufWriter small_model() {
  GgufWriter w;
  w.kv("general.architecture", "llama").kv("llama.block_count", uint32_t(2)).kv("eps", 1e-5f).kv("flag", true);
  w.strings("tokens", {"a", "", std::string("\xff\0z", 3)});
  w.array<float>("scores", {0.5f, -1}).array<int32_t>("types", {1, -3});
  w.tensor("x", {2, 3}, {1, 2, 3, 4, 5, 6}).tensor("q", {2, 64}, q8_0_id, Bytes(4 * 34, std::byte(7)));
  return w;
}

TEST(Gguf, ReadsMetadataAndDirectory) {
  for (uint32_t version : {2u, 3u}) {
    GgufWriter w = small_model();
    w.version = version;
    Bytes bytes = w.build();
    Gguf g = open_bytes(bytes);
    EXPECT_EQ(g.version(), int(version));
    EXPECT_EQ(g.alignment(), 32);
    EXPECT_EQ(g.path(), "test.gguf");
    ASSERT_EQ(g.metadata().size(), 7u);
    EXPECT_EQ(g.metadata()[1].key, "llama.block_count");
    EXPECT_EQ(g.get_string("general.architecture"), "llama");
    EXPECT_EQ(g.get_u32("llama.block_count"), 2u);
    EXPECT_EQ(g.get_f32("eps"), 1e-5f);
    EXPECT_TRUE(g.get_bool("flag"));
    EXPECT_EQ(g.strings("tokens"), (std::vector<std::string>{"a", "", std::string("\xff\0z", 3)}));
    EXPECT_EQ(g.floats("scores"), (std::vector<float>{0.5f, -1}));
    EXPECT_EQ(g.ints("types"), (std::vector<int64_t>{1, -3}));

    ASSERT_EQ(g.tensors().size(), 2u);
    const GgufTensor& x = g.tensor("x");
    EXPECT_EQ(x.dtype, DType::f32);
    EXPECT_EQ(x.shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(x.bytes, 24);
    EXPECT_EQ(x.offset % 32, 0);
    float values[6];
    g.source()->read(x.offset, std::as_writable_bytes(std::span(values)));
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[5], 6);
    const GgufTensor* q = g.find("q");
    ASSERT_NE(q, nullptr);
    EXPECT_EQ(q->dtype, DType::q8_0);
    EXPECT_EQ(q->shape, (std::vector<int64_t>{2, 64}));
    EXPECT_EQ(q->bytes, 4 * 34);
    EXPECT_EQ(q->ggml_type, q8_0_id);
    EXPECT_STREQ(q->type_name, "q8_0");
    EXPECT_EQ(q->offset, x.offset + 32);
    EXPECT_EQ(q->offset + q->bytes, int64_t(bytes.size()));
    EXPECT_EQ(g.find("y"), nullptr);
    EXPECT_FALSE(g.has_tensor("y"));

    Gguf copy = g;  // look-up must not depend on where the first object lives
    g = open_bytes(GgufWriter().build());
    EXPECT_EQ(copy.get_u32("llama.block_count"), 2u);
    EXPECT_EQ(copy.tensor("q").bytes, 4 * 34);
    EXPECT_TRUE(g.metadata().empty());
    EXPECT_TRUE(g.tensors().empty());
  }
}

TEST(Gguf, AllScalarTypes) {
  GgufWriter w;
  w.kv("u8", uint8_t(255)).kv("i8", int8_t(-128)).kv("u16", uint16_t(65535)).kv("i16", int16_t(-32768));
  w.kv("u32", uint32_t(4294967295u)).kv("i32", INT32_MIN).kv("u64", UINT64_MAX).kv("i64", INT64_MIN);
  w.kv("f32", 0.1f).kv("f64", 0.1).kv("huge", 1e300).kv("inf", std::numeric_limits<double>::infinity());
  w.kv("no", false).kv("text", "x");
  Gguf g = open_bytes(w.build());
  EXPECT_EQ(g.get_u32("u8"), 255u);
  EXPECT_EQ(g.get_i32("i8"), -128);
  EXPECT_EQ(g.get_i64("u16"), 65535);
  EXPECT_EQ(g.get_i32("i16"), -32768);
  EXPECT_EQ(g.get_u64("u32"), 4294967295u);
  EXPECT_EQ(g.get_i32("i32"), INT32_MIN);
  EXPECT_EQ(g.get_u64("u64"), UINT64_MAX);
  EXPECT_EQ(g.get_i64("i64"), INT64_MIN);
  EXPECT_EQ(g.get_f32("f32"), 0.1f);
  EXPECT_EQ(g.get_f32("f64"), 0.1f);
  EXPECT_TRUE(std::isinf(g.get_f32("inf")));
  EXPECT_FALSE(g.get_bool("no"));
  EXPECT_EQ(g.find_entry("u64")->value.text(), "u64 18446744073709551615");
  EXPECT_EQ(g.find_entry("text")->value.text(), "string \"x\"");

  // What does not fit or is of another kind.
  const std::vector<std::function<void()>> wrong = {
      [&] { g.get_u32("i8"); },   [&] { g.get_u64("i64"); },   [&] { g.get_i64("u64"); },    [&] { g.get_i32("u32"); },
      [&] { g.get_u32("u64"); },  [&] { g.get_u32("f32"); },   [&] { g.get_u32("no"); },     [&] { g.get_u32("text"); },
      [&] { g.get_f32("u32"); },  [&] { g.get_f32("huge"); },  [&] { g.get_bool("u8"); },
      [&] { g.get_string("u8"); },
      [&] { g.strings("text"); }, [&] { g.ints("u32"); },      [&] { g.floats("f32"); },     [&] { g.bools("no"); },
      [&] { g.find_u32("i8"); },  [&] { g.find_string("u8"); }, [&] { g.find_floats("f32"); }};
  for (const auto& f : wrong) EXPECT_EQ(error_of(f).code(), ErrorCode::format);
}

TEST(Gguf, GetterErrorsNameKeyFoundWantedAndFile) {
  Gguf g = open_bytes(small_model().build());
  Error wrong = error_of([&] { g.get_u32("general.architecture"); });
  for (const char* part :
       {"test.gguf", "\"general.architecture\"", "string \"llama\"", "an integer from 0 to 4294967295"})
    expect_contains(wrong, part);
  EXPECT_EQ(wrong.context().offset, g.find_entry("general.architecture")->offset);
  Error missing = error_of([&] { g.get_u32("llama.context_length"); });
  EXPECT_EQ(missing.code(), ErrorCode::format);
  for (const char* part : {"test.gguf", "\"llama.context_length\"", "missing"}) expect_contains(missing, part);
  expect_contains(error_of([&] { g.get_u32("scores"); }), "array of 2 f32: [0.5, -1]");
  expect_contains(error_of([&] { g.strings("none"); }), "missing");
  EXPECT_EQ(g.find_u32("none"), std::nullopt);
  EXPECT_EQ(g.find_strings("none"), nullptr);
  EXPECT_EQ(g.find_floats("none"), std::nullopt);
  EXPECT_EQ(g.find_u32("llama.block_count"), 2u);
  EXPECT_FALSE(g.has("none"));

  Error tensor = error_of([&] { g.tensor("y"); });
  EXPECT_EQ(tensor.code(), ErrorCode::format);
  EXPECT_EQ(tensor.context().tensor, "y");
  expect_contains(tensor, "tensor \"y\" is missing");
}

TEST(Gguf, Arrays) {
  GgufWriter w;
  w.array<uint8_t>("u8", {0, 255}).array<uint64_t>("u64", {1, UINT64_MAX}).array<double>("f64", {0.1, 2});
  w.strings("s", {}).array<float>("none", {});
  w.begin_kv("b", 9).put(uint32_t(7)).put(uint64_t(3)).put(uint8_t(1)).put(uint8_t(0)).put(uint8_t(1));
  w.array<int16_t>("many", std::vector<int16_t>(300000, -7));  // longer than the window
  Gguf g = open_bytes(w.build());
  EXPECT_EQ(g.ints("u8"), (std::vector<int64_t>{0, 255}));
  expect_contains(error_of([&] { g.ints("u64"); }), "element 1 is 18446744073709551615");
  EXPECT_EQ(g.floats("f64"), (std::vector<float>{0.1f, 2}));
  EXPECT_EQ(g.bools("b"), (std::vector<bool>{true, false, true}));
  EXPECT_TRUE(g.strings("s").empty());
  EXPECT_TRUE(g.floats("none").empty());
  EXPECT_EQ(error_of([&] { g.ints("none"); }).code(), ErrorCode::format);  // empty, but an array of floats
  EXPECT_EQ(g.ints("many"), std::vector<int64_t>(300000, -7));
  EXPECT_EQ(g.find_entry("many")->value.text(2), "array of 300000 i16: [-7, -7, …]");
}

TEST(Gguf, AMillionStringsWithinASecond) {
  std::vector<std::string> tokens;
  for (int i = 0; i < 1000000; ++i) tokens.push_back("token" + std::to_string(i));
  Bytes bytes = GgufWriter().strings("tokenizer.ggml.tokens", tokens).build();
  auto start = std::chrono::steady_clock::now();
  Gguf g = open_bytes(bytes);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(g.strings("tokenizer.ggml.tokens"), tokens);
  EXPECT_LT(seconds, 1.0);
}

TEST(Gguf, ScalarAndEmptyTensors) {
  GgufWriter w;
  w.tensor("scalar", {}, {5}).tensor("empty", {3, 0}, std::vector<float>{}).tensor("e2", {0, 32}, q8_0_id, Bytes());
  Gguf g = open_bytes(w.build());
  EXPECT_TRUE(g.tensor("scalar").shape.empty());
  EXPECT_EQ(g.tensor("scalar").bytes, 4);
  EXPECT_EQ(g.tensor("empty").shape, (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(g.tensor("empty").bytes, 0);
  EXPECT_EQ(g.tensor("e2").bytes, 0);
}

// Bytes of one 256-element row as in ggml's block layouts, written down independently of the reader's table.
TEST(Gguf, KnownTypesOpenAndUnsupportedOnesSaySo) {
  struct Row { uint32_t id; const char* name; int64_t bytes; bool supported; };
  const Row rows[] = {
      {0, "f32", 1024, true},        {1, "f16", 512, true},       {2, "q4_0", 8 * (2 + 16), true},
      {3, "q4_1", 8 * (4 + 16), true}, {6, "q5_0", 8 * (2 + 4 + 16), false}, {7, "q5_1", 8 * (4 + 4 + 16), false},
      {8, "q8_0", 8 * (2 + 32), true}, {10, "q2_K", 16 + 64 + 4, false}, {11, "q3_K", 32 + 64 + 12 + 2, false},
      {12, "q4_K", 4 + 12 + 128, false}, {13, "q5_K", 4 + 12 + 32 + 128, false}, {14, "q6_K", 128 + 64 + 16 + 2, false},
      {20, "iq4_nl", 8 * (2 + 16), false}, {23, "iq4_xs", 2 + 2 + 4 + 128, false}, {24, "i8", 256, true},
      {26, "i32", 1024, true},       {28, "f64", 2048, true},    {30, "bf16", 512, true},
      {39, "mxfp4", 8 * (1 + 16), false}};
  for (const Row& r : rows) {
    GgufWriter w;
    w.tensor("blk.0.ffn_down.weight", {1, 256}, r.id, Bytes(size_t(r.bytes)));
    Gguf g = open_bytes(w.build());
    const GgufTensor& t = g.tensors().at(0);
    EXPECT_STREQ(t.type_name, r.name);
    EXPECT_EQ(t.bytes, r.bytes) << r.name;
    EXPECT_EQ(t.supported, r.supported) << r.name;
    EXPECT_TRUE(g.has_tensor(t.name));
    if (r.supported) {
      EXPECT_STREQ(g.tensor(t.name).type_name, r.name);
      EXPECT_EQ(t.bytes, 256 / block_elements(t.dtype) * block_bytes(t.dtype)) << r.name;
      continue;
    }
    Error e = error_of([&] { g.find("blk.0.ffn_down.weight"); });
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_EQ(e.context().tensor, "blk.0.ffn_down.weight");
    for (const char* part : {r.name, "\"blk.0.ffn_down.weight\"", "f32, f16, q4_0, q4_1, q8_0, i8, i32, i64, f64, bf16"})
      expect_contains(e, part);
  }
  for (uint32_t id : {43u, 255u, 0xffffffffu}) expect_rejected(with_directory({256}, id, 0, 4096), "unknown type");
  for (uint32_t id : {4u, 5u, 31u, 33u, 36u, 38u}) expect_rejected(with_directory({256}, id, 0, 4096), "was removed");
}

TEST(Gguf, NotGguf) {
  expect_rejected({}, "is not a GGUF file: it is empty");
  auto text = [](std::string_view s) { return ByteWriter().text(s).bytes(); };
  expect_rejected(text("version https://git-lfs"), "is not a GGUF file: starts with \"version https://\"");
  expect_rejected(text(std::string_view("PK\x03\x04", 4)), "starts with \"PK\\x03\\x04\"");
  expect_rejected(text("G"), "starts with \"G\"");
  expect_rejected(text("GGUF"), "truncated");
  expect_rejected(text("GGUF\3"), "truncated");
  expect_rejected(ByteWriter().text("GGUF").put(uint32_t(3)).put(uint64_t(0)).bytes(), "the key count");
  EXPECT_EQ(error_of([] { Gguf::open(nullptr); }).code(), ErrorCode::invalid_argument);
}

TEST(Gguf, VersionsAndByteOrder) {
  GgufWriter w = small_model();
  for (uint32_t v : {0u, 1u, 4u, 70000u}) {
    w.version = v;
    Error e = expect_rejected(w.build(), "versions 2 and 3 are supported", ErrorCode::unsupported);
    EXPECT_EQ(e.context().offset, 4);
  }
  w.version = 0x03000000;  // 3, written by a big-endian machine
  expect_rejected(w.build(), "big-endian", ErrorCode::unsupported);
  expect_rejected(ByteWriter().text("FUGG").put(0x03000000).bytes(), "big-endian", ErrorCode::unsupported);
}

// P1: a product of dimensions that wraps.
TEST(Gguf, P1OverflowingShapes) {
  const uint64_t two62 = uint64_t(1) << 62;
  Error e = expect_rejected(with_directory({two62 + 1, 4}, f32_id, 0, 16), "overflows");
  EXPECT_EQ(e.context().tensor, "t");
  expect_contains(e, "[4,4611686018427387905]");
  for (const std::vector<uint64_t>& dims : std::vector<std::vector<uint64_t>>{
           {uint64_t(1) << 33, uint64_t(1) << 31}, {two62, 0, 4}, {two62}, {65536, 65536, 65536, 65536}})
    expect_rejected(with_directory(dims, f32_id, 0, 16), "overflows");
  expect_rejected(with_directory({uint64_t(1) << 58, 32}, q8_0_id, 0, 16), "overflows");
  // Elements fit, bytes do not.
  expect_rejected(with_directory({uint64_t(1) << 61}, f32_id, 0, 16), "overflows");
  expect_rejected(with_directory({UINT64_MAX}, f32_id, 0, 16), "too large");
  expect_rejected(with_directory({two62 * 2, 0}, f32_id, 0, 16), "too large");
}

std::vector<std::pair<std::string, Bytes>> length_bombs() {
  std::vector<std::pair<std::string, Bytes>> out;
  auto add = [&](const char* name, const GgufWriter& w) { out.emplace_back(name, w.build()); };
  const uint64_t two63 = uint64_t(1) << 63;
  for (uint64_t length : {UINT64_MAX, two63, uint64_t(1) << 40, uint64_t(12)}) {
    GgufWriter w;
    w.begin_kv("a", 8).put(length).text("01234567890");  // 11 bytes are left
    add("string", w);
    GgufWriter key;
    key.kv_count = 1;
    key.data().put(length).text("01234567890");
    add("key", key);
    GgufWriter name;
    name.tensor_count = 1;
    name.data().put(length).text("0123456789012345678901");
    if (length > 22) add("tensor name", name);
  }
  for (uint32_t type : {0u, 4u, 7u, 8u, 10u})
    for (uint64_t count : {two63, UINT64_MAX, uint64_t(1) << 61, uint64_t(17)}) {
      GgufWriter w;
      w.begin_kv("a", 9).put(type).put(count).text("0123456789abcdef");
      add("array", w);
    }
  for (uint64_t count : {two63, UINT64_MAX, uint64_t(1) << 32}) {
    GgufWriter kvs, tensors;
    kvs.kv_count = int64_t(count >> 1);
    kvs.kv("a", uint8_t(1));
    add("kv_count", kvs);
    tensors.tensor_count = int64_t(count >> 1);
    add("tensor_count", tensors);
    out.emplace_back("raw kv_count", ByteWriter().text("GGUF").put(3).put(uint64_t(0)).put(count).put(0.0).bytes());
    out.emplace_back("raw tensor_count", ByteWriter().text("GGUF").put(3).put(count).put(uint64_t(0)).put(0.0).bytes());
  }
  GgufWriter last;
  last.kv_count = 2;
  add("one key too many", last.kv("a", uint8_t(1)));
  return out;
}

Bytes nested_arrays(int depth) {
  GgufWriter w;
  ByteWriter& out = w.begin_kv("a", 9);
  for (int i = 0; i < depth; ++i) out.put(uint32_t(9)).put(uint64_t(1));
  out.put(uint32_t(0)).put(uint64_t(1)).put(uint8_t(0));
  return w.build();
}

#if defined(__linux__)
// VmHWM is then the peak of resident bytes since this call. Memory that the heap holds from earlier tests is given back
// first: an allocation served from it would not show.
void reset_peak() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << "5";
}
int64_t status_bytes(const std::string& field) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(field)) return std::stoll(line.substr(field.size() + 1)) * 1024;
  return 0;
}
#endif

// P3: lengths and counts that the file does not have.
TEST(Gguf, P3LengthBombs) {
  for (const auto& [name, bytes] : length_bombs()) {
    SCOPED_TRACE(name);
    expect_rejected(bytes, "left");
  }
  for (int depth : {1, 2, 10000})
    expect_rejected(nested_arrays(depth), "array of arrays", ErrorCode::unsupported);
}

TEST(Gguf, P3ErrorsAreQuickAndTakeNoMemory) {
  auto bombs = length_bombs();
  bombs.emplace_back("nested", nested_arrays(10000));
  bombs.emplace_back("dims", with_directory({uint64_t(1) << 33, uint64_t(1) << 31}, f32_id, 0, 16));
  auto try_open = [](const Bytes& bytes) {
    try {
      open_bytes(bytes);
      return false;
    } catch (const Error&) {
      return true;
    }
  };
  EXPECT_TRUE(try_open(bombs[0].second));  // the first exception loads the unwinder's tables
  for (const auto& [name, bytes] : bombs) {
#if defined(__linux__)
    reset_peak();
    int64_t before = status_bytes("VmRSS:");
#endif
    auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(try_open(bytes)) << name;
    double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    EXPECT_LT(ms, 100) << name;
#if defined(__linux__)
    EXPECT_LT(status_bytes("VmHWM:") - before, 1 << 20) << name;
#endif
  }
}

// The bound of the memory test holds because no read is larger than what is there: counted here exactly.
TEST(Gguf, ReadsTheHeaderOnlyOnceAndInWindows) {
  class Counting final : public ByteSource {
   public:
    explicit Counting(const Bytes& b) : inner_(memory_source("test.gguf", b)) {}
    const std::string& name() const override { return inner_->name(); }
    int64_t size() const override { return inner_->size(); }
    void read(int64_t offset, std::span<std::byte> out) const override {
      inner_->read(offset, out);
      bytes += int64_t(out.size());
      largest = std::max(largest, int64_t(out.size()));
    }
    mutable int64_t bytes = 0, largest = 0;

   private:
    std::shared_ptr<ByteSource> inner_;
  };
  GgufWriter w;
  w.kv("text", std::string(1000000, 'x')).array<float>("f", std::vector<float>(500000, 1.0f));
  w.tensor("big", {1024, 1024}, std::vector<float>(1024 * 1024));
  auto source = std::make_shared<Counting>(w.build());
  Gguf g = Gguf::open(source);
  EXPECT_EQ(g.get_string("text").size(), 1000000u);
  EXPECT_LE(source->largest, 256 * 1024);
  EXPECT_LE(source->bytes, 3000000 + 2 * 256 * 1024);
}

// A header, then zeros up to any size: files that no test could write.
class HugeSource final : public ByteSource {
 public:
  HugeSource(const Bytes& start, int64_t size) : start_(memory_source("huge.gguf", start)), size_(size) {}
  const std::string& name() const override { return start_->name(); }
  int64_t size() const override { return size_; }
  void read(int64_t offset, std::span<std::byte> out) const override {
    std::fill(out.begin(), out.end(), std::byte(0));
    int64_t there = std::clamp<int64_t>(start_->size() - offset, 0, int64_t(out.size()));
    if (there > 0) start_->read(offset, out.first(size_t(there)));
  }

 private:
  std::shared_ptr<ByteSource> start_;
  int64_t size_;
};

TEST(Gguf, SizesPastFourGiB) {
  const uint64_t eight_gib = uint64_t(1) << 33, header = 128;
  GgufWriter w;
  w.directory("a", {uint64_t(1) << 31}, f32_id, 0).directory("b", {uint64_t(1) << 20, 4096}, q8_0_id, eight_gib);
  ASSERT_EQ(w.build().size(), header);
  const int64_t b_bytes = (int64_t(1) << 27) * 34;
  const int64_t size = int64_t(header + eight_gib) + b_bytes;
  Gguf g = Gguf::open(std::make_shared<HugeSource>(w.build(), size));
  EXPECT_EQ(g.tensor("a").bytes, int64_t(eight_gib));
  EXPECT_EQ(g.tensor("b").bytes, b_bytes);
  EXPECT_EQ(g.tensor("b").offset, int64_t(header + eight_gib));
  EXPECT_EQ(g.tensor("b").shape, (std::vector<int64_t>{4096, 1 << 20}));
  Error e = error_of([&] { Gguf::open(std::make_shared<HugeSource>(w.build(), size - 1)); });
  EXPECT_EQ(e.code(), ErrorCode::format);
  EXPECT_EQ(e.context().tensor, "b");
}

// The bytes are there, but nobody needs that much metadata: an error before anything is read or allocated.
TEST(Gguf, HeaderIsAtMostOneGiB) {
  for (uint32_t type : {0u, 4u, 8u}) {
    GgufWriter w;
    w.begin_kv("a", 9).put(type).put(uint64_t(1) << 31);
    Error e = error_of([&] { Gguf::open(std::make_shared<HugeSource>(w.build(), INT64_MAX)); });
    EXPECT_EQ(e.code(), ErrorCode::format);
    expect_contains(e, "larger than the limit of 1073741824 bytes");
  }
}

// P4: number of dimensions.
TEST(Gguf, P4DimensionCounts) {
  for (uint32_t n : {5u, 9u, 0xffffffffu}) {
    GgufWriter w;
    ByteWriter& out = w.begin_tensor("t").put(n);
    for (int i = 0; i < 9; ++i) out.put(uint64_t(1));
    out.put(f32_id).put(uint64_t(0));
    w.data().append(Bytes(64));
    expect_rejected(w.build(), "dimensions; at most 4");
  }
  EXPECT_EQ(open_bytes(with_directory({1, 1, 1, 1}, f32_id, 0, 4)).tensor("t").shape.size(), 4u);
  EXPECT_TRUE(open_bytes(with_directory({}, f32_id, 0, 4)).tensor("t").shape.empty());  // a scalar
}

// P5: data that is not in the file.
TEST(Gguf, P5DataOutsideTheFile) {
  Bytes bytes = small_model().build();
  EXPECT_NO_THROW(open_bytes(bytes));
  Error e = expect_rejected(Bytes(bytes.begin(), bytes.end() - 1), "truncated");
  EXPECT_EQ(e.context().tensor, "q");
  for (uint64_t offset : {uint64_t(1) << 40, UINT64_MAX - 31, uint64_t(1) << 63, uint64_t(64)})
    expect_rejected(with_directory({16}, f32_id, offset, 64), "tensor \"t\"");
  expect_rejected(with_directory({17}, f32_id, 0, 64), "needs 68 bytes at offset 0 of the data, but the data has 64");
  EXPECT_NO_THROW(open_bytes(with_directory({16}, f32_id, 0, 64)));
  // Every shorter file.
  for (size_t n = 0; n < bytes.size(); ++n) expect_rejected(Bytes(bytes.begin(), bytes.begin() + long(n)), "");
}

TEST(Gguf, MisalignedAndOverlappingTensors) {
  expect_rejected(with_directory({4}, f32_id, 16, 64), "offset 16 is not a multiple of the alignment 32");
  GgufWriter w;
  w.directory("a", {16}, f32_id, 0).directory("b", {1}, f32_id, 32);
  w.data().append(Bytes(128));
  Error e = expect_rejected(w.build(), "tensor \"b\": its data overlaps that of \"a\"");
  EXPECT_EQ(e.context().tensor, "b");
  GgufWriter same;
  same.directory("a", {1}, f32_id, 0).directory("b", {1}, f32_id, 0);
  same.data().append(Bytes(128));
  expect_rejected(same.build(), "overlaps");
  GgufWriter gap;  // gaps and any order are fine, an empty tensor overlaps nothing
  gap.directory("a", {16}, f32_id, 64).directory("b", {1}, f32_id, 0).directory("c", {0}, f32_id, 64);
  gap.data().append(Bytes(128));
  EXPECT_NO_THROW(open_bytes(gap.build()));
}

// P8: duplicates.
TEST(Gguf, P8Duplicates) {
  GgufWriter keys;
  keys.kv("general.architecture", "llama").kv("x", uint8_t(1)).kv("general.architecture", "qwen2");
  expect_rejected(keys.build(), "key \"general.architecture\" occurs twice");
  GgufWriter tensors;
  tensors.tensor("a", {1}, {1}).tensor("b", {1}, {2}).tensor("a", {1}, {3});
  expect_rejected(tensors.build(), "tensor \"a\": occurs twice");
}

// P10: alignment.
TEST(Gguf, P10Alignment) {
  auto with = [](auto alignment, size_t real) {
    GgufWriter w;
    w.alignment = real;
    return w.kv("general.alignment", alignment).tensor("a", {3}, {1, 2, 3}).tensor("b", {1}, {4}).build();
  };
  for (uint32_t a : {0u, 1u, 3u, 4u, 24u, 1u << 17, 1u << 30, 0xffffffffu})
    expect_rejected(with(a, 32), "general.alignment is u32");
  expect_rejected(with(int32_t(32), 32), "general.alignment is i32 32");
  expect_rejected(with(uint64_t(32), 32), "general.alignment is u64 32");
  expect_rejected(with(32.0f, 32), "general.alignment is f32 32");
  expect_rejected(GgufWriter().kv("general.alignment", "32").build(), "general.alignment is string");
  expect_rejected(GgufWriter().array<uint32_t>("general.alignment", {32}).build(), "array of 1 u32");
  for (uint32_t a : {8u, 16u, 64u, 65536u}) {
    Gguf g = open_bytes(with(a, a));
    EXPECT_EQ(g.alignment(), a);
    EXPECT_EQ(g.tensor("a").offset % a, 0);
    float x;
    g.source()->read(g.tensor("b").offset, std::as_writable_bytes(std::span(&x, 1)));
    EXPECT_EQ(x, 4);
  }
}

// Q1: rows that are not whole blocks, though the total is.
TEST(Gguf, Q1RowsAreWholeBlocks) {
  expect_rejected(with_directory({33}, q8_0_id, 0, 4096), "rows of 33 elements are not whole q8_0 blocks of 32");
  expect_rejected(with_directory({16, 32}, q8_0_id, 0, 4096), "not whole q8_0 blocks");
  expect_rejected(with_directory({896, 256}, q4_K_id, 0, 1 << 18), "not whole q4_K blocks of 256");
  expect_rejected(with_directory({}, q8_0_id, 0, 4096), "not whole");
  EXPECT_EQ(open_bytes(with_directory({896}, q8_0_id, 0, 952)).tensor("t").bytes, 952);
}

TEST(Gguf, BadValues) {
  GgufWriter boolean, array, type, element;
  boolean.begin_kv("a", 7).put(uint8_t(2));
  expect_rejected(boolean.build(), "bool 2");
  array.begin_kv("a", 9).put(uint32_t(7)).put(uint64_t(3)).put(uint8_t(1)).put(uint8_t(0)).put(uint8_t(255));
  expect_rejected(array.build(), "bool 255");
  type.begin_kv("a", 13).put(uint64_t(0));
  expect_rejected(type.build(), "unknown value type 13");
  element.begin_kv("a", 9).put(0xffffffffu).put(uint64_t(0));
  expect_rejected(element.build(), "unknown value type 4294967295");
  expect_rejected(GgufWriter().kv("", uint32_t(1)).build(), "a key is 0 bytes long");
  expect_rejected(GgufWriter().kv(std::string(65536, 'k'), uint32_t(1)).build(), "a key is 65536 bytes long");
  EXPECT_NO_THROW(open_bytes(GgufWriter().kv(std::string(65535, 'k'), uint32_t(1)).build()));
  expect_rejected(GgufWriter().tensor("", {1}, {1}).build(), "a tensor name is 0 bytes long");
  // A hostile name stays printable and short in the message.
  GgufWriter name;
  name.begin_kv("\x1b[2J\"" + std::string(500, 'k'), 99);
  Error e = expect_rejected(name.build(), "key \"\\x1b[2J\\\"kkk");
  EXPECT_LT(std::string(e.what()).size(), 300u);
}

}  // namespace
}  // namespace tenon
