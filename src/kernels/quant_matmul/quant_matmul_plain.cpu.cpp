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
  const DType x_type = args.desc->operands[0].dtype;
  const int weights = args.desc->anchor_operands - 1;
  PlainProgram epilogue(args, scratch);
  for (int64_t j = 0, first = 0, w = 1; j < p.n; ++j) {
    for (; w < weights && j - first >= p.rows[w - 1]; ++w) first += p.rows[w - 1];  // the weight of this row
    const DType w_type = args.desc->operands[size_t(w)].dtype;
    double sum = 0;
    for (int64_t k = 0; k < p.k; ++k)
      sum += double(plain_float(x_type, args.buffers[0], group * p.x_row + k)) *
             double(plain_float(w_type, args.buffers[w], (j - first) * p.k + k));
    epilogue.element(group * p.n + j, float(sum));
  }
}

bool applies(const KernelDesc& desc) {
  bool quantised = desc.anchor_operands > 1 && desc.anchor_operands <= 1 + quant_matmul_max_weights;
  for (int i = 1; quantised && i < desc.anchor_operands; ++i) quantised = is_quantised(desc.operands[size_t(i)].dtype);
  return quantised && desc.prologue.empty() && is_float(desc.operands[0].dtype);
}

}  // namespace

const NativeKernel quant_matmul_plain_kernel{"quant_matmul", "quant_matmul_plain", applies, grid, nullptr, run, true};

}  // namespace tenon::cpu
