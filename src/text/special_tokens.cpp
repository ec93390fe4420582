#include "text/special_tokens.h"

#include <algorithm>

namespace tenon {

SpecialTokens::SpecialTokens(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::erase_if(entries_, [](const Entry& e) { return e.text.empty(); });
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.text != b.text ? a.text < b.text : a.id < b.id; });
  const auto same = [](const Entry& a, const Entry& b) { return a.text == b.text; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
  for (const Entry& e : entries_) first_[static_cast<uint8_t>(e.text[0])] = true;
}

// Narrows the sorted entries to those that share the first 1, 2, 3 ... characters with the text.
const SpecialTokens::Entry* SpecialTokens::longest_prefix(std::string_view text, bool with_control) const {
  const Entry* best = nullptr;
  auto begin = entries_.begin();
  auto end = entries_.end();
  for (int64_t i = 0; i < static_cast<int64_t>(text.size()) && begin != end; ++i) {
    // What ends before this character sorts first and is no longer of interest.
    if (static_cast<int64_t>(begin->text.size()) == i && ++begin == end) break;
    const auto byte = [i](const Entry& e) { return static_cast<uint8_t>(e.text[i]); };
    const auto wanted = static_cast<uint8_t>(text[i]);
    begin = std::lower_bound(begin, end, wanted, [&](const Entry& e, uint8_t b) { return byte(e) < b; });
    end = std::upper_bound(begin, end, wanted, [&](uint8_t b, const Entry& e) { return b < byte(e); });
    if (begin == end) break;
    const bool complete = static_cast<int64_t>(begin->text.size()) == i + 1;
    if (complete && (with_control || !begin->control)) best = &*begin;
  }
  return best;
}

int32_t SpecialTokens::id_of(std::string_view text) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), text,
                                      [](const Entry& e, std::string_view t) { return e.text < t; });
  return found != entries_.end() && found->text == text ? found->id : -1;
}

}  // namespace tenon
