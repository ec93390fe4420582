#include "io/gguf.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "base/cat.h"
#include "io/gguf_detail.h"
#include "tenon/error.h"

namespace tenon {

std::string gguf::quoted(std::string_view s, size_t limit) {
  static const char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : s.substr(0, limit)) {
    uint8_t b = uint8_t(c);
    if (b == '"' || b == '\\') out += '\\';
    if (b >= 0x20 && b < 0x7f) out += c;
    else out += cat("\\x", digits[b >> 4], digits[b & 15]);
  }
  return out + (s.size() > limit ? "\"…" : "\"");
}

void gguf::fail_at(const std::string& path, ErrorCode code, int64_t offset, const std::string& message,
                   const std::string& tensor) {
  ErrorContext context;
  context.path = path;
  context.offset = offset;
  context.tensor = tensor;
  std::string where = offset >= 0 ? cat(" (at byte ", offset, ")") : std::string();
  throw Error(code, cat(path, ": ", message, where), std::move(context));
}

using namespace gguf;

namespace {

std::optional<float> float_at(const GgufValue& v, int64_t i) {
  if (v.type == GgufType::f32) return load<float>(v.raw.data() + i * 4);
  if (v.type != GgufType::f64) return std::nullopt;
  double x = load<double>(v.raw.data() + i * 8);
  if (std::isfinite(x) && std::fabs(x) > double(FLT_MAX)) return std::nullopt;
  return float(x);
}

std::optional<bool> bool_at(const GgufValue& v, int64_t i) {
  if (v.type != GgufType::bool_) return std::nullopt;
  return v.raw[size_t(i)] != std::byte(0);
}

std::string element_text(const GgufValue& v, int64_t i) {
  if (v.type == GgufType::string) return quoted(v.strings[size_t(i)]);
  if (v.type == GgufType::f64) return cat(load<double>(v.raw.data() + i * 8));
  if (v.type == GgufType::f32) return cat(*float_at(v, i));
  if (v.type == GgufType::bool_) return cat(*bool_at(v, i));
  if (v.type == GgufType::u64) return cat(*integer_at<uint64_t>(v, i));
  return cat(*integer_at<int64_t>(v, i));
}

}  // namespace

const char* to_string(GgufType t) {
  static const char* const names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                      "bool", "string", "array", "u64", "i64", "f64"};
  return size_t(t) < std::size(names) ? names[size_t(t)] : "unknown";
}

std::string GgufValue::text(int64_t max_elements) const {
  if (!is_array) return cat(to_string(type), " ", element_text(*this, 0));
  std::string out = cat("array of ", count, " ", to_string(type), ": [");
  int64_t shown = std::clamp<int64_t>(max_elements, 0, count);
  for (int64_t i = 0; i < shown; ++i) out += cat(i ? ", " : "", element_text(*this, i));
  return out + (shown == count ? "]" : shown ? ", …]" : "…]");
}

const GgufEntry* Gguf::find_entry(std::string_view key) const {
  return find_by(metadata_, key_order_, &GgufEntry::key, key);
}

namespace {

[[noreturn]] void wrong_type(const Gguf& file, const GgufEntry& e, const char* wanted) {
  fail_at(file.path(), ErrorCode::format, e.offset,
          cat("key ", quoted(e.key), " holds ", e.value.text(), ", but ", wanted, " is needed"));
}

[[noreturn]] void missing_key(const Gguf& file, std::string_view key, const char* wanted) {
  fail_at(file.path(), ErrorCode::format, -1,
          cat("key ", quoted(key), " is missing; ", wanted, " is needed (found: ", file.metadata().size(),
              " other keys)"));
}

template <class T>
T required(std::optional<T> value, const Gguf& file, std::string_view key, const char* wanted) {
  if (!value) missing_key(file, key, wanted);
  return *std::move(value);
}

// `at(value, i)` gives the element or nothing when it has another type or does not fit.
template <class At>
auto find_scalar(const Gguf& file, std::string_view key, const char* wanted, At at) -> decltype(at(GgufValue(), 0)) {
  const GgufEntry* e = file.find_entry(key);
  if (!e) return std::nullopt;
  decltype(at(e->value, 0)) value;
  if (!e->value.is_array) value = at(e->value, 0);
  if (!value) wrong_type(file, *e, wanted);
  return value;
}

// `fits` decides for an empty array too, where no element can tell.
template <class T, class At>
std::optional<std::vector<T>> find_array(const Gguf& file, std::string_view key, const char* wanted,
                                         bool (*fits)(GgufType), At at) {
  const GgufEntry* e = file.find_entry(key);
  if (!e) return std::nullopt;
  if (!e->value.is_array || !fits(e->value.type)) wrong_type(file, *e, wanted);
  std::vector<T> out;
  out.reserve(size_t(e->value.count));
  for (int64_t i = 0; i < e->value.count; ++i) {
    std::optional<T> x = at(e->value, i);
    if (!x)
      fail_at(file.path(), ErrorCode::format, e->offset,
              cat("key ", quoted(key), ": element ", i, " is ", element_text(e->value, i), ", but ", wanted,
                  " is needed"));
    out.push_back(*x);
  }
  return out;
}

const GgufEntry* find_string_entry(const Gguf& file, std::string_view key, bool array, const char* wanted) {
  const GgufEntry* e = file.find_entry(key);
  if (e && (e->value.is_array != array || e->value.type != GgufType::string)) wrong_type(file, *e, wanted);
  return e;
}

bool is_float_type(GgufType t) { return t == GgufType::f32 || t == GgufType::f64; }
bool is_bool_type(GgufType t) { return t == GgufType::bool_; }
bool is_integer_type(GgufType t) { return t != GgufType::string && !is_float_type(t) && !is_bool_type(t); }

constexpr const char* want_u32 = "an integer from 0 to 4294967295";
constexpr const char* want_i32 = "an integer from -2147483648 to 2147483647";
constexpr const char* want_u64 = "an integer of at least 0";
constexpr const char* want_i64 = "an integer below 2^63";
constexpr const char* want_f32 = "a float (f32)";
constexpr const char* want_bool = "a bool";
constexpr const char* want_string = "a string";
constexpr const char* want_strings = "an array of strings";
constexpr const char* want_ints = "an array of integers below 2^63";
constexpr const char* want_floats = "an array of floats (f32)";
constexpr const char* want_bools = "an array of bools";

}  // namespace

