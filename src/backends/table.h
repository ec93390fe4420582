// Every backend: one row each.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.h"

namespace tenon {

struct BackendRow {
  const char* family;                  // "cpu"; alone it means the first of the names
  std::vector<std::string> (*names)(); // full names that Device::open takes; at least one
  // Empty when it can be opened, otherwise why not.
  std::string (*unavailable)(const std::string& name);
  std::unique_ptr<Backend> (*open)(const std::string& name, int threads);
};

// In the order of preference.
const std::vector<BackendRow>& backend_table();

}  // namespace tenon
