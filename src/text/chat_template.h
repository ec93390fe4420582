// Rendering a conversation for a model. Of the Jinja templates that models bring, ChatML is known:
//   <|im_start|>role\ncontent<|im_end|>\n  for each message, then  <|im_start|>assistant\n
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe_tokenizer.h"

namespace tenon {

struct ChatMessage {
  std::string role;  // system, user or assistant
  std::string content;
};

// A stretch of a rendered conversation.
struct TextSegment {
  std::string text;
  bool parse_special;  // true: the text is one control token. false: plain text, whatever it spells
  bool operator==(const TextSegment&) const = default;
};

class ChatTemplate {
 public:
  // `jinja` is a model's tokenizer.chat_template. Throws Error(unsupported) unless it contains "<|im_start|>": that says
  // to run the model without a template (--raw).
  explicit ChatTemplate(std::string_view jinja);

  // The system message that comes first when a conversation brings none; empty: none. It is the literal that the
  // template has between `<|im_start|>system\n` and `<|im_end|>`; templates that compute it there have none.
  const std::string& default_system() const { return default_system_; }

  // Control tokens and plain text in turn. Roles and contents are always plain: they cannot forge a turn. Text between
  // two control tokens is one segment, so that it is tokenized as in training. Throws Error(invalid_argument) for
  // another role, or if there is no message.
  std::vector<TextSegment> render(const std::vector<ChatMessage>& messages, bool add_generation_prompt = true) const;

 private:
  std::string default_system_;
};

// Ids of a rendered conversation, begun with bos if the model asks for it. Throws Error(unsupported) if the vocabulary
// lacks one of the control tokens.
std::vector<int32_t> encode_chat(const BpeTokenizer& tokenizer, const std::vector<TextSegment>& segments);

}  // namespace tenon
