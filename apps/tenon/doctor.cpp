// tenon doctor: what was found on this machine, and why the rest was not.
#include <CLI/Option.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

#include "commands.h"
#include "output.h"
#include "tenon/tenon.h"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0 && line.find(':') + 2 < line.size()) return line.substr(line.find(':') + 2);
  struct utsname system;
  return ::uname(&system) == 0 ? system.machine : "unknown";
}

std::string memory() {
  const int64_t page = ::sysconf(_SC_PAGESIZE), pages = ::sysconf(_SC_PHYS_PAGES);
  if (page <= 0 || pages <= 0) return "unknown";
  return std::to_string(page * pages / (1 << 20)) + " MiB";
}

std::string models(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".gguf") continue;
    std::error_code ignored;
    const auto bytes = fs::file_size(it->path(), ignored);
    found.push_back("  " + it->path().string() + (ignored ? "" : " (" + std::to_string(bytes >> 20) + " MiB)") + "\n");
  }
  std::sort(found.begin(), found.end());
  if (error) return "models      no folder " + folder.string() + "/ here; any path to a GGUF file works\n";
  std::string out = "models      " + std::to_string(found.size()) + " in " + folder.string() + "/\n";
  for (const std::string& line : found) out += line;
  return out;
}

std::string devices() {
  std::string out = "devices\n";
  for (const DeviceInfo& d : list_devices())
    out += "  " + d.name + ": " + (d.available ? "found, " + d.description : "not available, " + d.reason) + "\n";
  return out;
}

std::string in_mib(int64_t bytes) { return std::to_string((bytes + (1 << 19)) >> 20) + " MiB"; }

std::string kernels() {
  const KernelCompiler compiler = kernel_compiler();
  std::string out = "kernels\n  compiler: " + (compiler.missing.empty() ? "found, " + compiler.name : "not found, " + compiler.missing) + "\n";
  const auto shipped = list_shipped_kernels();
  for (const ShippedKernels& s : shipped)
    out += "  shipped: " + std::to_string(s.kernels) + " for " + s.architecture + ", " + in_mib(s.bytes) + " in " + s.folder + "\n";
  if (shipped.empty()) {
    std::string folders;
    for (const std::string& folder : shipped_kernel_folders()) folders += (folders.empty() ? "; looked in " : ", ") + folder;
    out += "  shipped: none" + folders + "\n";
  }
  if (kernel_cache_folder().empty()) return out + "  own: new ones are not kept\n";
  int64_t count = 0, bytes = 0;
  for (const CachedKernel& k : list_cached_kernels())
    if (!k.shipped) ++count, bytes += k.bytes;
  return out + "  own: " + std::to_string(count) + ", " + in_mib(bytes) + " in " + kernel_cache_folder() + "\n";
}

std::string default_device() {
  const char* wanted = std::getenv("TENON_DEVICE");
  const std::string why = wanted ? " (from TENON_DEVICE)" : " (the best that was found)";
  try {
    return "default     " + Device::default_device().name() + why + "\n";
  } catch (const Error& e) {
    return std::string("default     none: ") + e.what() + "\n";
  }
}

int doctor() {
  write_output("tenon       " TENON_VERSION "\nprocessor   " + processor() + "\nthreads     " +
               std::to_string(std::max(1u, std::thread::hardware_concurrency())) + "\nmemory      " + memory() + "\n" + devices() +
               kernels() + default_device() + models("models"));
  return exit_ok;
}

}  // namespace

void add_doctor(CLI::App& app, Action& chosen) {
  CLI::App& c = *app.add_subcommand("doctor", "Say what was found on this machine, and why the rest was not");
  c.callback([&chosen] { chosen = doctor; });
}

}  // namespace tenon::cli
