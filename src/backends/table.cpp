#include "backends/table.h"

#include "backends/cpu/cpu.h"
#include "backends/host/host.h"
#include "backends/null/null.h"

namespace tenon {
namespace {
std::string available() { return {}; }
}  // namespace

const std::vector<BackendRow>& backend_table() {
  static const std::vector<BackendRow> rows = {
      {"cpu", {"cpu"}, available, open_cpu},
      {"host", {"host"}, available, open_host},
      {"null", {"null:roomy", "null:webgpu", "null:tiny"}, available, open_null},
  };
  return rows;
}

}  // namespace tenon
