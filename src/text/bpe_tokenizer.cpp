#include "text/bpe_tokenizer.h"

#include <algorithm>
#include <charconv>
#include <queue>

#include "base/cat.h"
#include "tenon/error.h"
#include "text/byte_alphabet.h"

namespace tenon {
namespace {

constexpr int64_t max_vocabulary = INT32_MAX;
constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::format, "tokenizer: " + message); }

bool looks_like_control(std::string_view text) {
  return text.size() > 4 && text.starts_with("<|") && text.ends_with("|>");
}

// The byte of a token spelled "<0xAB>"; -1 if it is not spelled so.
int byte_of_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  int value = 0;
  const auto result = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
  return result.ptr == text.data() + 5 ? value : -1;
}

std::string token_text(const std::string& spelling, TokenType type, int64_t id) {
  switch (type) {
    case TokenType::normal: return bytes_of_spelling(spelling);
    case TokenType::unused: return "";
    case TokenType::byte: {
      const int byte = byte_of_token(spelling);
      if (byte < 0) fail(cat("byte token ", id, " is spelled '", spelling, "', expected the form <0xAB>"));
      return std::string(1, static_cast<char>(byte));
    }
    case TokenType::unknown:
    case TokenType::control:
    case TokenType::user_defined: break;
  }
  return spelling;
}

void check_optional_id(const char* name, int32_t id, int64_t size) {
  if (id < -1 || id >= size) fail(cat(name, " is ", id, ", outside the vocabulary of ", size, " tokens"));
}

}  // namespace

// A stretch of a piece that has become one token. Symbols stand in an array at their first byte's index.
struct BpeTokenizer::Symbol {
  int32_t id;  // missing: a byte without a token; merged: now part of the symbol to its left
  int64_t previous, next;
  static constexpr int32_t missing = -1;
  static constexpr int32_t merged = -2;
};

