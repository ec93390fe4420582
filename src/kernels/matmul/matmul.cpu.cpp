// out[b,m,n] = sum over k of a[b,m,k] * b[b,k,n], accumulated in f32 by one chain of multiply-adds in the order of k
// (a matrix times a vector along dense rows: lanes, summed at the end). Each group computes one tile of the output,
// cut by shape alone, so a result depends neither on the threads nor on the other groups.
#include "kernels/matmul/matmul.cpu.h"

#include <algorithm>
#include <utility>

#include "base/cpu_features.h"
#include "kernels/matmul/matmul_loops.cpu.h"
#include "kernels/matmul/scratch.cpu.h"
#include "kernels/region/epilogue.cpu.h"
#include "kernels/region/prologue.cpu.h"

namespace tenon::cpu {
namespace {

constexpr int64_t k_block = 256;          // of the blocked way: a panel of b then fits the first-level cache
constexpr int64_t vector_k_block = 2048;  // of the matrix-vector ways
constexpr int64_t max_vectors = 4;        // up to so many rows of a, nothing is packed

struct Factor {
  DType dtype;
  const std::byte* data;
  int64_t batch[3];
  int64_t outer, inner;  // strides: a's rows and k; b's columns and k
  const std::byte* at(int64_t element) const { return data + element * block_bytes(dtype); }
};

enum class Way { blocked, dots, axpys };

struct Problem {
  int64_t m, n, k, batches;
  int64_t batch[3];
  Factor a, b;
  Way way;
  int64_t tile_m, tile_n, tiles_m, tiles_n;
  int64_t groups() const { return batches * tiles_m * tiles_n; }
};

// The largest tiles that still make enough groups to go round; large tiles pack each factor less often.
void cut_tiles(Problem& p) {
  const auto set = [&](int64_t tile_m, int64_t tile_n) {
    p.tile_m = tile_m;
    p.tile_n = tile_n;
    p.tiles_m = (p.m + tile_m - 1) / tile_m;
    p.tiles_n = (p.n + tile_n - 1) / tile_n;
    return p.groups() >= 24;
  };
  if (p.way == Way::axpys) {
    set(max_vectors, p.n <= 8192 ? 128 : 512);
  } else if (p.way == Way::dots) {
    set(max_vectors, std::clamp<int64_t>(round_up(65536 / std::max<int64_t>(p.k, 1), 4), 8, 512));
  } else {
    set(3 * common_mr, 384) || set(2 * common_mr, 256) || set(common_mr, 128);
  }
}

Problem problem_of(const KernelDesc& desc, const MatmulParams& p) {
  Problem r{};
  r.m = p.m, r.n = p.n, r.k = p.k;
  const bool made = !desc.prologue.empty();  // a group's own rows of a, one after the other
  r.a = {desc.operands[0].dtype, nullptr, {}, made ? p.k : p.a_row, made ? I64(1) : p.a_col};
  r.b = {desc.operands[1].dtype, nullptr, {}, p.b_col, p.b_row};
  r.batches = 1;
  for (int i = 0; i < 3; i++) {
    r.batch[i] = p.batch[i];
    r.batches *= r.batch[i];
    r.a.batch[i] = p.a_batch[i];
    r.b.batch[i] = p.b_batch[i];
  }
  if (r.n == 1 && r.m > 1) {  // a column of results lies in memory like a row: transpose the product
    std::swap(r.m, r.n);
    std::swap(r.a, r.b);
  }
  if (r.m <= max_vectors && r.b.inner == 1)
    r.way = Way::dots;
  else if (r.m <= max_vectors && r.b.outer == 1)
    r.way = Way::axpys;
  else
    r.way = Way::blocked;
  cut_tiles(r);
  return r;
}

struct Scratch {
  float *a, *b, *c;
  std::byte *epilogue, *made, *prologue;
  int64_t bytes, c_row;
  Scratch(const KernelDesc& desc, const Problem& p, const MatmulLoops& loops, std::byte* from) {
    ScratchCutter cut(from);
    const int64_t m = std::min(p.tile_m, p.m), n = std::min(p.tile_n, p.n);
    c_row = round_up(n, loops.nr);
    c = cut.take(m * c_row);
    const int64_t k = std::min(p.k, p.way == Way::blocked ? k_block : vector_k_block);
    a = cut.take(p.way == Way::blocked ? round_up(m, loops.mr) * k + panel_slack : k);
    b = cut.take(p.way == Way::blocked ? c_row * k + panel_slack : 0);
    epilogue = cut.take<std::byte>(epilogue_scratch_bytes(desc));
    made = cut.take<std::byte>(desc.prologue.empty() ? 0 : m * p.k * block_bytes(p.a.dtype));
    prologue = cut.take<std::byte>(prologue_scratch_bytes(desc, p.k));
    bytes = cut.bytes();
  }
};

template <const MatmulLoops& loops>
void blocked(const Problem& p, const Factor& a, const Factor& b, int64_t m, int64_t n, const Scratch& s) {
  int64_t k0 = 0;
  do {
    const int64_t k = std::min(k_block, p.k - k0);
    loops.pack(a.dtype, a.at(k0 * a.inner), a.outer, a.inner, m, k, loops.mr, s.a);
    loops.pack(b.dtype, b.at(k0 * b.inner), b.outer, b.inner, n, k, loops.nr, s.b);
    loops.multiply(m, n, k, s.a, s.b, s.c, s.c_row, k0 > 0);
    k0 += k_block;
  } while (k0 < p.k);
}

template <const MatmulLoops& loops>
void vectors(const Problem& p, const Factor& a, const Factor& b, int64_t m, int64_t n, const Scratch& s) {
  std::fill(s.c, s.c + m * s.c_row, 0.0f);
  for (int64_t k0 = 0; k0 < p.k; k0 += vector_k_block) {
    const int64_t k = std::min(vector_k_block, p.k - k0);
    for (int64_t i = 0; i < m; i++) {
      loops.convert(a.dtype, a.at(i * a.outer + k0 * a.inner), a.inner, k, s.a);
      const std::byte* from = b.at(k0 * b.inner);
      if (p.way == Way::dots)
        loops.dots(b.dtype, from, b.outer, n, s.a, k, s.c + i * s.c_row);
      else
        loops.axpys(b.dtype, from, b.inner, n, s.a, k, s.c + i * s.c_row);
    }
  }
}

template <const MatmulLoops& loops>
void run(const KernelArgs& args, int64_t group, std::byte* scratch) {
  Problem p = problem_of(*args.desc, args.params->matmul);
  const bool swapped = p.m != int64_t(args.params->matmul.m), made = !args.desc->prologue.empty();
  p.a.data = args.buffers[swapped ? 1 : 0];
  p.b.data = args.buffers[swapped || made ? 0 : 1];
  const int64_t tile = group % (p.tiles_m * p.tiles_n), batch = group / (p.tiles_m * p.tiles_n);
  const int64_t m0 = tile / p.tiles_n * p.tile_m, n0 = tile % p.tiles_n * p.tile_n;
  const int64_t m = std::min(p.tile_m, p.m - m0), n = std::min(p.tile_n, p.n - n0);
  int64_t a_at = m0 * p.a.outer, b_at = n0 * p.b.outer;
  for (int64_t i = 2, rest = batch; i >= 0; rest /= p.batch[i], i--) {
    a_at += rest % p.batch[i] * p.a.batch[i];
    b_at += rest % p.batch[i] * p.b.batch[i];
  }
  p.a.data = p.a.at(a_at);
  p.b.data = p.b.at(b_at);

  const Scratch s(*args.desc, p, loops, scratch);
  if (made) run_prologue(args, args.params->matmul.prologue, m0, m, p.k, s.made, s.prologue);
  if (made) p.a.data = s.made;
  p.way == Way::blocked ? blocked<loops>(p, p.a, p.b, m, n, s) : vectors<loops>(p, p.a, p.b, m, n, s);
  for (int64_t i = 0; i < m; i++)
    run_epilogue(args, (batch * p.m + m0 + i) * p.n + n0, n, s.c + i * s.c_row, s.epilogue);
}

template <const MatmulLoops& loops>
Grid grid(const KernelDesc& desc, const Params& params) {
  const Problem p = problem_of(desc, params.matmul);
  return {p.groups(), Scratch(desc, p, loops, nullptr).bytes};
}

template <Isa isa>
bool applies(const KernelDesc& desc) {
  const auto narrow_float = [](DType t) { return is_float(t) && !is_wide(t); };
  return cpu_isa() >= isa && desc.anchor_operands - desc.prologue_operands == 2 && narrow_float(desc.operands[0].dtype) &&
         narrow_float(desc.operands[1].dtype);
}

template <Isa isa, const MatmulLoops& loops>
constexpr NativeKernel row(const char* name) {
  return {"matmul", name, applies<isa>, grid<loops>, prepare_epilogue, run<loops>};
}

}  // namespace

std::span<const NativeKernel> matmul_kernels() {
  static constexpr NativeKernel rows[] = {
#if defined(__x86_64__)
      row<Isa::avx512, matmul_loops_avx512>("matmul_blocked_avx512"),
      row<Isa::avx2, matmul_loops_avx2>("matmul_blocked_avx2"),
#endif
      row<Isa::baseline, matmul_loops_baseline>("matmul_blocked"),
  };
  return rows;
}

}  // namespace tenon::cpu
