// cat(a, b, …): the arguments as text, one after the other. For error messages and plans.
#pragma once
#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

namespace tenon {

inline void append_text(std::string& out, std::string_view s) { out += s; }
inline void append_text(std::string& out, const char* s) { out += s; }
inline void append_text(std::string& out, char c) { out += c; }
inline void append_text(std::string& out, bool b) { out += b ? "true" : "false"; }

template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>)
void append_text(std::string& out, T v) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr);
}
// Shortest text that reads back as the same value.
template <class T>
  requires std::is_floating_point_v<T>
void append_text(std::string& out, T v) {
  char buffer[40];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr);
}

template <class... Args>
std::string cat(const Args&... args) {
  std::string out;
  (append_text(out, args), ...);
  return out;
}

}  // namespace tenon
