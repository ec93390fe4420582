// Row of the kernel index: matmul on the reference device.
#pragma once
#include "runtime/kernel.h"

namespace tenon::host {
extern const NativeKernel matmul_kernel;
}
