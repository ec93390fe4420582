#include "kernel_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <regex>

namespace standin {
namespace {

const char magic[] = "kernel text for the stand-in\n";

const std::regex& kernel_pattern() {
  static const std::regex r(R"(__global__\s+(?:void\s+)?(?:__launch_bounds__\s*\([^)]*\)\s*)?(?:void\s+)?(\w+)\s*\()");
  return r;
}

// Where a pattern that begins with a word stands. Only places with the word are looked at: a regex search over a whole
// text costs as much as compiling it.
template <class F>
void for_each_match(const std::string& text, const std::string& word, const std::regex& pattern, F found) {
  std::smatch m;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    if (std::regex_search(text.begin() + int64_t(at), text.end(), m, pattern, std::regex_constants::match_continuous)) found(at, m);
}

// Past the body in braces that begins after `at`; comments and literals may hold braces too.
size_t end_of_body(const std::string& text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '/' && text.compare(at, 2, "//") == 0) at = text.find('\n', at);
    else if (c == '/' && text.compare(at, 2, "/*") == 0) at = text.find("*/", at) + 1;
    else if (c == '"' || c == '\'') {
      for (++at; at < text.size() && text[at] != c; ++at) at += text[at] == '\\';
    } else if (c == '{') ++depth;
    else if (c == '}' && --depth == 0) return at + 1;
    if (at == text.npos) break;
  }
  return text.size();
}

std::string replaced(const std::string& text, const std::string& word, const std::regex& pattern, const char* format) {
  std::string out;
  size_t done = 0;
  for_each_match(text, word, pattern, [&](size_t at, const std::smatch& m) {
    out.append(text, done, at - done);
    out += m.format(format);
    done = at + size_t(m.length());
  });
  return out.append(text, done, text.npos);
}

// The entry stands behind its kernel, in whatever namespace that is.
std::string with_entries(const std::string& text, const std::string& hash) {
  std::string out;
  size_t done = 0;
  for_each_match(text, "__global__", kernel_pattern(), [&](size_t at, const std::smatch& m) {
    const size_t end = end_of_body(text, at);
    out.append(text, done, end - done);
    out += " SI_ENTRY(" + entry_symbol(hash, m[1]) + ", " + m[1].str() + ")";
    done = end;
  });
  return out.append(text, done, text.npos);
}

// Where a text that has a prelude begins with what is its own.
const std::string kernels_own = "\nnamespace tenon {\nnamespace gpu {\n";

// Shared memory and linkage as the host knows them.
std::string host_text(const std::string& kernel_text) {
  static const std::regex dynamic(R"(extern\s+__shared__\s+(?:(?:__align__|alignas)\s*\([^)]*\)\s*)?([\w:]+(?:\s+\w+)*?)\s+(\w+)\s*\[\s*\]\s*;)");
  static const std::regex shared(R"(__shared__\s+(?:(?:__align__|alignas)\s*\([^)]*\)\s*)?([\w:]+(?:\s*<[^<>;]*>)?(?:\s+\w+)*?)\s+(\w+)\s*((?:\[[^\];]*\]\s*)*);)");
  static const std::regex c_linkage(R"(extern\s+"C"\s+)");
  std::string text = replaced(kernel_text, "extern", dynamic, "$1* $2 = ($1*)si_s.dynamic;");
  text = replaced(text, "__shared__", shared, "SI_SHARED($1, $2, $3)");
  return replaced(text, "extern", c_linkage, "");
}

}  // namespace

std::string pack(const Image& image) {
  std::string out = magic;
  out += std::to_string(image.capability) + "\n" + image.name + "\n" + image.text;
  out += '\0';
  return out;
}

bool unpack(const char* bytes, Image* image) {
  if (std::strncmp(bytes, magic, sizeof magic - 1) != 0) return false;
  const char* at = bytes + sizeof magic - 1;
  image->capability = std::atoi(at);
  at = std::strchr(at, '\n') + 1;
  const char* end = std::strchr(at, '\n');
  image->name.assign(at, end);
  image->text = end + 1;
  return true;
}

std::vector<std::string> kernels_of(const std::string& text) {
  std::vector<std::string> names;
  for_each_match(text, "__global__", kernel_pattern(), [&](size_t, const std::smatch& m) { names.push_back(m[1]); });
  return names;
}

std::string translation_unit(const std::map<std::string, Image>& images) {
  std::map<std::string, std::string> units;  // by what is common
  for (const auto& [hash, image] : images) {
    const size_t opened = image.text.rfind(kernels_own);
    // A text with kernels in several parts shares nothing: what stands before the last part holds kernels too.
    const std::string head = image.text.substr(0, opened == image.text.npos ? 0 : opened);
    const size_t common = head.empty() || !kernels_of(head).empty() ? 0 : opened + 1;
    const auto line = std::count(image.text.begin(), image.text.begin() + int64_t(common), '\n') + 1;
    std::string& unit = units[image.text.substr(0, common)];
    const std::string own = with_entries(host_text(image.text.substr(common)), hash);
    // The namespaces that `own` closes are opened before its own one.
    const std::string place = "\n#line " + std::to_string(line) + " \"" + image.name + "\"\n";
    if (common == 0) unit += "namespace k" + hash + " {" + place + own + "\n}\n";
    else unit += "namespace tenon { namespace gpu { namespace k" + hash + " {" + place + "\n\n" + own.substr(kernels_own.size() - 1) + "\n}\n";
  }
  std::string all;
  for (const auto& [common, unit] : units)
    all += common.empty() ? unit : "namespace k" + hash_of(common) + " {\n#line 1 \"prelude\"\n" + host_text(common) + unit + "}\n";
  return all;
}

std::string entry_symbol(const std::string& hash, const std::string& kernel) { return "si_kernel_" + hash + "_" + kernel; }

std::string hash_of(const std::string& text) {
  uint64_t h = 14695981039346656037ull;  // FNV-1a
  for (const unsigned char c : text) h = (h ^ c) * 1099511628211ull;
  h ^= h >> 29;
  static const char digits[] = "0123456789abcdef";
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += digits[h >> shift & 15];
  return out;
}

}  // namespace standin
