// Generates text with an installed Tenon: uses_tenon MODEL.gguf
#include <cstdio>
#include <tenon/tenon.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    auto model = tenon::llm::Model::load(argv[1]);
    tenon::llm::GenerateOptions options;
    options.max_tokens = 16;
    const auto answer = model.generate("What is the capital of France?", options, [](std::string_view piece) {
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      return true;
    });
    std::printf("\n");
    return answer.text.find("Paris") == std::string::npos;
  } catch (const tenon::Error& error) {
    std::fprintf(stderr, "%s: %s\n", tenon::to_string(error.code()), error.what());
    return 1;
  }
}
