// The checking half of the GGUF reader: from bytes to a Gguf that can be trusted.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <numeric>
#include <span>
#include <stdexcept>

#include "base/cat.h"
#include "io/gguf.h"
#include "io/gguf_detail.h"

namespace tenon {
namespace {

using namespace gguf;

constexpr int64_t window_bytes = 256 * 1024;       // one read of the source
constexpr int64_t max_header_bytes = int64_t(1) << 30;
constexpr int64_t max_name_bytes = 65535;          // the format's limit on keys; we hold tensor names to it too
constexpr uint32_t max_dims = 4;                   // the format's
constexpr int64_t min_alignment = 8, max_alignment = 65536;
constexpr int64_t min_entry_bytes = 8 + 4 + 1;     // empty key, type, a one-byte value
constexpr int64_t min_tensor_bytes = 8 + 4 + 4 + 8;  // empty name, no dimensions, type, offset

struct GgmlType {
  uint32_t id;
  const char* name;
  int64_t block_elements, block_bytes;
  int dtype;  // a DType, or -1
};

constexpr int same(DType t) { return int(t); }

// Block sizes follow from the block layouts in ggml's ggml-common.h. Ids that are missing were removed from the format.
constexpr GgmlType ggml_types[] = {
    {0, "f32", 1, 4, same(DType::f32)},      {1, "f16", 1, 2, same(DType::f16)},
    {2, "q4_0", 32, 18, same(DType::q4_0)},  {3, "q4_1", 32, 20, same(DType::q4_1)},
    {6, "q5_0", 32, 22, -1},                 {7, "q5_1", 32, 24, -1},
    {8, "q8_0", 32, 34, same(DType::q8_0)},  {9, "q8_1", 32, 36, -1},
    {10, "q2_K", 256, 84, -1},               {11, "q3_K", 256, 110, -1},
    {12, "q4_K", 256, 144, -1},              {13, "q5_K", 256, 176, -1},
    {14, "q6_K", 256, 210, -1},              {15, "q8_K", 256, 292, -1},
    {16, "iq2_xxs", 256, 66, -1},            {17, "iq2_xs", 256, 74, -1},
    {18, "iq3_xxs", 256, 98, -1},            {19, "iq1_s", 256, 50, -1},
    {20, "iq4_nl", 32, 18, -1},              {21, "iq3_s", 256, 110, -1},
    {22, "iq2_s", 256, 82, -1},              {23, "iq4_xs", 256, 136, -1},
    {24, "i8", 1, 1, same(DType::i8)},       {25, "i16", 1, 2, -1},
    {26, "i32", 1, 4, same(DType::i32)},     {27, "i64", 1, 8, same(DType::i64)},
    {28, "f64", 1, 8, same(DType::f64)},     {29, "iq1_m", 256, 56, -1},
    {30, "bf16", 1, 2, same(DType::bf16)},   {34, "tq1_0", 256, 54, -1},
    {35, "tq2_0", 256, 66, -1},              {39, "mxfp4", 32, 17, -1},
    {40, "nvfp4", 64, 36, -1},               {41, "q1_0", 128, 18, -1},
    {42, "q2_0", 64, 18, -1},
};

const GgmlType* find_ggml_type(uint32_t id) {
  for (const GgmlType& t : ggml_types)
    if (t.id == id) return &t;
  return nullptr;
}

bool was_removed(uint32_t id) { return id == 4 || id == 5 || (id >= 31 && id <= 33) || (id >= 36 && id <= 38); }

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += cat(i ? "," : "", shape[i]);
  return out + "]";
}

// Indices of `items`, sorted by name; equal names keep the file's order.
template <class T>
std::vector<int64_t> sorted_by(const std::vector<T>& items, std::string T::*name) {
  std::vector<int64_t> order(items.size());
  std::iota(order.begin(), order.end(), int64_t(0));
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    int c = (items[size_t(a)].*name).compare(items[size_t(b)].*name);
    return c != 0 ? c < 0 : a < b;
  });
  return order;
}

// The second of two items with one name, or null.
template <class T>
const T* find_duplicate(const std::vector<T>& items, const std::vector<int64_t>& order, std::string T::*name) {
  for (size_t i = 1; i < order.size(); ++i)
    if (items[size_t(order[i])].*name == items[size_t(order[i - 1])].*name) return &items[size_t(order[i])];
  return nullptr;
}

// Reads the header front to back through a window. Nothing is allocated for a length before need() has shown that the
// bytes are there.
class HeaderReader {
 public:
  explicit HeaderReader(const ByteSource& source) : source_(source), size_(source.size()) {}

  int64_t position() const { return pos_; }
  int64_t size() const { return size_; }
  int64_t left() const { return size_ - pos_; }

