// Products of f64 (or of f64 with another float): out[b,m,n] = sum over k of a[b,m,k] * b[b,k,n], in f64.
#pragma once
#include "runtime/kernel.h"

namespace tenon::cpu {
extern const NativeKernel matmul_f64_kernel;
}
