#include "text/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "text/utf8.h"

namespace tenon {
namespace {

constexpr int first_extra = 0x100;
constexpr int extra_count = 68;

bool is_printable(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<char32_t, 256> character;
  std::array<int, first_extra + extra_count> byte;  // -1: no such character
};

const Alphabet& alphabet() {
  static const Alphabet table = [] {
    Alphabet a;
    a.byte.fill(-1);
    int extra = first_extra;
    for (int b = 0; b < 256; ++b) {
      const int c = is_printable(b) ? b : extra++;
      a.character[b] = static_cast<char32_t>(c);
      a.byte[c] = b;
    }
    return a;
  }();
  return table;
}

}  // namespace

std::string bytes_of_spelling(std::string_view spelling) {
  const Alphabet& table = alphabet();
  std::string out;
  for (int64_t i = 0; i < static_cast<int64_t>(spelling.size());) {
    const Utf8Char c = read_utf8(spelling, i);
    const int byte = c.code < table.byte.size() ? table.byte[c.code] : -1;
    if (byte >= 0) out += static_cast<char>(byte);
    else out += spelling.substr(i, c.length);
    i += c.length;
  }
  return out;
}

std::string spelling_of_bytes(std::string_view bytes) {
  std::string out;
  for (char b : bytes) append_utf8(out, alphabet().character[static_cast<uint8_t>(b)]);
  return out;
}

}  // namespace tenon
