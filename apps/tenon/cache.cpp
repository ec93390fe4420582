// tenon cache: the compiled kernels on disk.
#include <CLI/Option.hpp>
#include <memory>

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

}  // namespace

void add_cache(CLI::App& app, Action& chosen) {
  CLI::App& c = *app.add_subcommand("cache", "List or clear the compiled kernels that GPU devices keep on disk");
  c.require_subcommand(1);
  c.footer("They lie in $TENON_KERNEL_CACHE, or else in tenon/kernels in the user's cache folder ($XDG_CACHE_HOME,\n"
           "~/.cache); TENON_KERNEL_CACHE=off keeps none. They are made again when they are missing.");
  auto json = std::make_shared<bool>(false);
  CLI::App& listing = *c.add_subcommand("list", "One line for each kernel");
  listing.add_flag("--json", *json, "Print JSON");
  listing.callback([&chosen, json] { chosen = [json] { return list(*json); }; });
  c.add_subcommand("clear", "Remove them; those that ship with the library stay")->callback([&chosen] { chosen = clear; });
}

}  // namespace tenon::cli