  [[noreturn]] void fail(ErrorCode code, int64_t offset, const std::string& message) const {
    fail_at(source_.name(), code, offset, message);
  }

  // `count` things of at least `unit` bytes each must follow; `offset` is where the file says so.
  void need(uint64_t count, int64_t unit, int64_t offset, std::string_view what) const {
    if (count > uint64_t(left() / unit))
      fail(ErrorCode::format, offset,
           cat(what, " says ", count, " of at least ", unit, " bytes each, but only ", left(),
               " bytes are left; the file is truncated or damaged"));
    if (pos_ + int64_t(count) * unit > max_header_bytes)
      fail(ErrorCode::format, offset,
           cat(what, " makes the header larger than the limit of ", max_header_bytes, " bytes"));
  }

  template <class T>
  T number(std::string_view what) {
    if (left() < int64_t(sizeof(T)))
      fail(ErrorCode::format, pos_, cat("the file ends within ", what, ": ", int64_t(sizeof(T)), " bytes wanted, ",
                                        left(), " left; it is truncated or damaged"));
    std::byte b[sizeof(T)];
    bytes(b);
    return load<T>(b);
  }

  std::string string(std::string_view what) {
    int64_t at = pos_;
    uint64_t length = number<uint64_t>(what);
    if (length > uint64_t(left()))
      fail(ErrorCode::format, at, cat(what, " says it is ", length, " bytes long, but only ", left(),
                                      " bytes are left; the file is truncated or damaged"));
    need(length, 1, at, what);
    std::string out(size_t(length), '\0');
    bytes(std::as_writable_bytes(std::span(out)));
    return out;
  }

  std::string name(std::string_view what) {
    int64_t at = pos_;
    std::string out = string(what);
    if (out.empty() || int64_t(out.size()) > max_name_bytes)
      fail(ErrorCode::format, at, cat(what, " is ", out.size(), " bytes long; 1 to ", max_name_bytes, " are allowed"));
    return out;
  }

  // The caller has checked that they are there.
  void bytes(std::span<std::byte> out) {
    while (!out.empty()) {
      if (pos_ == window_start_ + int64_t(window_.size())) refill();
      int64_t from = pos_ - window_start_;
      size_t n = std::min(out.size(), window_.size() - size_t(from));
      std::memcpy(out.data(), window_.data() + from, n);
      out = out.subspan(n);
      pos_ += int64_t(n);
    }
  }

 private:
  void refill() {
    window_.resize(size_t(std::min(window_bytes, left())));
    source_.read(pos_, window_);
    window_start_ = pos_;
  }

  const ByteSource& source_;
  int64_t size_;
  int64_t pos_ = 0;
  int64_t window_start_ = 0;
  std::vector<std::byte> window_;
};

}  // namespace

std::string gguf::supported_types() {
  std::string out;
  for (const GgmlType& t : ggml_types)
    if (t.dtype >= 0) out += cat(out.empty() ? "" : ", ", t.name);
  return out;
}

class GgufParser {
 public:
  explicit GgufParser(std::shared_ptr<ByteSource> source) : reader_(*source) { out_.source_ = std::move(source); }

