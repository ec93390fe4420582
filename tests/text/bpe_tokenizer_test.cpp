#include "text/bpe_tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>

#include "tenon/error.h"
#include "text/byte_alphabet.h"

namespace {

using namespace tenon;
using Ids = std::vector<int32_t>;

// Ids 0..255 are the bytes.
TokenizerData byte_vocabulary() {
  TokenizerData data;
  data.pre = "qwen2";
  for (int b = 0; b < 256; ++b) data.tokens.push_back(spelling_of_bytes(std::string(1, static_cast<char>(b))));
  data.token_types.assign(256, 1);
  return data;
}

int32_t add_token(TokenizerData& data, const std::string& spelling, TokenType type) {
  data.tokens.push_back(spelling);
  data.token_types.push_back(static_cast<int32_t>(type));
  return static_cast<int32_t>(data.tokens.size()) - 1;
}

void add_merge(TokenizerData& data, const std::string& left, const std::string& right) {
  data.merges.push_back(left + " " + right);
  add_token(data, left + right, TokenType::normal);
}

Ids bytes_as_ids(std::string_view text) {
  Ids ids;
  for (char c : text) ids.push_back(static_cast<uint8_t>(c));
  return ids;
}

Ids plain(const BpeTokenizer& tokenizer, std::string_view text) { return tokenizer.encode(text); }
Ids special(const BpeTokenizer& tokenizer, std::string_view text) { return tokenizer.encode(text, {.parse_special = true}); }

std::string message_of(const TokenizerData& data, ErrorCode wanted = ErrorCode::format) {
  try {
    BpeTokenizer tokenizer(data);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), wanted) << e.what();
    return e.what();
  }
  return "no error";
}

