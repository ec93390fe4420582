// Finding a vocabulary's special tokens in text.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// A set of spellings. Finding takes a step per character of the longest spelling, whatever the text.
class SpecialTokens {
 public:
  struct Entry {
    std::string text;
    int32_t id;
    bool control;
  };

  SpecialTokens() = default;
  // Empty spellings are dropped; of equal ones the lowest id stays.
  explicit SpecialTokens(std::vector<Entry> entries);

  // The longest spelling that `text` begins with (control ones only if wanted), or null.
  const Entry* longest_prefix(std::string_view text, bool with_control) const;
  // Id of exactly this spelling, or -1.
  int32_t id_of(std::string_view text) const;
  bool empty() const { return entries_.empty(); }
  // Whether any spelling begins with this byte: lets a search skip ahead.
  bool begins_with(char byte) const { return first_[static_cast<uint8_t>(byte)]; }

 private:
  std::vector<Entry> entries_;  // sorted by text
  bool first_[256] = {};
};

}  // namespace tenon
