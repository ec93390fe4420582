// Builds GGUF files byte by byte, valid or deliberately wrong. Independent of the reader: the numbers are written here
// as the format's description gives them. Header only.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tenon::test {

// Appends little-endian values.
class ByteWriter {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  ByteWriter& put(T value) {
    unsigned char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    for (size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(std::byte(raw[std::endian::native == std::endian::little ? i : sizeof(T) - 1 - i]));
    return *this;
  }
  ByteWriter& text(std::string_view s) {  // without a length
    for (char c : s) bytes_.push_back(std::byte(c));
    return *this;
  }
  ByteWriter& string(std::string_view s) { return put(uint64_t(s.size())).text(s); }
  ByteWriter& append(const std::vector<std::byte>& b) {
    bytes_.insert(bytes_.end(), b.begin(), b.end());
    return *this;
  }
  ByteWriter& pad_to(size_t alignment) {
    while (bytes_.size() % alignment != 0) bytes_.push_back(std::byte(0));
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Usage:
//   GgufWriter w;
//   w.kv("general.architecture", "llama").kv("llama.block_count", uint32_t(2)).array<float>("scores", {0.5f, 1});
//   w.tensor("x", {2, 3}, std::vector<float>(6, 1.0f));              // row-major shape, f32
//   w.tensor("q", {4, 32}, 8, std::vector<std::byte>(4 * 34));       // ggml type id and its bytes
//   auto source = memory_source("test.gguf", w.build());
class GgufWriter {
 public:
  uint32_t version = 3;
  size_t alignment = 32;  // of the data; write it with kv("general.alignment", uint32_t) when it is not 32
  // Counts as the header states them; -1: what was written.
  int64_t tensor_count = -1, kv_count = -1;

  // uint8_t … int64_t, float, double, bool.
  template <class T>
    requires std::is_arithmetic_v<T>
  GgufWriter& kv(std::string_view key, T value) {
    begin_kv(key, type_id<T>()).put(value);
    return *this;
  }
  GgufWriter& kv(std::string_view key, std::string_view value) {
    begin_kv(key, 8).string(value);
    return *this;
  }
  GgufWriter& kv(std::string_view key, const char* value) { return kv(key, std::string_view(value)); }

  template <class T>
    requires std::is_arithmetic_v<T>
  GgufWriter& array(std::string_view key, const std::vector<T>& values) {
    ByteWriter& out = begin_kv(key, 9).put(type_id<T>()).put(uint64_t(values.size()));
    for (T v : values) out.put(v);
    return *this;
  }
  GgufWriter& strings(std::string_view key, const std::vector<std::string>& values) {
    ByteWriter& out = begin_kv(key, 9).put(uint32_t(8)).put(uint64_t(values.size()));
    for (const std::string& v : values) out.string(v);
    return *this;
  }
  // Any value type id, followed by whatever the caller puts.
  ByteWriter& begin_kv(std::string_view key, uint32_t type) {
    ++kvs_;
    return kv_.string(key).put(type);
  }

  // The next aligned place in the data. `shape` is row-major, outermost first.
  GgufWriter& tensor(std::string_view name, std::vector<int64_t> shape, uint32_t ggml_type,
                     const std::vector<std::byte>& data) {
    data_.pad_to(alignment);
    std::vector<uint64_t> dims(shape.rbegin(), shape.rend());
    directory(name, dims, ggml_type, data_.bytes().size());
    data_.append(data);
    return *this;
  }
  GgufWriter& tensor(std::string_view name, std::vector<int64_t> shape, const std::vector<float>& values) {
    ByteWriter data;
    for (float v : values) data.put(v);
    return tensor(name, std::move(shape), 0, data.bytes());
  }
  // A directory row alone; `dims` as in the file: innermost first.
  GgufWriter& directory(std::string_view name, const std::vector<uint64_t>& dims, uint32_t ggml_type, uint64_t offset) {
    begin_tensor(name).put(uint32_t(dims.size()));
    for (uint64_t d : dims) directory_.put(d);
    directory_.put(ggml_type).put(offset);
    return *this;
  }
  ByteWriter& begin_tensor(std::string_view name) {
    ++tensors_;
    return directory_.string(name);
  }
  ByteWriter& data() { return data_; }

  std::vector<std::byte> build() const {
    ByteWriter out;
    out.text("GGUF").put(version);
    out.put(tensor_count < 0 ? tensors_ : tensor_count).put(kv_count < 0 ? kvs_ : kv_count);
    out.append(kv_.bytes()).append(directory_.bytes());
    if (tensors_ > 0) out.pad_to(alignment);
    return out.append(data_.bytes()).bytes();
  }

 private:
  template <class T>
  static uint32_t type_id() {
    if constexpr (std::is_same_v<T, bool>) return 7;
    else if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? 6 : 12;
    else {
      uint32_t id = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 2 : sizeof(T) == 4 ? 4 : 10;
      return id + (std::is_signed_v<T> ? 1 : 0);
    }
  }

  ByteWriter kv_, directory_, data_;
  int64_t kvs_ = 0, tensors_ = 0;
};

}  // namespace tenon::test
