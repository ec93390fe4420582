#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tenon/error.h"
#include "text/unicode_tables.h"

namespace {

using namespace tenon;
using Pieces = std::vector<std::string>;

Pieces pieces(PreTokenizer kind, std::string_view text) {
  Pieces out;
  for (std::string_view piece : pre_tokenize(kind, text)) out.emplace_back(piece);
  return out;
}

constexpr PreTokenizer all[] = {PreTokenizer::gpt2, PreTokenizer::smollm, PreTokenizer::qwen2};

TEST(PreTokenizer, EqualsAnIndependentRegexEngine) {
  std::ifstream file(TENON_TEST_DATA "/pre_tokenizer_cases.json");
  ASSERT_TRUE(file) << "tests/data/pre_tokenizer_cases.json";
  const nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_GE(cases.size(), 300u);
  for (const auto& c : cases)
    for (const char* name : {"gpt-2", "smollm", "qwen2"})
      EXPECT_EQ(pieces(pre_tokenizer_named(name), c["text"].get<std::string>()), c[name].get<Pieces>())
          << name << ": " << c["text"].dump();
}

TEST(PreTokenizer, Qwen2Pieces) {
  const auto cut = [](std::string_view text) { return pieces(PreTokenizer::qwen2, text); };
  EXPECT_EQ(cut("12345"), (Pieces{"1", "2", "3", "4", "5"}));
  EXPECT_EQ(cut("->"), (Pieces{"->"}));
  EXPECT_EQ(cut("(x):\n"), (Pieces{"(x", "):\n"}));
  EXPECT_EQ(cut("a   b"), (Pieces{"a", "  ", " b"}));
  EXPECT_EQ(cut("a \n\n b"), (Pieces{"a", " \n\n", " b"}));
}

TEST(PreTokenizer, SmollmCutsStretchesBetweenDigitsOnTheirOwn) {
  EXPECT_EQ(pieces(PreTokenizer::smollm, "a  1 b"), (Pieces{"a", "  ", "1", " b"}));
  EXPECT_EQ(pieces(PreTokenizer::gpt2, "a  12 b"), (Pieces{"a", " ", " 12", " b"}));
}

TEST(PreTokenizer, UnknownNameIsAnError) {
  for (const char* name : {"", "default", "llama-bpe", "Qwen2"}) {
    try {
      pre_tokenizer_named(name);
      FAIL() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unsupported);
      EXPECT_NE(std::string(e.what()).find("smollm"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("qwen2"), std::string::npos) << e.what();
    }
  }
}

TEST(PreTokenizer, AnyBytesComeBackAndPiecesAreNeverEmpty) {
  std::mt19937 rng(7);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (int i = static_cast<int>(rng() % 24); i > 0; --i) text += static_cast<char>(rng() % 3 ? rng() : " \n'1as"[rng() % 6]);
    for (PreTokenizer kind : all) {
      std::string joined;
      for (const std::string& piece : pieces(kind, text)) {
        ASSERT_FALSE(piece.empty());
        joined += piece;
      }
      ASSERT_EQ(joined, text);
    }
  }
}

TEST(PreTokenizer, IllFormedBytesCutLikeTheReplacementCharacter) {
  EXPECT_EQ(pieces(PreTokenizer::qwen2, "a \xE2\x80x"), (Pieces{"a", " \xE2\x80", "x"}));
  EXPECT_EQ(pieces(PreTokenizer::qwen2, "a \uFFFDx"), (Pieces{"a", " \uFFFD", "x"}));
  EXPECT_EQ(pieces(PreTokenizer::qwen2, "1\xE2\x80x"), (Pieces{"1", "\xE2\x80x"}));
}

// A backtracking engine takes minutes for some of these.
TEST(PreTokenizer, HostileTextTakesLinearTime) {
  const int64_t size = 1 << 20;
  const char* units[] = {" ", "\n", " \n", "\r\n ", "'", "'l", "a", ".", "1", "\u00A0", " .", "\xE2\x80", "\xFF", "\t ", "'\xC5"};
  const auto start = std::chrono::steady_clock::now();
  for (const char* unit : units) {
    std::string text;
    while (static_cast<int64_t>(text.size()) < size) text += unit;
    for (PreTokenizer kind : all) {
      int64_t end = 0;
      while (end < static_cast<int64_t>(text.size())) end = piece_end(kind, text, end);
      EXPECT_EQ(end, static_cast<int64_t>(text.size()));
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 30);  // about a second; sanitizers are slower, quadratic would be hours
}

TEST(UnicodeTables, RangesAreSortedDisjointAndNotOther) {
  char32_t next = 0;
  for (const CharRange& range : char_ranges()) {
    EXPECT_LE(next, range.first);
    EXPECT_LE(range.first, range.last);
    EXPECT_NE(range.kind, CharClass::other);
    next = range.last + 1;
  }
  EXPECT_LE(next, 0x110000u);
}

TEST(UnicodeTables, KnownCharacters) {
  EXPECT_EQ(char_class('a'), CharClass::letter);
  EXPECT_EQ(char_class(0x4E16), CharClass::letter);   // in a First..Last range of UnicodeData.txt
  EXPECT_EQ(char_class(0x2A6DF), CharClass::letter);  // the end of one
  EXPECT_EQ(char_class(0x2A6E0), CharClass::other);
  EXPECT_EQ(char_class(0x2160), CharClass::number);  // roman numeral one, Nl
  EXPECT_EQ(char_class(0xBD), CharClass::number);    // one half, No
  EXPECT_EQ(char_class(0x3000), CharClass::space);
  EXPECT_EQ(char_class(0x200B), CharClass::other);  // zero width space is no White_Space
  EXPECT_EQ(char_class(0x1C), CharClass::other);
  EXPECT_EQ(char_class(0x301), CharClass::other);
  EXPECT_EQ(char_class(0xFFFFFFFF), CharClass::other);
  EXPECT_STREQ(unicode_version(), "15.0.0");
}

}  // namespace
