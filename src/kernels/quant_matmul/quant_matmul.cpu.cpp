// out[m,n] = sum over k of x[m,k] * w[n,k] with quantised w and exact activations: weights are turned into f32 in
// registers (few rows of x) or panel by panel (many), never rounded to anything narrower. A group takes a fixed number
// of rows of one weight, cut by shape alone.
#include "kernels/quant_matmul/quant_matmul.cpu.h"

#include <algorithm>

#include "base/cpu_features.h"
#include "kernels/matmul/matmul_loops.cpu.h"
#include "kernels/matmul/scratch.cpu.h"
#include "kernels/quant_matmul/quant_matmul_loops.cpu.h"
#include "kernels/region/epilogue.cpu.h"
#include "kernels/region/prologue.cpu.h"

namespace tenon::cpu {
namespace {

constexpr int64_t panel_blocks = 8;  // along k, of a packed panel
constexpr int64_t max_vectors = 4;   // up to so many rows of x, weights are not unpacked to memory

struct Weight {
  DType type;
  int64_t n, row;  // rows, bytes of one
  int64_t first;   // column of its first result
  int64_t tiles;
};

struct Problem {
  int64_t m, n, blocks;
  DType x_type;
  int64_t x_row;  // bytes
  Weight weights[quant_matmul_max_weights];
  int count;
  int64_t tile_m, tile_n, tiles_m, tiles_n;
  bool vectors() const { return m <= max_vectors; }
};

void find_weights(Problem& r, const KernelDesc& desc, const QuantMatmulParams& p) {
  r.count = desc.anchor_operands - desc.prologue_operands - 1;
  for (int64_t i = 0, first = 0; i < r.count; ++i) {
    Weight& w = r.weights[i];
    w.type = desc.operands[size_t(i) + 1].dtype;
    w.n = i + 1 < r.count ? int64_t(p.rows[i]) : r.n - first;
    w.row = r.blocks * block_bytes(w.type);
    w.first = first;
    first += w.n;
  }
}

Problem problem_of(const KernelDesc& desc, const QuantMatmulParams& p) {
  Problem r{};
  r.m = p.m, r.n = p.n, r.blocks = p.k / quant_block;
  r.x_type = desc.operands[0].dtype;
  r.x_row = (desc.prologue.empty() ? p.x_row : p.k) * block_bytes(r.x_type);
  find_weights(r, desc, p);
  const auto cut = [&](int64_t tile_m, int64_t tile_n) {
    r.tile_m = tile_m, r.tile_n = tile_n;
    r.tiles_m = (r.m + tile_m - 1) / tile_m;
    r.tiles_n = 0;
    for (int i = 0; i < r.count; ++i) r.tiles_n += r.weights[i].tiles = (r.weights[i].n + tile_n - 1) / tile_n;
    return r.tiles_m * r.tiles_n >= 24;
  };
  if (r.vectors())
    cut(max_vectors, std::clamp<int64_t>(round_up(65536 / std::max<int64_t>(p.k, 1), 4), 8, 512));
  else
    cut(3 * common_mr, 128) || cut(2 * common_mr, 96) || cut(common_mr, 64);
  return r;
}

struct Scratch {
  float *c, *x, *w, *sums;
  std::byte *epilogue, *made, *prologue;
  int64_t bytes, c_row;
  Scratch(const KernelDesc& desc, const Problem& p, const MatmulLoops& loops, std::byte* from) {
    ScratchCutter cut(from);
    const int64_t m = std::min(p.tile_m, p.m), n = std::min(p.tile_n, p.n);
    const int64_t k = std::min(p.blocks, p.vectors() ? quant_dot_blocks : panel_blocks) * quant_block;
    c_row = round_up(n, loops.nr);
    c = cut.take(m * c_row);
    x = cut.take(p.vectors() ? m * k : round_up(m, loops.mr) * k + panel_slack);
    w = cut.take(p.vectors() ? 0 : c_row * k);
    sums = cut.take(p.vectors() ? m * quant_dot_blocks : 0);
    epilogue = cut.take<std::byte>(epilogue_scratch_bytes(desc));
    made = cut.take<std::byte>(desc.prologue.empty() ? 0 : m * p.x_row);
    prologue = cut.take<std::byte>(prologue_scratch_bytes(desc, p.blocks * quant_block));
    bytes = cut.bytes();
  }
};

void block_sums(const float* x, int64_t blocks, float* sums) {
  std::fill(sums, sums + quant_dot_blocks, 0.0f);
  for (int64_t b = 0; b < blocks; b++, x += quant_block) {
    float part[8] = {};
    for (int64_t i = 0; i < quant_block; i++) part[i % 8] += x[i];
    sums[b] = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
  }
}

// A few rows of w at a time meet all rows of x, so that w comes from memory once.
template <const MatmulLoops& loops, const QuantMatmulLoops& quant>
void vectors(const Problem& p, const std::byte* x, const Weight& weight, const std::byte* w, int64_t m, int64_t n, const Scratch& s) {
  std::fill(s.c, s.c + m * s.c_row, 0.0f);
  for (int64_t b0 = 0; b0 < p.blocks; b0 += quant_dot_blocks) {
    const int64_t blocks = std::min(quant_dot_blocks, p.blocks - b0), k = blocks * quant_block;
    const std::byte* x_from = x + b0 * quant_block * block_bytes(p.x_type);
    const std::byte* w_from = w + b0 * block_bytes(weight.type);
    for (int64_t i = 0; i < m; i++) {
      loops.convert(p.x_type, x_from + i * p.x_row, 1, k, s.x + i * k);
      block_sums(s.x + i * k, blocks, s.sums + i * quant_dot_blocks);
    }
    const int64_t step = m == 1 ? n : 8;
    for (int64_t j = 0; j < n; j += step)
      for (int64_t i = 0; i < m; i++)
        quant.dots(weight.type, w_from + j * weight.row, weight.row, std::min(step, n - j), s.x + i * k,
                   s.sums + i * quant_dot_blocks, blocks, s.c + i * s.c_row + j);
  }
}

template <const MatmulLoops& loops, const QuantMatmulLoops& quant>
void blocked(const Problem& p, const std::byte* x, const Weight& weight, const std::byte* w, int64_t m, int64_t n, const Scratch& s) {
  int64_t b0 = 0;
  do {
    const int64_t blocks = std::min(panel_blocks, p.blocks - b0), k = blocks * quant_block;
    loops.pack(p.x_type, x + b0 * quant_block * block_bytes(p.x_type), p.x_row / block_bytes(p.x_type), 1, m, k,
               loops.mr, s.x);
    quant.pack(weight.type, w + b0 * block_bytes(weight.type), weight.row, n, blocks, loops.nr, s.w);
    loops.multiply(m, n, k, s.x, s.w, s.c, s.c_row, b0 > 0);
    b0 += panel_blocks;
  } while (b0 < p.blocks);
}

template <const MatmulLoops& loops, const QuantMatmulLoops& quant>
void run(const KernelArgs& args, int64_t group, std::byte* scratch) {
  const Problem p = problem_of(*args.desc, args.params->quant_matmul);
  int64_t tile = group % p.tiles_n;
  int number = 0;
  while (tile >= p.weights[number].tiles) tile -= p.weights[number++].tiles;
  const Weight& weight = p.weights[number];
  const int64_t m0 = group / p.tiles_n * p.tile_m, n0 = tile * p.tile_n;
  const int64_t m = std::min(p.tile_m, p.m - m0), n = std::min(p.tile_n, weight.n - n0);
  const Scratch s(*args.desc, p, loops, scratch);
  const bool made = !args.desc->prologue.empty();
  if (made) run_prologue(args, args.params->quant_matmul.prologue, m0, m, p.blocks * quant_block, s.made, s.prologue);
  const std::byte* x = made ? s.made : args.buffers[0] + m0 * p.x_row;
  const std::byte* w = args.buffers[number + (made ? 0 : 1)] + n0 * weight.row;
  p.vectors() ? vectors<loops, quant>(p, x, weight, w, m, n, s) : blocked<loops, quant>(p, x, weight, w, m, n, s);
  for (int64_t i = 0; i < m; i++)
    run_epilogue(args, (m0 + i) * p.n + weight.first + n0, n, s.c + i * s.c_row, s.epilogue);
}

template <const MatmulLoops& loops>
Grid grid(const KernelDesc& desc, const Params& params) {
  const Problem p = problem_of(desc, params.quant_matmul);
  return {p.tiles_m * p.tiles_n, Scratch(desc, p, loops, nullptr).bytes};
}

template <Isa isa>
bool applies(const KernelDesc& desc) {
  const auto has_loops = [](DType t) { return t == DType::q8_0 || t == DType::q4_0 || t == DType::q4_1; };
  const int own = desc.anchor_operands - desc.prologue_operands;
  if (cpu_isa() < isa || own < 2 || own > 1 + quant_matmul_max_weights || !is_float(desc.operands[0].dtype)) return false;
  for (int i = 1; i < own; ++i)
    if (!has_loops(desc.operands[size_t(i)].dtype)) return false;
  return true;
}

template <Isa isa, const MatmulLoops& loops, const QuantMatmulLoops& quant>
constexpr NativeKernel row(const char* name) {
  return {"quant_matmul", name, applies<isa>, grid<loops>, prepare_epilogue, run<loops, quant>};
}

}  // namespace

std::span<const NativeKernel> quant_matmul_kernels() {
  static constexpr NativeKernel rows[] = {
#if defined(__x86_64__)
      row<Isa::avx512, matmul_loops_avx512, quant_matmul_loops_avx512>("quant_matmul_avx512"),
      row<Isa::avx2, matmul_loops_avx2, quant_matmul_loops_avx2>("quant_matmul_avx2"),
#endif
      row<Isa::baseline, matmul_loops_baseline, quant_matmul_loops_baseline>("quant_matmul"),
  };
  return rows;
}

}  // namespace tenon::cpu
