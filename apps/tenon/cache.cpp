// tenon cache: the compiled kernels on disk.
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <unistd.h>

#include "commands.h"
#include "output.h"
#include "tenon/tenon.h"

namespace tenon::cli {
namespace {

std::string with_unit(int64_t bytes) {
  if (bytes < 10240) return std::to_string(bytes) + " bytes";
  return std::to_string(bytes / 1024) + " KiB";
}

int list(bool json) {
  const auto kernels = list_cached_kernels();
  const std::string folder = kernel_cache_folder();
  Json rows = Json::array();
  std::string text;
  int64_t bytes = 0;
  for (const CachedKernel& k : kernels) {
    bytes += k.bytes;
    rows.push_back({{"name", k.name}, {"architecture", k.architecture}, {"compiler", k.compiler}, {"bytes", k.bytes},
                    {"shipped", k.shipped}, {"path", k.folder + "/" + k.file}});
    text += k.name + "  " + k.architecture + "  " + with_unit(k.bytes) + (k.shipped ? "  shipped" : "") + "\n";
  }
  if (json) {
    write_output(to_line(Json{{"folder", folder}, {"bytes", bytes}, {"kernels", rows}}));
    return exit_ok;
  }
  text += std::to_string(kernels.size()) + (kernels.size() == 1 ? " kernel, " : " kernels, ") + with_unit(bytes) + "; " +
          (folder.empty() ? "new ones are not kept" : "new ones are kept in " + folder) + "\n";
  write_output(text);
  return exit_ok;
}

int clear() {
  const int64_t removed = clear_cached_kernels();
  write_output("removed " + std::to_string(removed) + (removed == 1 ? " kernel" : " kernels") + "\n");
  return exit_ok;
}

struct BuildOptions {
  std::vector<std::string> architectures, models;
  std::string output;
};

// Portable code for all other devices.
std::string portable_architecture() {
  const KernelCompiler c = kernel_compiler();
  if (!c.missing.empty() || c.capabilities.empty()) throw Error(ErrorCode::device, "kernels cannot be made: " + c.missing);
  return "compute_" + std::to_string(c.capabilities[0]);
}

bool is_portable(const std::string& architecture) { return architecture.rfind("compute_", 0) == 0; }

// A line that counts on a terminal; elsewhere one line at each tenth.
struct BuildProgress {
  std::string architecture;
  bool terminal = ::isatty(STDERR_FILENO) == 1;
  int64_t tenth = 0;
  void operator()(int64_t done, int64_t total) {
    if (terminal) {
      std::fprintf(stderr, done == total ? "\r\033[K" : "\r%s: %lld of %lld kernels", architecture.c_str(), static_cast<long long>(done),
                   static_cast<long long>(total));
    } else if (done * 10 / total > tenth) {
      tenth = done * 10 / total;
      std::fprintf(stderr, "%s: %lld of %lld kernels\n", architecture.c_str(), static_cast<long long>(done), static_cast<long long>(total));
    }
    std::fflush(stderr);
  }
};

int build(BuildOptions o) {
  if (o.output.empty()) {
    const std::vector<std::string> folders = shipped_kernel_folders();
    if (folders.empty()) throw Error(ErrorCode::invalid_argument, "it is not known where this program lies; name a folder by --output");
    o.output = folders[0];
  }
  if (std::none_of(o.architectures.begin(), o.architectures.end(), is_portable)) o.architectures.push_back(portable_architecture());
  std::vector<std::unique_ptr<KernelBuild>> builds;  // all names are checked before the work
  for (const std::string& a : o.architectures) builds.push_back(std::make_unique<KernelBuild>(a));
  for (size_t i = 0; i < builds.size(); ++i) {
    plan_every_op(builds[i]->plain_device());
    for (const std::string& model : o.models) llm::Model::plan_all(model, builds[i]->device());
    const KernelBuild::Made made = builds[i]->write(o.output, BuildProgress{o.architectures[i]});
    write_output(o.output + "/" + o.architectures[i] + ": " + std::to_string(made.compiled + made.kept) + " kernels, " + with_unit(made.bytes) +
                 "; " + std::to_string(made.compiled) + " compiled, " + std::to_string(made.kept) + " were there\n");
    flush_output();
  }
  return exit_ok;
}

void add_build(CLI::App& cache, Action& chosen) {
  auto o = std::make_shared<BuildOptions>();
  CLI::App& c = *cache.add_subcommand("build", "Make the kernels that ship with a program; needs the compiler (NVRTC), but no GPU");
  c.add_option("--arch", o->architectures, "Architectures, separated by commas: sm_80,sm_90a. Portable code for all others is added")
      ->required()->delimiter(',')->type_name("LIST");
  c.add_option("--output", o->output, "Where they are written (default: tenon_kernels beside this program)")->type_name("FOLDER");
  c.add_option("--model", o->models, "A GGUF file: its own, faster kernels too; may be given several times")->type_name("FILE")
      ->allow_extra_args(false);
  c.footer("There is one kernel for every op and dtype, so a GPU without NVRTC runs all of them, each op by itself; a model whose\n"
           "kernels were made too runs as fast as with NVRTC. What is in the folder already is not made again.\n\n"
           "  tenon cache build --arch sm_80,sm_90a\n"
           "  tenon cache build --arch sm_90a --output share/tenon/kernels --model model.gguf");
  c.callback([&chosen, o] { chosen = [o] { return build(*o); }; });
}

}  // namespace

void add_cache(CLI::App& app, Action& chosen) {
  CLI::App& c = *app.add_subcommand("cache", "List, clear or make the compiled kernels that GPU devices find on disk");
  c.require_subcommand(1);
  c.footer("They lie in $TENON_KERNEL_CACHE, or else in tenon/kernels in the user's cache folder ($XDG_CACHE_HOME,\n"
           "~/.cache); TENON_KERNEL_CACHE=off keeps none. They are made again when they are missing. Those that ship lie in\n"
           "$TENON_SHIPPED_KERNELS, or else in tenon_kernels or ../share/tenon/kernels beside this program.");
  auto json = std::make_shared<bool>(false);
  CLI::App& listing = *c.add_subcommand("list", "One line for each kernel");
  listing.add_flag("--json", *json, "Print JSON");
  listing.callback([&chosen, json] { chosen = [json] { return list(*json); }; });
  add_build(c, chosen);
  c.add_subcommand("clear", "Remove them; those that ship with the library stay")->callback([&chosen] { chosen = clear; });
}

}  // namespace tenon::cli
