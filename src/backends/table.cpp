#include "backends/table.h"

#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "backends/host/host.h"
#include "backends/null/null.h"

namespace tenon {
namespace {
using Names = std::vector<std::string>;
std::string available(const std::string&) { return {}; }
}  // namespace

const std::vector<BackendRow>& backend_table() {
  static const std::vector<BackendRow> rows = {
      {"cuda", cuda_names, cuda_unavailable, open_cuda},
      {"cpu", [] { return Names{"cpu"}; }, available, open_cpu},
      {"host", [] { return Names{"host"}; }, available, open_host},
      {"null", [] { return Names{"null:roomy", "null:webgpu", "null:tiny", "null:cuda"}; }, available, open_null},
  };
  return rows;
}

}  // namespace tenon
