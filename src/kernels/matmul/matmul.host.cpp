// The plainest matmul: each element is one sum in double precision, in the order of k, rounded once when it is stored.
// The epilogue on this device is a store to the last operand, dense.
#include "kernels/matmul/matmul.host.h"

#include <cstring>

#include "core/half.h"

namespace tenon::host {
namespace {

double element(DType dtype, const std::byte* base, int64_t index) {
  if (dtype == DType::f64) {
    double d;
    std::memcpy(&d, base + index * 8, 8);
    return d;
  }
  if (dtype == DType::f32) {
    float f;
    std::memcpy(&f, base + index * 4, 4);
    return double(f);
  }
  uint16_t h;
  std::memcpy(&h, base + index * 2, 2);
  return double(dtype == DType::f16 ? f32_from_f16(h) : f32_from_bf16(h));
}

void put(DType dtype, std::byte* base, int64_t index, double sum) {
  if (dtype == DType::f64) {
    std::memcpy(base + index * 8, &sum, 8);
    return;
  }
  const float f = float(sum);
  if (dtype == DType::f32) {
    std::memcpy(base + index * 4, &f, 4);
    return;
  }
  const uint16_t h = dtype == DType::f16 ? f16_from_f32(f) : bf16_from_f32(f);
  std::memcpy(base + index * 2, &h, 2);
}

// One group is one row of one product.
Grid grid(const KernelDesc&, const Params& params) {
  const MatmulParams& p = params.matmul;
  return {p.n == 0 ? 0 : p.batch[0] * p.batch[1] * p.batch[2] * p.m, 0};
}

void run(const KernelArgs& args, int64_t group, std::byte*) {
  const MatmulParams& p = args.params->matmul;
  const std::vector<Operand>& operands = args.desc->operands;
  const DType a_type = operands[0].dtype, b_type = operands[1].dtype;
  const int64_t base = args.params->region.operands[0].base;
  int64_t a = group % p.m * p.a_row, b = 0;
  for (int64_t i = 2, rest = group / p.m; i >= 0; rest /= p.batch[i], i--) {
    a += rest % p.batch[i] * p.a_batch[i];
    b += rest % p.batch[i] * p.b_batch[i];
  }
  for (int64_t j = 0; j < p.n; j++) {
    double sum = 0;
    for (int64_t k = 0; k < p.k; k++)
      sum += element(a_type, args.buffers[0], a + k * p.a_col) *
             element(b_type, args.buffers[1], b + k * p.b_row + j * p.b_col);
    put(operands.back().dtype, args.buffers[operands.size() - 1], base + group * p.n + j, sum);
  }
}

bool applies(const KernelDesc& desc) {
  return desc.anchor_operands == 2 && is_float(desc.operands[0].dtype) && is_float(desc.operands[1].dtype) &&
         is_float(desc.operands.back().dtype);
}

}  // namespace

const NativeKernel matmul_kernel{"matmul", "matmul_host", applies, grid, nullptr, run};

}  // namespace tenon::host
