#include "graph/mode.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace tenon::graph {
namespace {

std::atomic<bool>& fusion() {
  static std::atomic<bool> enabled = [] {
    const char* wish = std::getenv("TENON_FUSE");
    return !wish || std::strcmp(wish, "0") != 0;
  }();
  return enabled;
}

}  // namespace

bool fusion_enabled() { return fusion().load(); }
void set_fusion(bool enabled) { fusion().store(enabled); }

}  // namespace tenon::graph
