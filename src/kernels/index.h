// The kernel index of the targets whose kernels are C++ functions. A row says family, name and when it applies; rows
// of one family stand in order of preference.
#pragma once
#include <span>
#include <string_view>

#include "runtime/backend.h"

namespace tenon {

// All rows of a target ("cpu", "host"); empty for any other name.
std::span<const NativeKernel> native_kernels(const char* target);

// The first row of that target whose family is the description's and that applies to it, or null; `plain` skips the
// tuned rows.
const NativeKernel* find_native_kernel(std::string_view target, const KernelDesc& desc,
                                       KernelChoice choice = KernelChoice::best);

}  // namespace tenon
