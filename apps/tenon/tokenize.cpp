// tenon tokenize: text to token ids and back, a JSON value a line.
#include <CLI/Option.hpp>
#include <cstdio>
#include <iostream>
#include <memory>

#include "commands.h"
#include "model_options.h"
#include "output.h"

namespace tenon::cli {
namespace {

struct TokenizeOptions {
  ModelOptions model;
  bool no_special = false;
  bool decode = false;
};

[[noreturn]] void refuse(int64_t line, const std::string& what, bool decode) {
  throw Error(ErrorCode::format, "standard input, line " + std::to_string(line) + ": " + what + "; " +
                                     (decode ? "a JSON array of token ids, such as [1, 22, 333], is needed on each line"
                                             : "a JSON string in UTF-8, such as \"a text\", is needed on each line"));
}

Json encoded(const llm::Tokenizer& t, const Json& in, int64_t line, const TokenizeOptions& o) {
  if (!in.is_string()) refuse(line, "is not a string", false);
  return t.encode(in.get<std::string>(), !o.no_special);
}

Json decoded(const llm::Tokenizer& t, const Json& in, int64_t line) {
  if (!in.is_array()) refuse(line, "is not an array", true);
  std::vector<int32_t> ids;
  for (const Json& id : in) {
    if (!id.is_number_integer() || id < 0 || id > INT32_MAX) refuse(line, "holds a value that is no token id", true);
    ids.push_back(id.get<int32_t>());
  }
  return t.decode(ids);
}

int tokenize(const TokenizeOptions& o) {
  const llm::Tokenizer tokenizer = llm::Tokenizer::load(o.model.path);
  int64_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    ++number;
    const Json in = Json::parse(line, nullptr, false);
    if (in.is_discarded()) refuse(number, "is not JSON", o.decode);
    write_output(to_line(o.decode ? decoded(tokenizer, in, number) : encoded(tokenizer, in, number, o)));
    flush_output();
  }
  return exit_ok;
}

}  // namespace

void add_tokenize(CLI::App& app, Action& chosen) {
  auto o = std::make_shared<TokenizeOptions>();
  CLI::App& c = *app.add_subcommand("tokenize", "Turn text into a model's token ids, and back");
  add_model_path(c, o->model);
  c.add_flag("--no-special", o->no_special, "Special tokens spelled out in the text stay text");
  c.add_flag("--decode", o->decode, "Ids in, text out");
  c.footer("Reads standard input: a JSON string on each line, and prints an array of ids for each; with --decode the other\n"
           "way round (bytes that are no UTF-8 become U+FFFD). The text begins with the model's bos if the model asks for it.\n\n"
           "  echo '\"Hello world\"' | tenon tokenize model.gguf\n"
           "  echo '[19556, 905]' | tenon tokenize model.gguf --decode");
  c.callback([&chosen, o] { chosen = [o] { return tokenize(*o); }; });
}

}  // namespace tenon::cli
