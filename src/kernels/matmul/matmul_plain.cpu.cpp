// out[b,m,n] = sum over k of a[b,m,k] * b[b,k,n], in the order of k, in double, rounded once (f32; f64 stays). One group is one
// row of one product. No code is shared with the tiled kernels.
#include "kernels/matmul/matmul_plain.cpu.h"

#include "kernels/region/plain.cpu.h"
#include "kernels/scalar/plain.cpu.h"

namespace tenon::cpu {
namespace {

Grid grid(const KernelDesc& desc, const Params& params) {
  const MatmulParams& p = params.matmul;
  return {p.n == 0 ? 0 : p.batch[0] * p.batch[1] * p.batch[2] * p.m, PlainProgram::scratch_bytes(desc)};
}

void run(const KernelArgs& args, int64_t group, std::byte* scratch) {
  const MatmulParams& p = args.params->matmul;
  const DType a_type = args.desc->operands[0].dtype, b_type = args.desc->operands[1].dtype;
  int64_t a = group % p.m * p.a_row, b = 0, batch = group / p.m;
  for (int i = 2; i >= 0; --i) {
    a += batch % p.batch[i] * p.a_batch[i];
    b += batch % p.batch[i] * p.b_batch[i];
    batch /= p.batch[i];
  }
  PlainProgram epilogue(args, scratch);
  for (int64_t j = 0; j < p.n; ++j) {
    double sum = 0;
    for (int64_t k = 0; k < p.k; ++k)
      sum += plain_real(a_type, args.buffers[0], a + k * p.a_col) *
             plain_real(b_type, args.buffers[1], b + k * p.b_row + j * p.b_col);
    epilogue.element(group * p.n + j, sum);
  }
}

bool applies(const KernelDesc& desc) {
  return desc.anchor_operands == 2 && is_float(desc.operands[0].dtype) && is_float(desc.operands[1].dtype);
}

}  // namespace

const NativeKernel matmul_plain_kernel{"matmul", "matmul_plain", applies, grid, nullptr, run, true};

}  // namespace tenon::cpu
