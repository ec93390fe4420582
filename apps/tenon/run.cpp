// tenon run: a prompt in, an answer out.
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <unistd.h>

#include "commands.h"
#include "interrupt.h"
#include "model_options.h"
#include "output.h"

namespace tenon::cli {
namespace {

struct RunOptions {
  ModelOptions model;
  CLI::Option* prompt_given = nullptr;
  std::string prompt, file;
  llm::GenerateOptions generate;
  bool json = false, census = false;
  std::string trace;
};

// In a chat the line end that closes a file or an `echo` is no part of the message; raw prompts stay as they are.
std::string without_line_end(std::string text, bool raw) {
  if (!raw && !text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string read_prompt(const RunOptions& o) {
  if (o.prompt_given->count() > 0) return o.prompt;
  if (!o.file.empty()) return without_line_end(read_file(o.file), o.generate.raw);
  if (::isatty(STDIN_FILENO) == 1) std::fprintf(stderr, "tenon: type the prompt, then Ctrl-D (or give it with -p or -f)\n");
  return without_line_end(read_stdin(), o.generate.raw);
}

double per_second(const llm::Phase& p) { return p.seconds > 0 ? double(p.tokens) / p.seconds : 0; }

Json to_json(const Counters& c) {
  return {{"launches", c.launches}, {"bytes_up", c.bytes_up}, {"bytes_down", c.bytes_down}, {"waits", c.waits},
          {"allocations", c.allocations}, {"plans", c.plans}, {"state_copies", c.state_copies}};
}

Json to_json(const llm::Model& m, const llm::Generation& g) {
  return {{"prompt_ids", g.prompt_ids},
          {"ids", g.ids},
          {"text", g.text},
          {"finish", llm::to_string(g.finish)},
          {"load_s", m.load_phase().seconds},
          {"prefill_tok_s", per_second(g.prefill)},
          {"decode_tok_s", per_second(g.decode)},
          {"peak_bytes", m.device().peak_memory_bytes()},
          {"device", m.device().name()},
          {"counters", {{"load", to_json(m.load_phase().counters)}, {"prefill", to_json(g.prefill.counters)}, {"decode", to_json(g.decode.counters)}}}};
}

void print_statistics(const llm::Model& m, const llm::Generation& g) {
  std::fprintf(stderr, "%s: load %.2f s, prefill %lld tokens at %.1f tok/s, decode %lld tokens at %.1f tok/s, peak %.1f MiB, device %s%s\n",
               m.architecture().c_str(), m.load_phase().seconds, static_cast<long long>(g.prefill.tokens), per_second(g.prefill),
               static_cast<long long>(g.decode.tokens), per_second(g.decode), double(m.device().peak_memory_bytes()) / (1 << 20),
               m.device().name().c_str(), g.finish == llm::Finish::interrupted ? " (interrupted)" : "");
}

// Most launched first.
void print_census(const Device& device) {
  std::vector<std::pair<int64_t, std::string>> rows;
  for (const auto& [name, launches] : device.census()) rows.emplace_back(launches, name);
  std::sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::fprintf(stderr, "%10s  kernel\n", "launches");
  for (const auto& [launches, name] : rows) std::fprintf(stderr, "%10lld  %s\n", static_cast<long long>(launches), name.c_str());
}

int run(RunOptions& o) {
  const std::string prompt = read_prompt(o);
  std::optional<OutputFile> trace;
  if (!o.trace.empty()) {
    trace.emplace(o.trace);
    start_trace();
  }
  llm::Model model = o.model.load();
  o.generate.cancel = &cancel_on_interrupt();
  const auto on_piece = [&](std::string_view piece) {
    write_output(piece);
    flush_output();
    return true;
  };
  const llm::Generation g = o.json ? model.generate(prompt, o.generate) : model.generate(prompt, o.generate, on_piece);
  write_output(o.json ? to_line(to_json(model, g)) : "\n");
  flush_output();
  print_statistics(model, g);
  if (o.census) print_census(model.device());
  if (trace) {
    model.device().synchronize();
    trace->write(stop_trace());
  }
  return g.finish == llm::Finish::interrupted ? exit_interrupted : exit_ok;
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  auto o = std::make_shared<RunOptions>();
  CLI::App& c = *app.add_subcommand("run", "Answer a prompt");
  add_model_options(c, o->model);
  o->prompt_given = c.add_option("-p,--prompt", o->prompt, "The prompt")->type_name("TEXT");
  c.add_option("-f,--file", o->file, "Read the prompt from a file (without -p and -f: from standard input)")
      ->type_name("FILE")->excludes(o->prompt_given);
  c.add_option("-n", o->generate.max_tokens, "Most tokens to generate")->check(CLI::NonNegativeNumber)->capture_default_str()->type_name("N");
  c.add_flag("--raw", o->generate.raw, "Continue the prompt as it is, special tokens recognised; without: it is a message in the chat template");
  c.add_option("--temp", o->generate.temperature, "Temperature; 0 takes the best token each time")
      ->check(CLI::Range(0.0f, 1e6f))->capture_default_str()->type_name("T");
  c.add_option("--top-k", o->generate.top_k, "Draw from the K best tokens; 0: off")->capture_default_str()->type_name("K");
  c.add_option("--top-p", o->generate.top_p, "Draw from the smallest set of best tokens that reaches probability P; 1: off")
      ->check(CLI::Range(1e-9f, 1.0f))->capture_default_str()->type_name("P");
  c.add_option("--min-p", o->generate.min_p, "Draw from tokens of at least P times the best one's probability; 0: off")
      ->check(CLI::Range(0.0f, 1.0f))->capture_default_str()->type_name("P");
  c.add_option("--seed", o->generate.seed, "Of the draws: equal seeds give equal answers")->capture_default_str()->type_name("S");
  c.add_option("--trace", o->trace, "Write what ran when to a file for https://ui.perfetto.dev: host spans and each kernel's time")
      ->type_name("FILE");
  c.add_flag("--census", o->census, "Print how often each kernel was launched, to standard error");
  c.add_flag("--json", o->json, "Print one JSON object instead of the text as it comes");
  c.footer("The answer goes to standard output, a line of statistics to standard error. Ctrl-C ends the answer (exit code\n"
           "130), a second one the program.\n\n"
           "  tenon run model.gguf -p \"What is the capital of France?\"\n"
           "  echo \"Tell me a story.\" | tenon run model.gguf --temp 0.8 --top-p 0.95 --seed 1\n"
           "  tenon run model.gguf --raw -p \"Once upon a time\" -n 50 --json");
  c.callback([&chosen, o] { chosen = [o] { return run(*o); }; });
}

}  // namespace tenon::cli