// A pair that may merge. Stale when either symbol has changed since: a symbol only ever grows, so equal ids mean unchanged.
struct BpeTokenizer::Candidate {
  int32_t rank;
  int32_t id;  // what the pair becomes
  int64_t left;
  int32_t left_id, right_id;
  bool operator<(const Candidate& other) const {  // greatest first in the queue: the earliest learned, then leftmost
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

struct BpeTokenizer::Workspace {
  std::vector<Symbol> symbols;
  std::priority_queue<Candidate> queue;
};

BpeTokenizer::BpeTokenizer(const TokenizerData& data)
    : pre_(pre_tokenizer_named(data.pre)),
      bos_id_(data.bos_id),
      eos_id_(data.eos_id),
      eot_id_(data.eot_id),
      add_bos_(data.add_bos) {
  read_types(data);
  const Vocabulary vocabulary = read_tokens(data);
  read_merges(data, vocabulary);
  read_bytes(vocabulary);
}

void BpeTokenizer::read_types(const TokenizerData& data) {
  const int64_t size = static_cast<int64_t>(data.tokens.size());
  if (size == 0 || size > max_vocabulary) fail(cat("a vocabulary of ", size, " tokens"));
  if (!data.token_types.empty() && static_cast<int64_t>(data.token_types.size()) != size)
    fail(cat(data.token_types.size(), " token types for ", size, " tokens"));
  check_optional_id("bos id", bos_id_, size);
  check_optional_id("eos id", eos_id_, size);
  check_optional_id("eot id", eot_id_, size);
  if (add_bos_ && bos_id_ < 0) fail("asks for a bos token in front of every text but names none");
  types_.assign(size, TokenType::normal);
  for (int64_t i = 0; i < static_cast<int64_t>(data.token_types.size()); ++i) {
    const int32_t type = data.token_types[i];
    if (type < 1 || type > 6) fail(cat("token ", i, " has type ", type, ", known are 1 to 6"));
    types_[i] = static_cast<TokenType>(type);
    if (types_[i] == TokenType::user_defined && looks_like_control(data.tokens[i])) types_[i] = TokenType::control;
  }
  for (int32_t id : {bos_id_, eos_id_, eot_id_})
    if (id >= 0) types_[id] = TokenType::control;
}

BpeTokenizer::Vocabulary BpeTokenizer::read_tokens(const TokenizerData& data) {
  Vocabulary vocabulary;
  vocabulary.reserve(types_.size());
  std::vector<SpecialTokens::Entry> special;
  std::vector<int32_t> others;
  offsets_.assign(1, 0);
  for (int32_t id = 0; id < size(); ++id) {
    const TokenType type = types_[id];
    std::string bytes = token_text(data.tokens[id], type, id);
    bytes_ += bytes;
    offsets_.push_back(static_cast<int64_t>(bytes_.size()));
    if (type == TokenType::control || type == TokenType::unknown) special.push_back({bytes, id, true});
    if (type == TokenType::user_defined) special.push_back({bytes, id, false});
    if (type == TokenType::normal) vocabulary.try_emplace(std::move(bytes), id);
    else if (type == TokenType::user_defined || type == TokenType::byte) others.push_back(id);
  }
  // A few vocabularies mark results of merges as user-defined: known to merges, but normal tokens go first.
  for (int32_t id : others) vocabulary.try_emplace(std::string(token_bytes(id)), id);
  special_ = SpecialTokens(std::move(special));
  return vocabulary;
}

void BpeTokenizer::read_merges(const TokenizerData& data, const Vocabulary& vocabulary) {
  const auto find = [&](const std::string& bytes, const std::string& merge) {
    const auto found = vocabulary.find(bytes);
    if (found == vocabulary.end())
      fail(cat("merge '", merge, "' needs '", spelling_of_bytes(bytes), "', which is not in the vocabulary"));
    return found->second;
  };
  if (static_cast<int64_t>(data.merges.size()) > INT32_MAX) fail("too many merges");
  merges_.reserve(data.merges.size());
  int32_t rank = 0;
  for (const std::string& merge : data.merges) {
    const auto space = merge.find(' ', 1);
    if (space == std::string::npos || space + 1 == merge.size())
      fail(cat("merge ", rank, " is '", merge, "', expected two tokens with a space between"));
    const std::string left = bytes_of_spelling(std::string_view(merge).substr(0, space));
    const std::string right = bytes_of_spelling(std::string_view(merge).substr(space + 1));
    const Merge value{rank++, find(left + right, merge)};
    merges_.try_emplace(pair_key(find(left, merge), find(right, merge)), value);
  }
}

void BpeTokenizer::read_bytes(const Vocabulary& vocabulary) {
  for (int b = 0; b < 256; ++b) {
    const auto found = vocabulary.find(std::string(1, static_cast<char>(b)));
    byte_ids_[b] = found == vocabulary.end() ? Symbol::missing : found->second;
  }
  Workspace work;
  std::vector<int32_t> ids;
  encode_piece(replacement_character, work, ids);
  replacement_ = std::move(ids);
  // All or nothing: a part of U+FFFD would be worse than dropping the byte.
  for (char b : replacement_character)
    if (byte_ids_[static_cast<uint8_t>(b)] == Symbol::missing) replacement_.clear();
}

void BpeTokenizer::check_id(int32_t id) const {
  if (id < 0 || id >= size())
    throw Error(ErrorCode::invalid_argument,
                cat("token id ", id, " is outside the vocabulary: ids go from 0 to ", size() - 1));
}

TokenType BpeTokenizer::type(int32_t id) const {
  check_id(id);
  return types_[id];
}

bool BpeTokenizer::is_end(int32_t id) const {
  if (!is_control(id)) return false;
  return id == eos_id_ || id == eot_id_ || token_bytes(id) == "<|im_end|>" || token_bytes(id) == "<|endoftext|>";
}

std::string_view BpeTokenizer::token_bytes(int32_t id) const {
  check_id(id);
  return std::string_view(bytes_).substr(offsets_[id], offsets_[id + 1] - offsets_[id]);
}

std::vector<int32_t> BpeTokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::vector<int32_t> out;
  if (options.add_bos && add_bos_) out.push_back(bos_id_);
  Workspace work;
  const int64_t size = static_cast<int64_t>(text.size());
  int64_t begin = 0;  // of the plain text not yet encoded
  for (int64_t i = 0; i < size;) {
    const auto* found =
        special_.begins_with(text[i]) ? special_.longest_prefix(text.substr(i), options.parse_special) : nullptr;
    if (!found) {
      ++i;
      continue;
    }
    encode_plain(text.substr(begin, i - begin), work, out);
    out.push_back(found->id);
    i += static_cast<int64_t>(found->text.size());
    begin = i;
  }
  encode_plain(text.substr(begin), work, out);
  return out;
}

void BpeTokenizer::encode_plain(std::string_view text, Workspace& work, std::vector<int32_t>& out) const {
  const int64_t size = static_cast<int64_t>(text.size());
  for (int64_t begin = 0; begin < size;) {
    const int64_t end = piece_end(pre_, text, begin);
    encode_piece(text.substr(begin, end - begin), work, out);
    begin = end;
  }
}

void BpeTokenizer::encode_piece(std::string_view piece, Workspace& work, std::vector<int32_t>& out) const {
  const int64_t size = static_cast<int64_t>(piece.size());
  work.symbols.clear();
  for (int64_t i = 0; i < size; ++i) work.symbols.push_back({byte_ids_[static_cast<uint8_t>(piece[i])], i - 1, i + 1});
  for (int64_t i = 0; i + 1 < size; ++i) propose(i, work);
  merge_all(work);
  for (int64_t i = 0; i < size; i = work.symbols[i].next) {
    if (work.symbols[i].id == Symbol::missing) out.insert(out.end(), replacement_.begin(), replacement_.end());
    else out.push_back(work.symbols[i].id);
  }
}

// Queues the pair that begins at `left`, if there is one and it can merge.
void BpeTokenizer::propose(int64_t left, Workspace& work) const {
  const int64_t size = static_cast<int64_t>(work.symbols.size());
  if (left < 0 || work.symbols[left].next >= size) return;
  const int32_t left_id = work.symbols[left].id;
  const int32_t right_id = work.symbols[work.symbols[left].next].id;
  const auto found = merges_.find(pair_key(left_id, right_id));
  if (found != merges_.end()) work.queue.push({found->second.rank, found->second.id, left, left_id, right_id});
}

void BpeTokenizer::merge_all(Workspace& work) const {
  std::vector<Symbol>& symbols = work.symbols;
  const int64_t size = static_cast<int64_t>(symbols.size());
  while (!work.queue.empty()) {
    const Candidate best = work.queue.top();
    work.queue.pop();
    Symbol& left = symbols[best.left];
    if (left.id != best.left_id || left.next >= size || symbols[left.next].id != best.right_id) continue;
    Symbol& right = symbols[left.next];
    left.id = best.id;
    left.next = right.next;
    right.id = Symbol::merged;
    if (left.next < size) symbols[left.next].previous = best.left;
    propose(left.previous, work);
    propose(best.left, work);
  }
}

std::string BpeTokenizer::decode(std::span<const int32_t> ids) const {
  std::string out;
  for (int32_t id : ids) out += token_bytes(id);
  return out;
}

}  // namespace tenon
