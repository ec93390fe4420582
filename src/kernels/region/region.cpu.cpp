// The map and row kernels of the CPU: no compiler at run time, a prepared program run block by block.
#include <algorithm>
#include <cstring>

#include "kernels/region/epilogue.cpu.h"
#include "kernels/region/prologue.cpu.h"
#include "kernels/region/region.cpu.h"
#include "kernels/region/run.cpu.h"

namespace tenon::cpu {
namespace {

// Elements of one group: enough to hide the cost of handing it out, little enough to share among threads. It depends
// on nothing but the shape, so results do not depend on the number of threads.
constexpr int64_t group_elements = 8 * block_lanes;

int64_t axes_product(const RegionParams& p, int begin, int end) {
  int64_t n = 1;
  for (int a = begin; a < end; ++a) n *= p.dims[a];
  return n;
}

// The prepared form keeps its own copy of the description that its program points to.
struct Prepared {
  KernelDesc desc, row;  // `row`: the prologue as a row region
  std::shared_ptr<const Program> program, prologue;
};

// The prologue's operands, then the row that it makes.
KernelDesc prologue_row(const KernelDesc& desc) {
  KernelDesc row;
  row.family = "row";
  row.outer_rank = row.inner_rank = 1;
  row.operands.assign(desc.operands.begin() + (desc.anchor_operands - desc.prologue_operands), desc.operands.begin() + desc.anchor_operands);
  Operand made;
  made.access = Access::out;
  made.dtype = desc.operands[0].dtype;
  made.stride_class = {2, 1};
  row.operands.push_back(made);
  row.program = desc.prologue;
  return row;
}

std::shared_ptr<const void> prepare(const KernelDesc& desc) {
  auto p = std::make_shared<Prepared>();
  p->desc = desc;
  p->program = make_program(p->desc);
  if (desc.prologue.empty()) return p;
  p->row = prologue_row(desc);
  p->prologue = make_program(p->row);
  return p;
}

const Program& program_of(const KernelArgs& args) { return *static_cast<const Prepared*>(args.prepared)->program; }

int64_t scratch_bytes(const KernelDesc& desc, int64_t inner) { return program_scratch_bytes(*make_program(desc), inner); }

Grid map_grid(const KernelDesc& d, const Params& p) {
  const int64_t n = axes_product(p.region, 0, d.outer_rank);
  return {(n + group_elements - 1) / group_elements, scratch_bytes(d, 0)};
}

void run_map(const KernelArgs& args, int64_t group, std::byte* scratch) {
  const int64_t n = axes_product(args.params->region, 0, args.desc->outer_rank);
  const int64_t start = group * group_elements;
  Runner(program_of(args), args, 0, scratch).map(start, std::min(group_elements, n - start), nullptr);
}

int64_t rows_per_group(int64_t inner) { return std::max<int64_t>(1, group_elements / std::max<int64_t>(inner, 1)); }

Grid row_grid(const KernelDesc& d, const Params& p) {
  const int64_t rows = axes_product(p.region, 0, d.outer_rank);
  const int64_t inner = axes_product(p.region, d.outer_rank, d.outer_rank + d.inner_rank);
  const int64_t each = rows_per_group(inner);
  return {(rows + each - 1) / each, scratch_bytes(d, inner)};
}

void run_row(const KernelArgs& args, int64_t group, std::byte* scratch) {
  const KernelDesc& d = *args.desc;
  const int64_t rows = axes_product(args.params->region, 0, d.outer_rank);
  const int64_t inner = axes_product(args.params->region, d.outer_rank, d.outer_rank + d.inner_rank);
  const int64_t each = rows_per_group(inner), end = std::min(rows, (group + 1) * each);
  Runner runner(program_of(args), args, inner, scratch);
  for (int64_t row = group * each; row < end; ++row) runner.row(row);
}

bool always(const KernelDesc&) { return true; }

}  // namespace

const NativeKernel map_kernel{"map", "", always, map_grid, prepare, run_map};
const NativeKernel row_kernel{"row", "", always, row_grid, prepare, run_row};

std::shared_ptr<const void> prepare_epilogue(const KernelDesc& desc) { return prepare(desc); }

// Kernels ask for this in every group: a bound (a register for each instruction), not the prepared program's own figure.
int64_t epilogue_scratch_bytes(const KernelDesc& desc) {
  const int64_t instructions = int64_t(desc.program.size());
  return instructions * (8 * block_lanes + 128) + 128;
}

// Likewise, and a row for each value that may be kept.
int64_t prologue_scratch_bytes(const KernelDesc& desc, int64_t k) {
  const int64_t instructions = int64_t(desc.prologue.size());
  return instructions == 0 ? 0 : instructions * (8 * (block_lanes + k + 16) + 128) + 128;
}

void run_prologue(const KernelArgs& args, const PrologueParams& p, int64_t first, int64_t rows, int64_t k, std::byte* to, std::byte* scratch) {
  const Prepared& prepared = *static_cast<const Prepared*>(args.prepared);
  const KernelDesc& row = prepared.row;
  const int operands = args.desc->prologue_operands, own = args.desc->anchor_operands - operands;
  Params params;
  params.region.dims[0] = rows;
  params.region.dims[1] = k;
  std::byte* buffers[prologue_max_operands + 1];
  for (int i = 0; i < operands; ++i) {
    const Operand& o = row.operands[size_t(i)];
    params.region.operands[i].strides[0] = p.row_stride[i];
    params.region.operands[i].strides[1] = int64_t(o.stride_class[1]);  // dense, or one value
    buffers[i] = args.buffers[own - 1 + i] + first * int64_t(p.row_stride[i]) * block_bytes(o.dtype);
  }
  params.region.operands[operands].strides[0] = k;
  params.region.operands[operands].strides[1] = 1;
  buffers[operands] = to;
  for (int i = 0; i < prologue_max_scalars; ++i) params.region.scalar_slots[i] = p.scalar_slots[i];
  const KernelArgs own_args{&row, nullptr, buffers, &params, args.scalars};
  Runner runner(*prepared.prologue, own_args, k, scratch);
  for (int64_t i = 0; i < rows; ++i) runner.row(i);
}

namespace {

template <class F>
void run_on(const KernelArgs& args, int64_t start, int64_t n, F* acc, std::byte* scratch) {
  const Program& p = program_of(args);
  const RegionParams& region = args.params->region;
  if (p.plain_store && args.desc->outer_rank <= 1 && int64_t(region.operands[0].strides[0]) <= 1) {
    const int buffer = p.buffer_of[size_t(args.desc->anchor_operands)];
    std::memcpy(reinterpret_cast<F*>(args.buffers[buffer]) + int64_t(region.operands[0].base) + start, acc, size_t(n) * sizeof(F));
    return;
  }
  Runner(p, args, 0, scratch).map(start, n, reinterpret_cast<const uint32_t*>(acc));
}

}  // namespace

void run_epilogue(const KernelArgs& args, int64_t start, int64_t n, float* acc, std::byte* scratch) {
  run_on(args, start, n, acc, scratch);
}
void run_epilogue(const KernelArgs& args, int64_t start, int64_t n, double* acc, std::byte* scratch) {
  run_on(args, start, n, acc, scratch);
}

}  // namespace tenon::cpu
