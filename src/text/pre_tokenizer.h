// Cutting text into the pieces that byte-level BPE merges within: what a model's `tokenizer.ggml.pre` names. Written by
// hand over Unicode's tables instead of a regex engine: linear in the text's length whatever the text is.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace tenon {

enum class PreTokenizer {
  // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  gpt2,
  // Every \p{N} is a piece of its own; what lies between them is cut as by gpt2, each stretch as if it were a whole text.
  smollm,
  // (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  // Text is taken as it is: the models' own tokenizer.json normalises to NFC first, GGUF engines do not.
  qwen2,
};

// The pre-tokenizer that a GGUF names: "gpt-2", "smollm" or "qwen2". Throws Error(unsupported) for any other name:
// a wrong guess would give valid but worse tokens, and nobody would notice.
PreTokenizer pre_tokenizer_named(std::string_view name);

// End of the piece that begins at byte `begin` (0 <= begin < text.size(), a former piece's end). Never throws.
// Ill-formed UTF-8 is cut as U+FFFD would be in its place (a symbol, neither letter nor space), one for each maximal
// subpart (see read_utf8); its bytes stay in the piece unchanged.
int64_t piece_end(PreTokenizer kind, std::string_view text, int64_t begin);

// All pieces in order; together they are `text`, byte for byte.
std::vector<std::string_view> pre_tokenize(PreTokenizer kind, std::string_view text);

}  // namespace tenon
