// GPT-2's spelling of bytes: each byte is written as a printable character, so that a vocabulary is a list of words
// without spaces or controls. Printable Latin-1 stands for itself; the other 68 bytes, in order, are U+0100 onwards.
#pragma once
#include <string>
#include <string_view>

namespace tenon {

// Bytes that a spelling stands for. Characters outside the alphabet (added tokens that were written plainly) stand for
// their own UTF-8.
std::string bytes_of_spelling(std::string_view spelling);

// The spelling of bytes.
std::string spelling_of_bytes(std::string_view bytes);

}  // namespace tenon
