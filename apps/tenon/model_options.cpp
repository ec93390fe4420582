#include "model_options.h"

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <cstdio>
#include <unistd.h>

namespace tenon::cli {
namespace {

// A bar of one line that is gone when loading is done; only for people.
struct Progress {
  int64_t shown = -1;
  bool on = ::isatty(STDERR_FILENO) == 1;
  void operator()(int64_t done, int64_t total) {
    const int64_t percent = total > 0 ? done * 100 / total : 100;
    if (!on || percent == shown) return;
    shown = percent;
    std::fprintf(stderr, "\rloading %lld %%", static_cast<long long>(percent));
    std::fflush(stderr);
  }
  void clear() const {
    if (on && shown >= 0) std::fprintf(stderr, "\r\033[K");
  }
};

}  // namespace

llm::LoadOptions ModelOptions::load_options() const {
  llm::LoadOptions o;
  o.context = context;
  o.kv_dtype = kv == "f32" ? DType::f32 : DType::f16;
  return o;
}

Device ModelOptions::open_device() const {
  if (threads == 0) return device.empty() ? Device::default_device() : Device::open(device);
  return Device::open(device.empty() ? Device::default_device().name() : device, threads);
}

llm::Model ModelOptions::load() const {
  Progress progress;
  llm::LoadOptions o = load_options();
  o.on_progress = [&](int64_t done, int64_t total) { progress(done, total); };
  try {
    llm::Model model = llm::Model::load(path, open_device(), o);
    progress.clear();
    return model;
  } catch (...) {
    progress.clear();
    throw;
  }
}

void add_model_path(CLI::App& command, ModelOptions& o) { command.add_option("MODEL", o.path, "A GGUF file")->required(); }

void add_device_option(CLI::App& command, ModelOptions& o) {
  command.add_option("--device", o.device, "Where to run; `tenon devices` lists them. Default: TENON_DEVICE, or the best there is")
      ->type_name("NAME");
}

void add_model_options(CLI::App& command, ModelOptions& o) {
  add_model_path(command, o);
  add_device_option(command, o);
  command.add_option("--threads", o.threads, "Threads of the processor (default: all that this process may use)")
      ->check(CLI::Range(1, 4096))->type_name("N");
  command.add_option("--ctx", o.context, "Most tokens of prompt and answer together (default: the model's, at most 4096)")
      ->check(CLI::Range(int64_t(2), int64_t(INT32_MAX)))->type_name("N");
  command.add_option("--kv", o.kv, "Type of the stored keys and values: f16 or f32")
      ->check(CLI::IsMember({"f16", "f32"}))->capture_default_str()->type_name("T");
}

}  // namespace tenon::cli
