// Byte-level BPE, as GPT-2 introduced it: text is cut into pieces (pre_tokenizer.h), a piece's bytes are merged pairwise,
// the earliest learned pair first. Source: Sennrich et al., arXiv:1508.07909; Radford et al. 2019.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/pre_tokenizer.h"
#include "text/special_tokens.h"
#include "text/utf8.h"

namespace tenon {

// Values of tokenizer.ggml.token_type.
enum class TokenType : int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

// What a tokenizer is made of, in GGUF's terms. V: vocabulary.
struct TokenizerData {
  std::vector<std::string> tokens;   // [V]; normal tokens spelled in GPT-2's alphabet of printable stand-ins for bytes
  std::vector<int32_t> token_types;  // [V] TokenType, or empty: all normal
  std::vector<std::string> merges;   // "left right", earliest first
  std::string pre;                   // name of the pre-tokenizer
  int32_t bos_id = -1;               // begin of text; -1: none
  int32_t eos_id = -1;               // end of text; -1: none
  int32_t eot_id = -1;               // end of a turn; -1: none
  bool add_bos = false;              // begin every text with bos_id
};

struct EncodeOptions {
  // Control tokens spelled out in the text become those tokens. Leave it off for text of unknown origin: a user's
  // "<|im_end|>" then stays text. User-defined tokens (never control) are recognised either way.
  bool parse_special = false;
  // Begin with the bos token if the model asks for it (TokenizerData::add_bos); false: never.
  bool add_bos = true;
};

// Immutable once made: safe to share between threads.
class BpeTokenizer {
 public:
  // Throws Error(unsupported) for an unknown `pre`; Error(format) for an empty vocabulary, a list of types of another
  // length or with unknown values, ids outside the vocabulary, a merge that is not "left right" over known tokens.
  // bos, eos and eot are control whatever their type says, and so is every user-defined token spelled <|...|>.
  explicit BpeTokenizer(const TokenizerData& data);

  int64_t size() const { return static_cast<int64_t>(types_.size()); }  // V
  int32_t bos_id() const { return bos_id_; }
  int32_t eos_id() const { return eos_id_; }
  TokenType type(int32_t id) const;  // Error(invalid_argument) outside [0, V)
  bool is_control(int32_t id) const { return type(id) == TokenType::control; }
  // Ends what a model says: eos, eot, and the control tokens <|im_end|> and <|endoftext|> where they exist.
  bool is_end(int32_t id) const;

  // Id of the control or user-defined token spelled `text`, or -1.
  int32_t special_id(std::string_view text) const { return special_.id_of(text); }

  // Bytes that a token stands for; may be a part of a character. Control tokens give their spelling, unused ones "".
  // The view lives as long as the tokenizer. Error(invalid_argument) outside [0, V).
  std::string_view token_bytes(int32_t id) const;

  // Ids of any bytes; never throws on content. O(n log n) in the longest piece, linear in the number of pieces.
  // A byte that the vocabulary has no token for becomes U+FFFD's tokens, or nothing if it lacks those too.
  std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {}) const;

  // The tokens' bytes one after the other (not always UTF-8: see StreamDecoder). decode(encode(x)) == x for every x
  // when the vocabulary has all 256 bytes and no bos is added. Error(invalid_argument) for an id outside [0, V).
  std::string decode(std::span<const int32_t> ids) const;

 private:
  struct Merge {
    int32_t rank;
    int32_t id;
  };
  struct Symbol;
  struct Candidate;
  struct Workspace;
  using Vocabulary = std::unordered_map<std::string, int32_t>;

  void read_types(const TokenizerData& data);
  Vocabulary read_tokens(const TokenizerData& data);
  void read_merges(const TokenizerData& data, const Vocabulary& vocabulary);
  void read_bytes(const Vocabulary& vocabulary);
  void check_id(int32_t id) const;
  void encode_plain(std::string_view text, Workspace& work, std::vector<int32_t>& out) const;
  void encode_piece(std::string_view piece, Workspace& work, std::vector<int32_t>& out) const;
  void propose(int64_t left, Workspace& work) const;
  void merge_all(Workspace& work) const;

  PreTokenizer pre_;
  int32_t bos_id_, eos_id_, eot_id_;
  bool add_bos_;
  std::vector<TokenType> types_;   // [V]
  std::string bytes_;              // of all tokens, one after the other
  std::vector<int64_t> offsets_;   // [V + 1] into bytes_
  SpecialTokens special_;
  std::unordered_map<uint64_t, Merge> merges_;  // (left id, right id) -> what they become, and how early
  int32_t byte_ids_[256];                       // -1: the vocabulary lacks this byte
  std::vector<int32_t> replacement_;            // U+FFFD, for bytes that it lacks
};

// Decodes ids as they come: what it returns is always whole characters of well-formed UTF-8.
class StreamDecoder {
 public:
  // The tokenizer must outlive the decoder.
  explicit StreamDecoder(const BpeTokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  // Text that became complete with this token, perhaps "". Bytes that can no longer become a character give U+FFFD.
  std::string push(int32_t id) { return stream_.push(tokenizer_->token_bytes(id)); }
  // At the end: one U+FFFD if an unfinished character is held back, else "".
  std::string flush() { return stream_.flush(); }

 private:
  const BpeTokenizer* tokenizer_;
  Utf8Stream stream_;
};

}  // namespace tenon