using Key = std::string_view;

std::optional<uint32_t> Gguf::find_u32(Key k) const { return find_scalar(*this, k, want_u32, integer_at<uint32_t>); }
std::optional<int32_t> Gguf::find_i32(Key k) const { return find_scalar(*this, k, want_i32, integer_at<int32_t>); }
std::optional<uint64_t> Gguf::find_u64(Key k) const { return find_scalar(*this, k, want_u64, integer_at<uint64_t>); }
std::optional<int64_t> Gguf::find_i64(Key k) const { return find_scalar(*this, k, want_i64, integer_at<int64_t>); }
std::optional<float> Gguf::find_f32(Key k) const { return find_scalar(*this, k, want_f32, float_at); }
std::optional<bool> Gguf::find_bool(Key k) const { return find_scalar(*this, k, want_bool, bool_at); }

std::optional<std::string> Gguf::find_string(Key k) const {
  const GgufEntry* e = find_string_entry(*this, k, false, want_string);
  return e ? std::optional(e->value.strings[0]) : std::nullopt;
}
const std::vector<std::string>* Gguf::find_strings(Key k) const {
  const GgufEntry* e = find_string_entry(*this, k, true, want_strings);
  return e ? &e->value.strings : nullptr;
}
std::optional<std::vector<int64_t>> Gguf::find_ints(Key k) const {
  return find_array<int64_t>(*this, k, want_ints, is_integer_type, integer_at<int64_t>);
}
std::optional<std::vector<float>> Gguf::find_floats(Key k) const {
  return find_array<float>(*this, k, want_floats, is_float_type, float_at);
}
std::optional<std::vector<bool>> Gguf::find_bools(Key k) const {
  return find_array<bool>(*this, k, want_bools, is_bool_type, bool_at);
}

uint32_t Gguf::get_u32(Key k) const { return required(find_u32(k), *this, k, want_u32); }
int32_t Gguf::get_i32(Key k) const { return required(find_i32(k), *this, k, want_i32); }
uint64_t Gguf::get_u64(Key k) const { return required(find_u64(k), *this, k, want_u64); }
int64_t Gguf::get_i64(Key k) const { return required(find_i64(k), *this, k, want_i64); }
float Gguf::get_f32(Key k) const { return required(find_f32(k), *this, k, want_f32); }
bool Gguf::get_bool(Key k) const { return required(find_bool(k), *this, k, want_bool); }
std::vector<int64_t> Gguf::ints(Key k) const { return required(find_ints(k), *this, k, want_ints); }
std::vector<float> Gguf::floats(Key k) const { return required(find_floats(k), *this, k, want_floats); }
std::vector<bool> Gguf::bools(Key k) const { return required(find_bools(k), *this, k, want_bools); }

const std::string& Gguf::get_string(Key k) const {
  const GgufEntry* e = find_string_entry(*this, k, false, want_string);
  if (!e) missing_key(*this, k, want_string);
  return e->value.strings[0];
}
const std::vector<std::string>& Gguf::strings(Key k) const {
  const std::vector<std::string>* found = find_strings(k);
  if (!found) missing_key(*this, k, want_strings);
  return *found;
}

bool Gguf::has_tensor(std::string_view name) const {
  return find_by(tensors_, name_order_, &GgufTensor::name, name) != nullptr;
}

const GgufTensor* Gguf::find(std::string_view name) const {
  const GgufTensor* t = find_by(tensors_, name_order_, &GgufTensor::name, name);
  if (t && !t->supported)
    fail_at(path(), ErrorCode::unsupported, t->offset,
            cat("tensor ", quoted(name), " has type ", t->type_name, "; supported are ", supported_types()), t->name);
  return t;
}

const GgufTensor& Gguf::tensor(std::string_view name) const {
  const GgufTensor* t = find(name);
  if (!t)
    fail_at(path(), ErrorCode::format, -1,
            cat("tensor ", quoted(name), " is missing (found: ", tensors_.size(), " other tensors)"),
            std::string(name));
  return *t;
}

}  // namespace tenon
