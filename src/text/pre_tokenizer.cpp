#include "text/pre_tokenizer.h"

#include "base/cat.h"
#include "tenon/error.h"
#include "text/unicode_tables.h"
#include "text/utf8.h"

namespace tenon {
namespace {

// A character of the text, or its end (length 0).
struct Symbol {
  char32_t code = 0;
  CharClass kind = CharClass::other;
  int64_t length = 0;

  bool at_end() const { return length == 0; }
  bool is(CharClass wanted) const { return !at_end() && kind == wanted; }
  bool is_newline() const { return !at_end() && (code == '\r' || code == '\n'); }
};

class Scanner {
 public:
  // With `digits_end`, a number counts as the end of the text: how smollm's second stage sees it.
  Scanner(std::string_view text, bool digits_end) : text_(text), digits_end_(digits_end) {}

  Symbol at(int64_t position) const {
    if (position >= static_cast<int64_t>(text_.size())) return {};
    const Utf8Char c = read_utf8(text_, position);
    const CharClass kind = char_class(c.code);
    if (digits_end_ && kind == CharClass::number) return {};
    return {c.code, kind, c.length};
  }

  // End of the run of characters of one class that begins at `position`.
  int64_t run_end(int64_t position, CharClass kind) const {
    for (Symbol s = at(position); s.is(kind); s = at(position)) position += s.length;
    return position;
  }

  int64_t newlines_end(int64_t position) const {
    for (Symbol s = at(position); s.is_newline(); s = at(position)) position += s.length;
    return position;
  }

  // Length in bytes of 's 't 're 've 'm 'll 'd at `position`, 0 if none is there. U+017F (long s) is an s to a regex
  // that ignores case.
  int64_t contraction(int64_t position, bool ignore_case) const {
    if (at(position).code != '\'') return 0;
    const Symbol a = at(position + 1);
    const char32_t first = fold(a, ignore_case);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 1 + a.length;
    if (first != 'r' && first != 'v' && first != 'l') return 0;
    const Symbol b = at(position + 1 + a.length);
    const char32_t wanted = first == 'l' ? 'l' : 'e';
    return fold(b, ignore_case) == wanted ? 1 + a.length + b.length : 0;
  }

  // `\s+(?!\S)|\s+`: all of a run of spaces, but for its last character when something else follows and it is not alone.
  int64_t spaces_end(int64_t begin) const {
    int64_t last = begin;
    int64_t end = begin;
    for (Symbol s = at(end); s.is(CharClass::space); s = at(end)) {
      last = end;
      end += s.length;
    }
    return at(end).at_end() || last == begin ? end : last;
  }

  // `\s*[\r\n]+`: the run of spaces up to its last line end; `begin` if it has none.
  int64_t blank_lines_end(int64_t begin) const {
    int64_t found = begin;
    int64_t end = begin;
    for (Symbol s = at(end); s.is(CharClass::space); s = at(end)) {
      end += s.length;
      if (s.is_newline()) found = end;
    }
    return found;
  }

 private:
  static char32_t fold(const Symbol& s, bool ignore_case) {
    if (s.at_end() || !ignore_case) return s.code;
    if (s.code == 0x17F) return 's';
    return s.code >= 'A' && s.code <= 'Z' ? s.code + ('a' - 'A') : s.code;
  }

  std::string_view text_;
  bool digits_end_;
};

int64_t gpt2_end(const Scanner& text, int64_t begin) {
  if (const int64_t length = text.contraction(begin, false)) return begin + length;
  const int64_t start = begin + (text.at(begin).code == ' ' ? 1 : 0);
  const Symbol body = text.at(start);
  if (!body.at_end() && body.kind != CharClass::space) return text.run_end(start, body.kind);
  return text.spaces_end(begin);
}

int64_t smollm_end(std::string_view whole, int64_t begin) {
  const Symbol first = Scanner(whole, false).at(begin);
  if (first.is(CharClass::number)) return begin + first.length;
  return gpt2_end(Scanner(whole, true), begin);
}

int64_t qwen2_end(const Scanner& text, int64_t begin) {
  if (const int64_t length = text.contraction(begin, true)) return begin + length;
  const Symbol first = text.at(begin);
  if (first.is(CharClass::number)) return begin + first.length;
  if (first.is(CharClass::letter)) return text.run_end(begin, CharClass::letter);
  const int64_t second = begin + first.length;
  if (!first.is_newline() && text.at(second).is(CharClass::letter)) return text.run_end(second, CharClass::letter);
  const int64_t start = first.code == ' ' ? second : begin;
  if (text.at(start).is(CharClass::other)) return text.newlines_end(text.run_end(start, CharClass::other));
  const int64_t blank = text.blank_lines_end(begin);
  return blank > begin ? blank : text.spaces_end(begin);
}

}  // namespace

PreTokenizer pre_tokenizer_named(std::string_view name) {
  if (name == "gpt-2") return PreTokenizer::gpt2;
  if (name == "smollm") return PreTokenizer::smollm;
  if (name == "qwen2") return PreTokenizer::qwen2;
  throw Error(ErrorCode::unsupported,
              cat("unknown pre-tokenizer '", name, "' (tokenizer.ggml.pre); known are: gpt-2, smollm, qwen2"));
}

int64_t piece_end(PreTokenizer kind, std::string_view text, int64_t begin) {
  switch (kind) {
    case PreTokenizer::gpt2: return gpt2_end(Scanner(text, false), begin);
    case PreTokenizer::smollm: return smollm_end(text, begin);
    case PreTokenizer::qwen2: break;
  }
  return qwen2_end(Scanner(text, false), begin);
}

std::vector<std::string_view> pre_tokenize(PreTokenizer kind, std::string_view text) {
  std::vector<std::string_view> pieces;
  const int64_t size = static_cast<int64_t>(text.size());
  for (int64_t begin = 0; begin < size;) {
    const int64_t end = piece_end(kind, text, begin);
    pieces.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

}  // namespace tenon
