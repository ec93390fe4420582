// A model file's tokenizer and chat template.
#pragma once
#include "io/gguf.h"
#include "text/bpe_tokenizer.h"
#include "text/chat_template.h"

namespace tenon {

// Reads the keys tokenizer.ggml.*. Throws Error(unsupported) for a tokenizer model other than "gpt2" (byte-level BPE), an
// unknown `pre`, or one that puts a space before texts; Error(format) when keys are missing or contradict each other.
// Both name the file.
BpeTokenizer tokenizer_from_gguf(const Gguf& gguf);

// Reads tokenizer.chat_template. Throws Error(unsupported) if there is none or it is not ChatML.
ChatTemplate chat_template_from_gguf(const Gguf& gguf);

}  // namespace tenon
