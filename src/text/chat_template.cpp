#include "text/chat_template.h"

#include "base/cat.h"
#include "tenon/error.h"

namespace tenon {
namespace {

constexpr std::string_view turn_start = "<|im_start|>";
constexpr std::string_view turn_end = "<|im_end|>";

// Reads a Jinja string literal's text from `position` up to `<|im_end|>`. False if the literal (or, outside of one, the
// text between tags) ends first.
bool read_until_turn_end(std::string_view jinja, int64_t position, char quote, std::string& out) {
  const int64_t size = static_cast<int64_t>(jinja.size());
  while (position < size) {
    const std::string_view rest = jinja.substr(position);
    if (rest.starts_with(turn_end)) return true;
    if (quote != 0 && rest[0] == quote) return false;
    if (quote == 0 && (rest.starts_with("{{") || rest.starts_with("{%"))) return false;
    const bool escape = quote != 0 && rest[0] == '\\' && rest.size() > 1;
    const char c = escape ? rest[1] : rest[0];
    out += escape && c == 'n' ? '\n' : escape && c == 't' ? '\t' : c;
    position += escape ? 2 : 1;
  }
  return false;
}

// The first literal system message of a template. The line end after "system" is a character, or Jinja's escape for it.
std::string find_default_system(std::string_view jinja) {
  const std::string head = cat(turn_start, "system");
  for (auto at = jinja.find(head); at != std::string_view::npos; at = jinja.find(head, at + 1)) {
    const char before = at > 0 ? jinja[at - 1] : '\0';
    const char quote = before == '\'' || before == '"' ? before : '\0';
    int64_t position = static_cast<int64_t>(at + head.size());
    const std::string_view rest = jinja.substr(position);
    if (rest.starts_with("\n")) position += 1;
    else if (rest.starts_with("\\n")) position += 2;
    else continue;
    std::string text;
    if (read_until_turn_end(jinja, position, quote, text) && !text.empty()) return text;
  }
  return "";
}

void append_turn(std::vector<TextSegment>& out, const std::string& role, const std::string& content) {
  // The line end that closes the turn before is plain text of its own: a control token follows it.
  if (!out.empty()) out.push_back({"\n", false});
  out.push_back({std::string(turn_start), true});
  out.push_back({cat(role, "\n", content), false});
}

}  // namespace

ChatTemplate::ChatTemplate(std::string_view jinja) {
  if (jinja.find(turn_start) == std::string_view::npos)
    throw Error(ErrorCode::unsupported,
                jinja.empty() ? "this model has no chat template; use --raw to give it plain text"
                              : "this model's chat template is not ChatML (it has no <|im_start|>), the only kind that "
                                "is known; use --raw to give it plain text");
  default_system_ = find_default_system(jinja);
}

std::vector<TextSegment> ChatTemplate::render(const std::vector<ChatMessage>& messages,
                                              bool add_generation_prompt) const {
  if (messages.empty()) throw Error(ErrorCode::invalid_argument, "a conversation needs at least one message");
  std::vector<TextSegment> out;
  const auto add = [&](const std::string& role, const std::string& content) {
    append_turn(out, role, content);
    out.push_back({std::string(turn_end), true});
  };
  if (messages[0].role != "system" && !default_system_.empty()) add("system", default_system_);
  for (const ChatMessage& m : messages) {
    if (m.role != "system" && m.role != "user" && m.role != "assistant")
      throw Error(ErrorCode::invalid_argument,
                  cat("unknown role '", m.role, "' in a conversation; known are: system, user, assistant"));
    add(m.role, m.content);
  }
  if (add_generation_prompt) append_turn(out, "assistant", "");
  else out.push_back({"\n", false});
  return out;
}

std::vector<int32_t> encode_chat(const BpeTokenizer& tokenizer, const std::vector<TextSegment>& segments) {
  std::vector<int32_t> out = tokenizer.encode("");
  for (const TextSegment& segment : segments) {
    if (!segment.parse_special) {
      const std::vector<int32_t> ids = tokenizer.encode(segment.text, {.parse_special = false, .add_bos = false});
      out.insert(out.end(), ids.begin(), ids.end());
      continue;
    }
    const int32_t id = tokenizer.special_id(segment.text);
    if (id < 0)
      throw Error(ErrorCode::unsupported, cat("the chat template needs the token ", segment.text,
                                              ", which the vocabulary lacks; use --raw to give the model plain text"));
    out.push_back(id);
  }
  return out;
}

}  // namespace tenon
