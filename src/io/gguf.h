// Reader of GGUF files, versions 2 and 3, little endian.
// Source: the format's description, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "tenon/dtype.h"

namespace tenon {

// Types of metadata, numbered as in the file.
enum class GgufType : uint8_t { u8, i8, u16, i16, u32, i32, f32, bool_, string, array, u64, i64, f64 };
const char* to_string(GgufType t);  // "u32", "bool", "string"

// One metadata value: a scalar, or an array of scalars or strings.
struct GgufValue {
  GgufType type = GgufType::u8;      // of the scalar, or of the array's elements; never `array`
  bool is_array = false;
  int64_t count = 0;                 // elements; 1 for a scalar
  std::vector<std::byte> raw;        // numbers and bools: as in the file, little endian, one after the other
  std::vector<std::string> strings;  // strings: their bytes, not checked to be UTF-8

  // For people: `u32 7`, `string "llama"`, `array of 3 f32: [0.5, 1, 2]`. Long strings and arrays are shortened.
  std::string text(int64_t max_elements = 4) const;
};

struct GgufEntry {
  std::string key;
  GgufValue value;
  int64_t offset = 0;  // of the value, in the file
};

struct GgufTensor {
  std::string name;
  DType dtype = DType::f32;    // valid only when `supported`
  std::vector<int64_t> shape;  // row-major, outermost first: GGUF's dimensions reversed; empty for a scalar
  int64_t offset = 0;          // absolute in the file
  int64_t bytes = 0;
  uint32_t ggml_type = 0;          // the id in the file
  const char* type_name = "";      // its name in lower case: "q4_1", "q4_K"
  bool supported = false;          // a DType stands for this type
};

// A GGUF file's metadata and tensor directory; tensor data stays in the source until read from there.
//
// open() checks the whole header, so that what it returns can be trusted: keys and names are unique; every tensor lies
// inside the file at an aligned offset and overlaps no other; byte counts follow from type and shape without overflow;
// rows of quantised tensors are whole blocks. A header is at most 1 GiB. Memory use is bounded by the bytes that are
// really there, never by a count that a file claims.
// What is refused though the format allows it: arrays of arrays, more than 4 dimensions, alignments over 65536.
class Gguf {
 public:
  // Throws Error(format) with path and byte offset when the file is damaged or is not GGUF; Error(unsupported) for
  // version 1 or after 3, big-endian files and arrays of arrays; what the source throws; Error(out_of_memory).
  static Gguf open(std::shared_ptr<ByteSource> source);

  const std::string& path() const { return source_->name(); }
  const std::shared_ptr<ByteSource>& source() const { return source_; }
  int version() const { return version_; }
  int64_t alignment() const { return alignment_; }

  const std::vector<GgufEntry>& metadata() const { return metadata_; }  // in the file's order
  const GgufEntry* find_entry(std::string_view key) const;              // null when missing
  bool has(std::string_view key) const { return find_entry(key) != nullptr; }

  // get_*: Error(format) when the key is missing. All: Error(format) when the value has another type or does not fit.
  // Integers are read from any integer type (bools are not integers), floats from f32 and f64.
  uint32_t get_u32(std::string_view key) const;
  int32_t get_i32(std::string_view key) const;
  uint64_t get_u64(std::string_view key) const;
  int64_t get_i64(std::string_view key) const;
  float get_f32(std::string_view key) const;
  bool get_bool(std::string_view key) const;
  const std::string& get_string(std::string_view key) const;
  const std::vector<std::string>& strings(std::string_view key) const;
  std::vector<int64_t> ints(std::string_view key) const;
  std::vector<float> floats(std::string_view key) const;
  std::vector<bool> bools(std::string_view key) const;

  // find_*: nothing (or null) when the key is missing.
  std::optional<uint32_t> find_u32(std::string_view key) const;
  std::optional<int32_t> find_i32(std::string_view key) const;
  std::optional<uint64_t> find_u64(std::string_view key) const;
  std::optional<int64_t> find_i64(std::string_view key) const;
  std::optional<float> find_f32(std::string_view key) const;
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<std::string> find_string(std::string_view key) const;
  const std::vector<std::string>* find_strings(std::string_view key) const;
  std::optional<std::vector<int64_t>> find_ints(std::string_view key) const;
  std::optional<std::vector<float>> find_floats(std::string_view key) const;
  std::optional<std::vector<bool>> find_bools(std::string_view key) const;

  // All tensors in the file's order, those of unsupported types too: for inspection.
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  bool has_tensor(std::string_view name) const;
  // The tensor, ready to load. find: null when missing; tensor: Error(format) when missing.
  // Both: Error(unsupported) when no DType stands for its type, naming tensor, type and what is supported.
  const GgufTensor* find(std::string_view name) const;
  const GgufTensor& tensor(std::string_view name) const;

 private:
  Gguf() = default;
  friend class GgufParser;

  std::shared_ptr<ByteSource> source_;
  int version_ = 0;
  int64_t alignment_ = 32;
  std::vector<GgufEntry> metadata_;
  std::vector<GgufTensor> tensors_;
  std::vector<int64_t> key_order_;   // indices of metadata_, sorted by key
  std::vector<int64_t> name_order_;  // indices of tensors_, sorted by name
};

}  // namespace tenon
