// Puts a kernel's text together: what it needs of the prelude, then its own code.
#pragma once
#include <string>
#include <vector>

#include "codegen/codegen.h"

namespace tenon::codegen {

// `code` stands in namespace tenon::gpu.
Source finished(const KernelDesc& desc, const std::string& code, std::vector<Phase> phases, bool scratch);

}  // namespace tenon::codegen