// The definition, done the slow way: again and again the earliest learned pair, leftmost first.
std::vector<std::string> merge_slowly(std::vector<std::string> parts, const std::map<std::pair<std::string, std::string>, int>& ranks) {
  while (true) {
    int best_rank = INT32_MAX;
    size_t best = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find({parts[i], parts[i + 1]});
      if (found != ranks.end() && found->second < best_rank) best_rank = found->second, best = i;
    }
    if (best_rank == INT32_MAX) return parts;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(ByteAlphabet, IsGpt2s) {
  EXPECT_EQ(spelling_of_bytes(" "), "Ġ");
  EXPECT_EQ(spelling_of_bytes("\n"), "Ċ");
  EXPECT_EQ(spelling_of_bytes("é"), "Ã©");
  EXPECT_EQ(spelling_of_bytes("\xAD"), "Ń");
  for (int b = 0; b < 256; ++b) {
    const std::string byte(1, static_cast<char>(b));
    EXPECT_EQ(bytes_of_spelling(spelling_of_bytes(byte)), byte);
  }
  EXPECT_EQ(bytes_of_spelling("世 x"), "世 x");  // outside the alphabet: as written
}

TEST(BpeTokenizer, EqualsTheSlowDefinition) {
  std::mt19937 rng(3);
  for (int round = 0; round < 40; ++round) {
    TokenizerData data = byte_vocabulary();
    std::vector<std::string> tokens = {"a", "b", "c", "d"};
    std::map<std::pair<std::string, std::string>, int> ranks;
    while (ranks.size() < 60) {
      const std::string left = tokens[rng() % tokens.size()], right = tokens[rng() % tokens.size()];
      if (std::find(tokens.begin(), tokens.end(), left + right) != tokens.end()) continue;
      const int rank = static_cast<int>(ranks.size());
      ranks[{left, right}] = rank;
      add_merge(data, left, right);
      tokens.push_back(left + right);
    }
    const BpeTokenizer tokenizer(data);
    for (int length : {1, 2, 3, 17, 200}) {
      std::string text;
      std::vector<std::string> parts;
      for (int i = 0; i < length; ++i) parts.push_back(std::string(1, "abcd"[rng() % 4])), text += parts.back();
      std::vector<std::string> got;
      for (int32_t id : plain(tokenizer, text)) got.emplace_back(tokenizer.token_bytes(id));
      EXPECT_EQ(got, merge_slowly(parts, ranks));
    }
  }
}

TEST(BpeTokenizer, AnyBytesRoundTrip) {
  TokenizerData data = byte_vocabulary();
  add_merge(data, "Ġ", "t");
  add_merge(data, "Ã", "©");
  add_merge(data, "Ċ", "Ċ");
  add_token(data, "<|im_end|>", TokenType::control);
  std::mt19937 rng(5);
  for (const char* pre : {"gpt-2", "smollm", "qwen2"}) {
    data.pre = pre;
    const BpeTokenizer tokenizer(data);
    for (std::string text : {std::string("\xE2\x80"), std::string("\xE6\xAD"), std::string("\xFF"), std::string("\xC0\xAF"),
                             std::string("\xED\xA0\x80"), std::string("\xF4\x90\x80\x80"), std::string(), std::string("a\0b", 3)})
      EXPECT_EQ(tokenizer.decode(plain(tokenizer, text)), text);
    for (int round = 0; round < 2000; ++round) {
      std::string text;
      for (int i = static_cast<int>(rng() % 40); i > 0; --i) text += static_cast<char>(rng() % 4 ? rng() : " t\n\xC3"[rng() % 4]);
      if (round % 5 == 0) text += "<|im_end|>" + text;
      ASSERT_EQ(tokenizer.decode(plain(tokenizer, text)), text);
      ASSERT_EQ(tokenizer.decode(special(tokenizer, text)), text);
    }
  }
}

TEST(BpeTokenizer, SpecialTokensOnlyWhenAskedAndLongestFirst) {
  TokenizerData data = byte_vocabulary();
  const int32_t end = add_token(data, "<|im_end|>", TokenType::control);
  const int32_t end_2 = add_token(data, "<|im_end|>2", TokenType::control);
  const int32_t open = add_token(data, "<t>", TokenType::user_defined);
  const int32_t open_2 = add_token(data, "<t>>", TokenType::control);
  const BpeTokenizer tokenizer(data);
  EXPECT_EQ(special(tokenizer, "A<|im_end|>B"), (Ids{'A', end, 'B'}));
  EXPECT_EQ(plain(tokenizer, "A<|im_end|>B"), bytes_as_ids("A<|im_end|>B"));
  EXPECT_EQ(tokenizer.decode(plain(tokenizer, "A<|im_end|>B")), "A<|im_end|>B");
  EXPECT_EQ(special(tokenizer, "<|im_end|>2<|im_end|>3"), (Ids{end_2, end, '3'}));
  EXPECT_EQ(special(tokenizer, "<|im_end"), bytes_as_ids("<|im_end"));
  EXPECT_EQ(special(tokenizer, "<<t>>"), (Ids{'<', open_2}));
  EXPECT_EQ(plain(tokenizer, "<<t>>"), (Ids{'<', open, '>'}));  // user-defined: text like any other, but one token
}

TEST(BpeTokenizer, UserDefinedTokensInControlSpellingAreControl) {
  TokenizerData data = byte_vocabulary();
  const int32_t end = add_token(data, "<|im_end|>", TokenType::user_defined);
  data.eos_id = add_token(data, "</s>", TokenType::user_defined);
  const BpeTokenizer tokenizer(data);
  EXPECT_TRUE(tokenizer.is_control(end) && tokenizer.is_control(data.eos_id));
  EXPECT_TRUE(tokenizer.is_end(end) && tokenizer.is_end(data.eos_id) && !tokenizer.is_end('a'));
  EXPECT_EQ(plain(tokenizer, "</s><|im_end|>"), bytes_as_ids("</s><|im_end|>"));
  EXPECT_EQ(tokenizer.special_id("</s>"), data.eos_id);
  EXPECT_EQ(tokenizer.special_id("nothing"), -1);
}

TEST(BpeTokenizer, BosFollowsTheModelsRule) {
  TokenizerData data = byte_vocabulary();
  data.bos_id = add_token(data, "<s>", TokenType::control);
  EXPECT_EQ(BpeTokenizer(data).encode("a"), (Ids{'a'}));
  data.add_bos = true;
  EXPECT_EQ(BpeTokenizer(data).encode("a"), (Ids{data.bos_id, 'a'}));
  EXPECT_EQ(BpeTokenizer(data).encode(""), (Ids{data.bos_id}));
  EXPECT_EQ(BpeTokenizer(data).encode("a", {.add_bos = false}), (Ids{'a'}));
}

TEST(BpeTokenizer, BytesThatTheVocabularyLacksBecomeReplacementCharacters) {
  TokenizerData data = byte_vocabulary();
  data.token_types[0xFF] = data.token_types[4] = static_cast<int32_t>(TokenType::unused);
  add_merge(data, "ï", "¿");
  const BpeTokenizer tokenizer(data);
  EXPECT_EQ(tokenizer.decode(plain(tokenizer, "a\xFF" "b\x04")), "a\uFFFDb\uFFFD");
  EXPECT_EQ(plain(tokenizer, "\xFF"), (Ids{256, 0xBD}));
  data.token_types[0xBD] = static_cast<int32_t>(TokenType::unused);
  EXPECT_EQ(BpeTokenizer(data).encode("a\xFF" "b"), (Ids{'a', 'b'}));
}

TEST(BpeTokenizer, ByteUnusedAndPlainTokensDecode) {
  TokenizerData data = byte_vocabulary();
  const int32_t byte = add_token(data, "<0xE9>", TokenType::byte);
  const int32_t unused = add_token(data, "[PAD7]", TokenType::unused);
  const int32_t written = add_token(data, "two words", TokenType::normal);
  const BpeTokenizer tokenizer(data);
  EXPECT_EQ(tokenizer.decode(Ids{byte, unused, written}), "\xE9two words");
}

TEST(BpeTokenizer, IdsOutsideTheVocabularyAreErrors) {
  const BpeTokenizer tokenizer(byte_vocabulary());
  for (int32_t id : {-1, 256, INT32_MAX, INT32_MIN}) {
    EXPECT_THROW(tokenizer.decode(Ids{'a', id}), Error);
    EXPECT_THROW(tokenizer.is_end(id), Error);
    EXPECT_THROW(StreamDecoder(tokenizer).push(id), Error);
  }
  try {
    tokenizer.decode(Ids{300});
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(e.what(), "token id 300 is outside the vocabulary: ids go from 0 to 255");
  }
}

TEST(BpeTokenizer, BadDataIsAnError) {
  const auto broken = [](auto change) {
    TokenizerData data = byte_vocabulary();
    change(data);
    return message_of(data);
  };
  EXPECT_NE(broken([](auto& d) { d.tokens.clear(); }).find("0 tokens"), std::string::npos);
  EXPECT_NE(broken([](auto& d) { d.token_types.pop_back(); }).find("255 token types for 256 tokens"), std::string::npos);
  EXPECT_NE(broken([](auto& d) { d.token_types[3] = 9; }).find("token 3 has type 9"), std::string::npos);
  EXPECT_NE(broken([](auto& d) { d.bos_id = 256; }).find("bos id is 256"), std::string::npos);
  EXPECT_NE(broken([](auto& d) { d.eos_id = -2; }).find("eos id is -2"), std::string::npos);
  EXPECT_NE(broken([](auto& d) { d.add_bos = true; }).find("names none"), std::string::npos);
  for (const char* merge : {"", " ", "a", "ab", "a ", " a", "a  b"})
    EXPECT_NE(broken([&](auto& d) { d.merges = {merge}; }).find("merge"), std::string::npos) << merge;
  EXPECT_NE(broken([](auto& d) { d.merges = {"a b"}; }).find("needs 'ab'"), std::string::npos);
  EXPECT_NE(broken([](auto& d) { add_token(d, "<0xG1>", TokenType::byte); }).find("<0xG1>"), std::string::npos);
  TokenizerData unknown = byte_vocabulary();
  unknown.pre = "default";
  EXPECT_NE(message_of(unknown, ErrorCode::unsupported).find("'default'"), std::string::npos);
}

// One word of a megabyte: with a scan per merge this would take hours.
TEST(BpeTokenizer, LongWordsAreNotQuadratic) {
  TokenizerData data = byte_vocabulary();
  std::string run = "a";
  while (run.size() < 64) add_merge(data, run, run), run += run;
  add_merge(data, "a", "b");
  const BpeTokenizer tokenizer(data);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(plain(tokenizer, std::string(1 << 20, 'a')).size(), (1u << 20) / 64);
  std::string mixed;
  while (mixed.size() < (1u << 20)) mixed += "aaab";
  EXPECT_EQ(plain(tokenizer, mixed).size(), 1u << 19);
  EXPECT_EQ(special(tokenizer, std::string(1 << 20, '<')).size(), 1u << 20);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 30);  // about a second; sanitizers are slower
}

TEST(StreamDecoder, EmitsWholeCharactersOnly) {
  TokenizerData data = byte_vocabulary();
  const int32_t head = add_token(data, spelling_of_bytes("\xF0\x9F"), TokenType::normal);
  const int32_t tail = add_token(data, spelling_of_bytes("\x98\xB8"), TokenType::normal);
  const int32_t two = add_token(data, spelling_of_bytes(" \xE6\xAD"), TokenType::normal);
  const BpeTokenizer tokenizer(data);
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push(head), "");
  EXPECT_EQ(decoder.push(tail), "\U0001F638");
  EXPECT_EQ(decoder.push(two), " ");
  EXPECT_EQ(decoder.push(0xAA), "\u6B6A");
  EXPECT_EQ(decoder.flush(), "");
  EXPECT_EQ(decoder.push(head), "");
  EXPECT_EQ(decoder.flush(), "\uFFFD");
  EXPECT_EQ(decoder.flush(), "");
  EXPECT_EQ(decoder.push(head), "");
  EXPECT_EQ(decoder.push('a'), "\uFFFDa");  // can no longer become a character
  EXPECT_EQ(decoder.push(0xFF), "\uFFFD");
}

}  // namespace
