// The subcommands: each adds itself to the command line and says what runs when it is chosen.
#pragma once
#include <CLI/App.hpp>
#include <functional>

namespace tenon::cli {

using Action = std::function<int()>;  // returns the exit code

void add_run(CLI::App& app, Action& chosen);
void add_score(CLI::App& app, Action& chosen);
void add_tokenize(CLI::App& app, Action& chosen);
void add_plan(CLI::App& app, Action& chosen);
void add_devices(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);
void add_cache(CLI::App& app, Action& chosen);
void add_bench(CLI::App& app, Action& chosen);

constexpr int exit_ok = 0, exit_error = 1, exit_usage = 2, exit_interrupted = 130;

}  // namespace tenon::cli
