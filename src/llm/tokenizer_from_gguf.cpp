#include "llm/tokenizer_from_gguf.h"

#include "base/cat.h"
#include "tenon/error.h"

namespace tenon {
namespace {

// Runs `make` and adds the file to the errors that it throws.
template <class F>
auto naming_file(const Gguf& gguf, F make) {
  try {
    return make();
  } catch (const Error& e) {
    if (!e.context().path.empty()) throw;
    ErrorContext context = e.context();
    context.path = gguf.path();
    throw Error(e.code(), cat(gguf.path(), ": ", e.what()), context);
  }
}

// -1 when missing. Writers store "none" as all ones.
int32_t find_id(const Gguf& gguf, const char* key) {
  const int64_t id = gguf.find_i64(key).value_or(-1);
  if (id == -1 || id == UINT32_MAX) return -1;
  if (id < 0 || id > INT32_MAX) throw Error(ErrorCode::format, cat(key, " is ", id, ", which is no token id"));
  return static_cast<int32_t>(id);
}

std::vector<int32_t> find_types(const Gguf& gguf) {
  const auto types = gguf.find_ints("tokenizer.ggml.token_type");
  if (!types) return {};
  std::vector<int32_t> out;
  for (int64_t type : *types) out.push_back(type < INT32_MIN || type > INT32_MAX ? -1 : static_cast<int32_t>(type));
  return out;
}

void check_supported(const Gguf& gguf) {
  const std::string model = gguf.find_string("tokenizer.ggml.model").value_or("");
  if (model != "gpt2")
    throw Error(ErrorCode::unsupported, cat("tokenizer model '", model,
                                            "' (tokenizer.ggml.model) is not known; known is: gpt2 (byte-level BPE)"));
  if (gguf.find_bool("tokenizer.ggml.add_space_prefix").value_or(false))
    throw Error(ErrorCode::unsupported, "tokenizer.ggml.add_space_prefix is true, which byte-level BPE is not known with; known is: false");
}

TokenizerData read_data(const Gguf& gguf) {
  check_supported(gguf);
  TokenizerData data;
  data.tokens = gguf.strings("tokenizer.ggml.tokens");
  data.token_types = find_types(gguf);
  data.merges = gguf.strings("tokenizer.ggml.merges");
  data.pre = gguf.find_string("tokenizer.ggml.pre").value_or("");
  data.bos_id = find_id(gguf, "tokenizer.ggml.bos_token_id");
  data.eos_id = find_id(gguf, "tokenizer.ggml.eos_token_id");
  data.eot_id = find_id(gguf, "tokenizer.ggml.eot_token_id");
  data.add_bos = gguf.find_bool("tokenizer.ggml.add_bos_token").value_or(false);
  return data;
}

}  // namespace

BpeTokenizer tokenizer_from_gguf(const Gguf& gguf) {
  return naming_file(gguf, [&] { return BpeTokenizer(read_data(gguf)); });
}

ChatTemplate chat_template_from_gguf(const Gguf& gguf) {
  return naming_file(gguf, [&] { return ChatTemplate(gguf.find_string("tokenizer.chat_template").value_or("")); });
}

}  // namespace tenon
