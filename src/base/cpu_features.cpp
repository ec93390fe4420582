#include "base/cpu_features.h"

#include <cstdlib>
#include <string_view>

namespace tenon {
namespace {

Isa detect() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    return Isa::avx2;
#endif
  return Isa::baseline;
}

Isa lowered(Isa found) {
  const char* wish = std::getenv("TENON_CPU");
  const std::string_view name = wish ? wish : "";
  if (name == "baseline") return Isa::baseline;
  if (name == "avx2" && found == Isa::avx512) return Isa::avx2;
  return found;
}

}  // namespace

Isa cpu_isa() {
  static const Isa isa = lowered(detect());
  return isa;
}

const char* to_string(Isa isa) {
  switch (isa) {
    case Isa::baseline: return "baseline";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
  }
  return "unknown";
}
}  // namespace tenon
