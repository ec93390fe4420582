// UTF-8 of any origin, one character at a time, and a stream that passes on whole characters only.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

enum class Utf8Status {
  valid,      // a well-formed character
  invalid,    // bytes that no continuation could make well-formed
  truncated,  // the text ends within a character that is well-formed so far
};

struct Utf8Char {
  char32_t code;      // U+FFFD unless valid
  int64_t length;     // bytes, at least 1
  Utf8Status status;
};

// Reads the character that begins at byte `position` (0 <= position < text.size()). Well-formed is what table 3-7 of
// the Unicode Standard says: no overlong forms, no surrogates, nothing past U+10FFFF. An ill-formed character is as long
// as its "maximal subpart" (section 3.9), so that each stands for one U+FFFD, as in browsers.
Utf8Char read_utf8(std::string_view text, int64_t position);

// Appends a code point (valid, not a surrogate) as UTF-8.
void append_utf8(std::string& out, char32_t code);

// Cuts a stream of bytes at the borders of characters. What push returns is always well-formed UTF-8.
class Utf8Stream {
 public:
  // Text that became complete with `bytes`. Bytes that cannot be part of a character any more become U+FFFD at once;
  // up to 3 bytes that still can are held back.
  std::string push(std::string_view bytes);
  // Ends the stream: one U+FFFD when bytes are held back, else "". The stream can be used anew afterwards.
  std::string flush();

 private:
  std::string pending_;
};

}  // namespace tenon
