// Modes of lowering in tests: setting one for a while, and finding kernels in the census that a mode must not run.
#pragma once
#include <string>

#include "graph/mode.h"
#include "tenon/device.h"

namespace tenon::modes {

using graph::LowerMode;
inline constexpr LowerMode lower_modes[] = {LowerMode::tuned, LowerMode::generated, LowerMode::composed};
inline const char* name_of(LowerMode m) {
  return m == LowerMode::tuned ? "tuned" : m == LowerMode::generated ? "generated" : "composed";
}

class InLowerMode {
 public:
  explicit InLowerMode(LowerMode mode) : before_(graph::lower_mode()) { graph::set_lower_mode(mode); }
  ~InLowerMode() { graph::set_lower_mode(before_); }
  InLowerMode(const InLowerMode&) = delete;

 private:
  LowerMode before_;
};

// Parameters of suites that run in the modes too: a device, or "cpu_generated", "cpu_composed".
inline std::string device_of(const std::string& parameter) { return parameter.substr(0, parameter.find('_')); }
inline LowerMode mode_of(const std::string& parameter) {
  const size_t at = parameter.find('_');
  return at == std::string::npos ? graph::lower_mode() : graph::lower_mode_from(parameter.c_str() + at + 1);
}

// Kernels that ran since the census was reset and that are not of the mode, one a line. A kernel that stands alone in
// its family (sample) is both tuned and generated. Only the cpu has plain kernels: elsewhere the generated ones stand in
// that place.
inline std::string foreign_kernels(const Device& device, LowerMode mode) {
  std::string out;
  const bool has_plain = device.name() == "cpu";
  for (const auto& [name, launches] : device.census()) {
    if (name.starts_with("sample") && mode != LowerMode::composed) continue;
    const bool plain = name.find("_plain") != std::string::npos;
    const bool region = name.starts_with("map_") || name.starts_with("row_");
    const bool belongs = mode == LowerMode::generated ? plain == has_plain : !plain && (mode == LowerMode::tuned || region);
    if (!belongs) out += name + "\n";
  }
  return out;
}

}  // namespace tenon::modes
