#include "text/utf8.h"

namespace tenon {
namespace {

constexpr char32_t replacement = 0xFFFD;

// What a lead byte asks for: how many bytes follow, and the range of the first of them (the others are 80..BF).
struct Lead {
  int follow;  // -1: no lead byte
  uint8_t low;
  uint8_t high;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {0, 0, 0};
  if (byte < 0xC2) return {-1, 0, 0};
  if (byte < 0xE0) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte < 0xF0) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte < 0xF4) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {-1, 0, 0};
}

}  // namespace

Utf8Char read_utf8(std::string_view text, int64_t position) {
  const auto byte_at = [&](int64_t i) { return static_cast<uint8_t>(text[i]); };
  const int64_t size = static_cast<int64_t>(text.size());
  const uint8_t first = byte_at(position);
  const Lead lead = lead_of(first);
  if (lead.follow == 0) return {first, 1, Utf8Status::valid};
  if (lead.follow < 0) return {replacement, 1, Utf8Status::invalid};
  char32_t code = first & (0x3F >> lead.follow);
  for (int i = 1; i <= lead.follow; ++i) {
    if (position + i >= size) return {replacement, i, Utf8Status::truncated};
    const uint8_t byte = byte_at(position + i);
    const uint8_t low = i == 1 ? lead.low : 0x80;
    const uint8_t high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return {replacement, i, Utf8Status::invalid};
    code = (code << 6) | (byte & 0x3F);
  }
  return {code, lead.follow + 1, Utf8Status::valid};
}

void append_utf8(std::string& out, char32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string Utf8Stream::push(std::string_view bytes) {
  pending_ += bytes;
  std::string out;
  const int64_t size = static_cast<int64_t>(pending_.size());
  int64_t position = 0;
  while (position < size) {
    const Utf8Char c = read_utf8(pending_, position);
    if (c.status == Utf8Status::truncated) break;
    append_utf8(out, c.code);
    position += c.length;
  }
  pending_.erase(0, position);
  return out;
}

std::string Utf8Stream::flush() {
  std::string out;
  if (!pending_.empty()) append_utf8(out, replacement);
  pending_.clear();
  return out;
}

}  // namespace tenon
