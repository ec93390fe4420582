// One group is a tile of up to 4 rows and 512 columns of one product. A row of b is loaded once for the tile's rows and
// added to their sums, in the order of k: a result depends on the shape alone.
#include "kernels/matmul/matmul_f64.cpu.h"

#include <algorithm>

#include "kernels/region/epilogue.cpu.h"
#include "kernels/scalar/loops.cpu.h"

namespace tenon::cpu {
namespace {

constexpr int64_t tile_m = 4, tile_n = 512;

int64_t tiles(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

bool applies(const KernelDesc& desc) {
  const DType a = desc.operands[0].dtype, b = desc.operands[1].dtype;
  return desc.anchor_operands == 2 && is_float(a) && is_float(b) && (a == DType::f64 || b == DType::f64);
}

Grid grid(const KernelDesc& desc, const Params& params) {
  const MatmulParams& p = params.matmul;
  const int64_t groups = p.batch[0] * p.batch[1] * p.batch[2] * tiles(p.m, tile_m) * tiles(p.n, tile_n);
  return {groups, (tile_m + 2) * tile_n * 8 + epilogue_scratch_bytes(desc)};
}

// `n` elements as f64; `narrow` has room for as many words.
void load(DType dtype, const std::byte* base, int64_t first, int64_t stride, int64_t n, uint32_t* narrow, double* out) {
  static const ScalarLoop widen = scalar_loop(ScalarOp::to_f64, Lane::f32);
  uint32_t* lanes = reinterpret_cast<uint32_t*>(out);
  if (dtype == DType::f64) return load_lanes(dtype, base, first, stride, n, lanes);
  load_lanes(dtype, base, first, stride, n, narrow);
  widen(lanes, &narrow, n);
}

void run(const KernelArgs& args, int64_t group, std::byte* scratch) {
  const MatmulParams& p = args.params->matmul;
  const DType a_type = args.desc->operands[0].dtype, b_type = args.desc->operands[1].dtype;
  const int64_t columns = tiles(p.n, tile_n), rows = tiles(p.m, tile_m);
  const int64_t n0 = group % columns * tile_n, m0 = group / columns % rows * tile_m;
  const int64_t n = std::min(tile_n, int64_t(p.n) - n0), m = std::min(tile_m, int64_t(p.m) - m0);
  int64_t batch = group / columns / rows;
  const int64_t product = batch;
  int64_t a = m0 * p.a_row, b = n0 * p.b_col;
  for (int i = 2; i >= 0; --i) {
    a += batch % p.batch[i] * p.a_batch[i];
    b += batch % p.batch[i] * p.b_batch[i];
    batch /= p.batch[i];
  }
  double* sums = reinterpret_cast<double*>(scratch);
  double* row = sums + tile_m * tile_n;
  uint32_t* narrow = reinterpret_cast<uint32_t*>(row + tile_n);
  std::fill(sums, sums + tile_m * tile_n, 0.0);
  for (int64_t k = 0; k < p.k; ++k) {
    load(b_type, args.buffers[1], b + k * p.b_row, p.b_col, n, narrow, row);
    for (int64_t i = 0; i < m; ++i) {
      double factor;
      load(a_type, args.buffers[0], a + i * p.a_row + k * p.a_col, 1, 1, narrow, &factor);
      double* sum = sums + i * tile_n;
      for (int64_t j = 0; j < n; ++j) sum[j] += factor * row[j];
    }
  }
  for (int64_t i = 0; i < m; ++i)
    run_epilogue(args, (product * p.m + m0 + i) * p.n + n0, n, sums + i * tile_n, reinterpret_cast<std::byte*>(row + 2 * tile_n));
}

}  // namespace

const NativeKernel matmul_f64_kernel{"matmul", "matmul_f64", applies, grid, prepare_epilogue, run};

}  // namespace tenon::cpu
