// tenon plan: what one step of a model would run, launch by launch.
#include <CLI/Option.hpp>
#include <memory>

#include "commands.h"
#include "model_options.h"
#include "output.h"

namespace tenon::cli {
namespace {

struct PlanOptions {
  ModelOptions model;
  int64_t tokens = 1;
  bool json = false;
};

int plan(const PlanOptions& o) {
  const std::string text = llm::Model::plan(o.model.path, o.model.open_device(), o.tokens, o.json, o.model.load_options());
  write_output(text);
  if (o.json) write_output("\n");
  return exit_ok;
}

}  // namespace

void add_plan(CLI::App& app, Action& chosen) {
  auto o = std::make_shared<PlanOptions>();
  CLI::App& c = *app.add_subcommand("plan", "Print the launches of one decode step or of a prompt chunk, without running them");
  add_model_options(c, o->model);
  c.add_option("--tokens", o->tokens, "Tokens of the step: 1 is a decode step, more a chunk of a prompt")->capture_default_str()->type_name("T");
  c.add_flag("--json", o->json, "Print JSON");
  c.footer("The weights are not read. The null devices plan for limits of their own, and run nothing; null:cuda\n"
           "prints what an NVIDIA H200 would launch, without one.\n\n"
           "  tenon plan model.gguf\n"
           "  tenon plan model.gguf --tokens 64 --device null:webgpu");
  c.callback([&chosen, o] { chosen = [o] { return plan(*o); }; });
}

}  // namespace tenon::cli