  Gguf parse() {
    check_magic();
    check_version();
    int64_t at = reader_.position();
    uint64_t tensor_count = reader_.number<uint64_t>("the tensor count");
    uint64_t entry_count = reader_.number<uint64_t>("the key count");
    reader_.need(tensor_count, min_tensor_bytes, at, "the tensor count");
    reader_.need(entry_count, min_entry_bytes, at + 8, "the key count");
    // No reserve: the counts are only known to be possible, and an entry takes more memory than file.
    for (uint64_t i = 0; i < entry_count; ++i) read_entry();
    index_keys();
    read_alignment();
    for (uint64_t i = 0; i < tensor_count; ++i) read_tensor();
    index_tensors();
    place_tensors();
    check_overlap();
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(int64_t offset, const std::string& message) const {
    reader_.fail(ErrorCode::format, offset, message);
  }
  [[noreturn]] void fail_tensor(const GgufTensor& t, int64_t offset, const std::string& message) const {
    fail_at(out_.path(), ErrorCode::format, offset, cat("tensor ", quoted(t.name), ": ", message), t.name);
  }

  void check_magic() {
    if (reader_.size() == 0) fail(0, "is not a GGUF file: it is empty");
    std::array<std::byte, 16> start{};
    size_t n = size_t(std::min<int64_t>(int64_t(start.size()), reader_.size()));
    out_.source_->read(0, std::span(start).first(n));
    std::string_view text(reinterpret_cast<const char*>(start.data()), n);
    if (text.starts_with("FUGG"))
      reader_.fail(ErrorCode::unsupported, 0, "is a big-endian GGUF file; convert it to little endian");
    if (!text.starts_with("GGUF")) fail(0, cat("is not a GGUF file: starts with ", quoted(text)));
    reader_.number<uint32_t>("the magic");
  }

  void check_version() {
    uint32_t version = reader_.number<uint32_t>("the version");
    // Versions are small: only zeros in the low half mean that the bytes are swapped.
    if (version != 0 && (version & 0xffff) == 0)
      reader_.fail(ErrorCode::unsupported, 4, "is a big-endian GGUF file; convert it to little endian");
    if (version != 2 && version != 3)
      reader_.fail(ErrorCode::unsupported, 4,
                   cat("is GGUF version ", version, "; versions 2 and 3 are supported, convert the model again"));
    out_.version_ = int(version);
  }

  void read_entry() {
    GgufEntry entry;
    entry.key = reader_.name("a key");
    GgufType type = read_type(entry.key);
    entry.offset = reader_.position();
    GgufValue& value = entry.value;
    value.is_array = type == GgufType::array;
    value.type = value.is_array ? read_type(entry.key) : type;
    if (value.type == GgufType::array)
      reader_.fail(ErrorCode::unsupported, entry.offset,
                   cat("key ", quoted(entry.key),
                       " holds an array of arrays; arrays of scalars and of strings are supported"));
    value.count = 1;
    if (value.is_array) value.count = read_count(entry.key, value.type);
    if (value.type == GgufType::string) {
      for (int64_t i = 0; i < value.count; ++i) value.strings.push_back(reader_.string("a string"));
    } else {
      read_numbers(entry);
    }
    out_.metadata_.push_back(std::move(entry));
  }

  GgufType read_type(const std::string& key) {
    int64_t at = reader_.position();
    uint32_t id = reader_.number<uint32_t>("a value's type");
    if (id > uint32_t(GgufType::f64)) fail(at, cat("key ", quoted(key), " has the unknown value type ", id));
    return GgufType(id);
  }

  int64_t read_count(const std::string& key, GgufType element) {
    int64_t at = reader_.position();
    uint64_t count = reader_.number<uint64_t>("an array's length");
    int64_t unit = element == GgufType::string ? 8 : element_bytes(element);  // 8: a string's length
    reader_.need(count, unit, at, cat("the array length of key ", quoted(key)));
    return int64_t(count);
  }

  void read_numbers(GgufEntry& entry) {
    GgufValue& value = entry.value;
    int64_t unit = element_bytes(value.type);
    reader_.need(uint64_t(value.count), unit, reader_.position(), cat("the value of key ", quoted(entry.key)));
    int64_t at = reader_.position();
    value.raw.resize(size_t(value.count * unit));
    reader_.bytes(value.raw);
    if (value.type != GgufType::bool_) return;
    for (int64_t i = 0; i < value.count; ++i)
      if (uint8_t b = uint8_t(value.raw[size_t(i)]); b > 1)
        fail(at + i, cat("key ", quoted(entry.key), " holds the bool ", b, "; 0 and 1 are allowed"));
  }

  void index_keys() {
    out_.key_order_ = sorted_by(out_.metadata_, &GgufEntry::key);
    if (const GgufEntry* e = find_duplicate(out_.metadata_, out_.key_order_, &GgufEntry::key))
      fail(e->offset, cat("key ", quoted(e->key), " occurs twice"));
  }

  void read_alignment() {
    const GgufEntry* entry = out_.find_entry("general.alignment");
    if (!entry) return;
    const GgufValue& value = entry->value;
    int64_t a = !value.is_array && value.type == GgufType::u32 ? *integer_at<int64_t>(value, 0) : 0;
    if (a < min_alignment || a > max_alignment || !std::has_single_bit(uint64_t(a)))
      fail(entry->offset, cat("general.alignment is ", value.text(), "; a u32 that is a power of two from ",
                              min_alignment, " to ", max_alignment, " is needed"));
    out_.alignment_ = a;
  }

  void read_tensor() {
    GgufTensor t;
    t.name = reader_.name("a tensor name");
    int64_t at = reader_.position();
    uint32_t dims = reader_.number<uint32_t>("a tensor's number of dimensions");
    if (dims > max_dims)
      fail_tensor(t, at, cat("has ", dims, " dimensions; at most ", max_dims, " are allowed"));
    int64_t dims_at = reader_.position();
    for (uint32_t i = 0; i < dims; ++i) {
      uint64_t n = reader_.number<uint64_t>("a tensor's dimensions");
      if (n > uint64_t(INT64_MAX))
        fail_tensor(t, dims_at + 8 * i, cat("dimension ", i, " is ", n, ", which is too large"));
      t.shape.push_back(int64_t(n));
    }
    std::reverse(t.shape.begin(), t.shape.end());
    const GgmlType& type = read_ggml_type(t);
    t.bytes = tensor_bytes(t, type, dims_at);
    read_offset(t);
    out_.tensors_.push_back(std::move(t));
  }

  const GgmlType& read_ggml_type(GgufTensor& t) {
    int64_t at = reader_.position();
    t.ggml_type = reader_.number<uint32_t>("a tensor's type");
    const GgmlType* type = find_ggml_type(t.ggml_type);
    if (!type && was_removed(t.ggml_type))
      fail_tensor(t, at, cat("has type ", t.ggml_type,
                             ", which was removed from the format; quantise the model again"));
    if (!type) fail_tensor(t, at, cat("has the unknown type ", t.ggml_type));
    t.type_name = type->name;
    t.supported = type->dtype >= 0;
    if (t.supported) t.dtype = DType(type->dtype);
    return *type;
  }

  int64_t tensor_bytes(const GgufTensor& t, const GgmlType& type, int64_t at) const {
    int64_t row = t.shape.empty() ? 1 : t.shape.back();
    if (row % type.block_elements != 0)
      fail_tensor(t, at, cat("rows of ", row, " elements are not whole ", type.name, " blocks of ",
                             type.block_elements));
    // A zero counts as one here: the product of the other dimensions (a stride) must fit too.
    int64_t n = 1, bytes = 0;
    bool empty = false, overflow = false;
    for (int64_t d : t.shape) {
      empty |= d == 0;
      overflow |= __builtin_mul_overflow(n, std::max<int64_t>(d, 1), &n);
    }
    int64_t blocks = n / type.block_elements + (n % type.block_elements != 0);
    overflow |= __builtin_mul_overflow(blocks, type.block_bytes, &bytes);
    if (overflow)
      fail_tensor(t, at, cat("shape ", shape_text(t.shape), " of ", type.name, " overflows 63 bits of bytes"));
    return empty ? 0 : bytes;
  }

  void read_offset(GgufTensor& t) {
    int64_t at = reader_.position();
    uint64_t offset = reader_.number<uint64_t>("a tensor's offset");
    if (offset % uint64_t(out_.alignment_) != 0)
      fail_tensor(t, at, cat("offset ", offset, " is not a multiple of the alignment ", out_.alignment_));
    if (offset > uint64_t(reader_.size()))
      fail_tensor(t, at, cat("offset ", offset, " lies past the end of the file, which has ", reader_.size(),
                             " bytes"));
    t.offset = int64_t(offset);
    offset_fields_.push_back(at);
  }

  void index_tensors() {
    out_.name_order_ = sorted_by(out_.tensors_, &GgufTensor::name);
    if (const GgufTensor* t = find_duplicate(out_.tensors_, out_.name_order_, &GgufTensor::name))
      fail_tensor(*t, offset_field(*t), "occurs twice");
  }

  int64_t offset_field(const GgufTensor& t) const { return offset_fields_[size_t(&t - out_.tensors_.data())]; }

  // Makes offsets absolute, now that the end of the header is known, and checks them against the file's size.
  void place_tensors() {
    int64_t header = reader_.position(), size = reader_.size();
    int64_t padding = (out_.alignment_ - header % out_.alignment_) % out_.alignment_;
    for (GgufTensor& t : out_.tensors_) {
      int64_t room = size - header - padding;
      if (room < 0 || t.offset > room || t.bytes > room - t.offset)
        fail_tensor(t, offset_field(t),
                    cat("needs ", t.bytes, " bytes at offset ", t.offset, " of the data, but the data has ",
                        std::max<int64_t>(room, 0), " bytes; the file (", size, " bytes) is truncated or damaged"));
      t.offset += header + padding;
    }
  }

  void check_overlap() const {
    std::vector<const GgufTensor*> order;
    for (const GgufTensor& t : out_.tensors_)
      if (t.bytes > 0) order.push_back(&t);
    std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
    for (size_t i = 1; i < order.size(); ++i) {
      const GgufTensor &a = *order[i - 1], &b = *order[i];
      if (b.offset < a.offset + a.bytes)
        fail_tensor(b, offset_field(b), cat("its data overlaps that of ", quoted(a.name)));
    }
  }

  Gguf out_;
  HeaderReader reader_;
  std::vector<int64_t> offset_fields_;  // for each tensor, where its offset stands in the file
};

Gguf Gguf::open(std::shared_ptr<ByteSource> source) {
  if (!source) throw Error(ErrorCode::invalid_argument, "cannot open a GGUF file: the source is null");
  std::string path = source->name();
  try {
    return GgufParser(std::move(source)).parse();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  fail_at(path, ErrorCode::out_of_memory, -1, "not enough memory for the metadata of this GGUF file");
}

}  // namespace tenon
