// The classes of characters that pre-tokenizers tell apart. The table behind it is generated (tools/gen_unicode.py).
#pragma once
#include <cstdint>
#include <span>

namespace tenon {

enum class CharClass : uint8_t {
  other,   // everything else: punctuation, symbols, marks, controls, unassigned
  letter,  // \p{L}
  number,  // \p{N}
  space,   // \s: the property White_Space
};

// A run of code points of one class, both ends included.
struct CharRange {
  char32_t first;
  char32_t last;
  CharClass kind;
};

// Version of the Unicode Character Database that the table was made from, for example "15.0.0".
const char* unicode_version();

// All ranges that are not `other`, sorted and disjoint.
std::span<const CharRange> char_ranges();

// Class of a code point; `other` for unassigned ones, surrogates and values past U+10FFFF.
CharClass char_class(char32_t code);

}  // namespace tenon
