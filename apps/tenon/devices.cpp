// tenon devices: where models can run.
#include <CLI/Option.hpp>
#include <memory>

#include "commands.h"
#include "output.h"
#include "tenon/tenon.h"

namespace tenon::cli {
namespace {

int devices(bool json) {
  Json list = Json::array();
  std::string text;
  for (const DeviceInfo& d : list_devices()) {
    list.push_back({{"name", d.name}, {"description", d.description}, {"available", d.available}, {"reason", d.reason}});
    std::string name = d.name;
    name.resize(std::max<size_t>(name.size(), 12), ' ');
    text += name + "  " + (d.available ? d.description : "not available: " + d.reason) + "\n";
  }
  write_output(json ? to_line(list) : text);
  return exit_ok;
}

}  // namespace

void add_devices(CLI::App& app, Action& chosen) {
  auto json = std::make_shared<bool>(false);
  CLI::App& c = *app.add_subcommand("devices", "List the devices, best first");
  c.add_flag("--json", *json, "Print JSON");
  c.footer("A name from this list goes after --device, or into the variable TENON_DEVICE.");
  c.callback([&chosen, json] { chosen = [json] { return devices(*json); }; });
}

}  // namespace tenon::cli
