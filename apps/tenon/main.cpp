// tenon: the command line. Exit codes: 0, 1 for errors, 2 for wrong usage, 130 when Ctrl-C ended a generation.
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "commands.h"
#include "output.h"
#include "tenon/tenon.h"

using namespace tenon::cli;

namespace {

int run(const Action& action) {
  try {
    const int code = action();
    flush_output();
    return code;
  } catch (const ClosedPipe&) {
    return exit_error;  // nobody reads any more: there is nobody to tell
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "tenon: error: out of memory; a smaller model or a smaller context (--ctx) would need less\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tenon: error: %s\n", e.what());
  }
  return exit_error;
}

int usage_error(const CLI::App& app, const CLI::ParseError& e) {
  std::fprintf(stderr, "tenon: error: %s\n", e.what());
  const auto chosen = app.get_subcommands();
  std::fprintf(stderr, "Try: tenon %s%s--help\n", chosen.empty() ? "" : chosen[0]->get_name().c_str(), chosen.empty() ? "" : " ");
  return exit_usage;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("Tenon runs language models from GGUF files on whatever this machine has.");
  app.name("tenon");
  app.set_version_flag("--version", "tenon " TENON_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  app.footer("tenon COMMAND --help says more.\n\n"
             "  tenon run model.gguf -p \"What is the capital of France?\"\n"
             "  tenon plan model.gguf");
  Action action;
  add_run(app, action);
  add_score(app, action);
  add_tokenize(app, action);
  add_plan(app, action);
  add_devices(app, action);
  add_doctor(app, action);
  add_cache(app, action);
  add_bench(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion& e) {
    return run([&] { return write_output(std::string(e.what()) + "\n"), exit_ok; });
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return run([&] { return write_output(chosen.empty() ? app.help() : chosen[0]->help("tenon")), exit_ok; });
  } catch (const CLI::CallForAllHelp&) {
    return run([&] { return write_output(app.help("", CLI::AppFormatMode::All)), exit_ok; });
  } catch (const CLI::ParseError& e) {
    return usage_error(app, e);
  }
  return run(action);
}
