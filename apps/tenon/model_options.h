// Options that several subcommands share.
#pragma once
#include <CLI/App.hpp>
#include <string>

#include "tenon/tenon.h"

namespace tenon::cli {

struct ModelOptions {
  std::string path;
  int64_t context = 0;
  std::string kv = "f16";
  std::string device;
  int threads = 0;

  llm::LoadOptions load_options() const;
  Device open_device() const;  // the default one when none was named
  llm::Model load() const;     // shows progress on a terminal
};

// MODEL, --device, --threads, --ctx, --kv.
void add_model_options(CLI::App& command, ModelOptions& o);
// MODEL alone.
void add_model_path(CLI::App& command, ModelOptions& o);
void add_device_option(CLI::App& command, ModelOptions& o);

}  // namespace tenon::cli
