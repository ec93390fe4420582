// out[m,n] = sum over k of x[m,k] * w[n,k] with quantised w: each weight turned into f32, products summed in the order
// of k, in double, and rounded once to f32. One group is one row of x. No code is shared with the tuned kernels.
#include "kernels/quant_matmul/quant_matmul_plain.cpu.h"

#include "kernels/region/plain.cpu.h"
#include "kernels/scalar/plain.cpu.h"

namespace tenon::cpu {
namespace {

Grid grid(const KernelDesc& desc, const Params& params) {
  const QuantMatmulParams& p = params.quant_matmul;
  return {p.n == 0 ? 0 : int64_t(p.m), PlainProgram::scratch_bytes(desc)};
}

void run(const KernelArgs& args, int64_t group, std::byte* scratch) {
  const QuantMatmulParams& p = args.params->quant_matmul;
  const DType x_type = args.desc->operands[0].dtype, w_type = args.desc->operands[1].dtype;
  PlainProgram epilogue(args, scratch);
  for (int64_t j = 0; j < p.n; ++j) {
    double sum = 0;
    for (int64_t k = 0; k < p.k; ++k)
      sum += double(plain_float(x_type, args.buffers[0], group * p.x_row + k)) *
             double(plain_float(w_type, args.buffers[1], j * p.k + k));
    epilogue.element(group * p.n + j, float(sum));
  }
}

bool applies(const KernelDesc& desc) {
  return desc.anchor_operands == 2 && is_float(desc.operands[0].dtype) && is_quantised(desc.operands[1].dtype);
}

}  // namespace

const NativeKernel quant_matmul_plain_kernel{"quant_matmul", "quant_matmul_plain", applies, grid, nullptr, run, true};

}  // namespace tenon::cpu
