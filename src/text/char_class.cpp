#include <algorithm>
#include <array>

#include "text/unicode_tables.h"

namespace tenon {
namespace {

CharClass search(char32_t code) {
  const auto ranges = char_ranges();
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                      [](char32_t c, const CharRange& range) { return c < range.first; });
  if (after == ranges.begin()) return CharClass::other;
  const CharRange& range = *(after - 1);
  return code <= range.last ? range.kind : CharClass::other;
}

}  // namespace

CharClass char_class(char32_t code) {
  static const std::array<CharClass, 256> low = [] {
    std::array<CharClass, 256> table;
    for (char32_t c = 0; c < 256; ++c) table[c] = search(c);
    return table;
  }();
  return code < 256 ? low[code] : search(code);
}

}  // namespace tenon
