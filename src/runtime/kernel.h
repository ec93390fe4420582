// The kernel ABI. A launch is: a kernel's description, ordered views, parameters, a grid.
// A description holds structure only (operations, dtypes, ranks, stride classes); every size is a parameter, so one
// kernel serves all lengths. The same declarations serve every target.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/params.h"
#include "tenon/dtype.h"

namespace tenon {

// ---------------------------------------------------------------------------------------------- scalar program

enum class Lane : uint8_t { f32, i32, u32, f64, i64 };
constexpr bool is_wide(Lane lane) { return lane == Lane::f64 || lane == Lane::i64; }  // 8 bytes; the others have 4
char lane_letter(Lane lane);  // 'f', 'i', 'u', 'd', 'l': as in the table of scalar ops
constexpr bool is_float(Lane lane) { return lane == Lane::f32 || lane == Lane::f64; }

enum class ScalarOp : uint8_t {
#define SCALAR(name, arity, lanes, result) name,
#include "core/scalar.def"
#undef SCALAR
};
#define SCALAR(name, arity, lanes, result) +1
inline constexpr int scalar_op_count = 0
#include "core/scalar.def"
    ;
#undef SCALAR
struct ScalarOpInfo {
  const char* name;
  int arity;
  const char* lanes;
  char result;
};
const ScalarOpInfo& info(ScalarOp op);
Lane result_lane(ScalarOp op, Lane argument);

enum class ReduceOp : uint8_t {
  sum,     // floats: fixed order, in their own precision; integers wrap. Identity 0
  prod,    // likewise. Identity 1
  max,     // NaN wins; identity -inf (floats), the smallest value (integers)
  argmax,  // position within the row (u32) of the first maximum; the first NaN wins
  // Of floats, in one pass: what a softmax and a variance need beside the maximum and the sum. Both are NaN where the
  // row holds NaN or +infinity.
  sum_exp,     // sum of exp(x - max(x)), 0 where the maximum is -infinity (M. Milakov, N. Gimelshein, Online normalizer
               // calculation for softmax, 2018)
  sum_sq_dev,  // sum of (x - mean(x))^2, from means and sums of parts (T. Chan, G. Golub, R. LeVeque, Updating formulae
               // and a pairwise algorithm for computing sample variances, 1979); NaN for -infinity too
};
const char* to_string(ReduceOp op);

// One instruction. Its result is named by its position in the program; arguments are earlier positions.
struct Instr {
  enum class Kind : uint8_t {
    load,         // element of `operand` at the iteration point
    gather,       // the same, plus args[0] (an integer) times the operand's gather stride; out of range: NaN or 0
    index,        // virtual operand: sum of coordinate times stride; its low 32 bits (bits = 0) or high (bits = 1). In an
                  // i64 lane all of it; in a float lane the value of those bits (only canonical launches, as a constant)
    constant,     // `bits`: those of the lane, a 4-byte lane's in the lower half
    scalar,       // run-time scalar number `bits` of this launch; a wide lane's is two words, the lower half first
    accumulator,  // epilogue only: the anchor's f32 result at the iteration point
    op,           // `op` over args
    reduce,       // `reduce` of args[0] over the inner axes: a row value
    store,        // args[0] to `operand`
  };
  Kind kind = Kind::constant;
  Lane lane = Lane::f32;  // of the result; for comparisons and conversions the arguments' lane is in `arg_lane`
  Lane arg_lane = Lane::f32;
  ScalarOp op{};
  ReduceOp reduce{};
  bool row = false;  // does not vary along the inner axes
  uint16_t operand = 0;
  uint64_t bits = 0;
  std::array<uint16_t, 5> args{};
  bool operator==(const Instr&) const = default;
};
// How many of `args` count.
int arg_count(const Instr& instr);

// ------------------------------------------------------------------------------------------------- description

enum class Access : uint8_t { in, out, inout };

struct Operand {
  enum class Kind : uint8_t {
    buffer,
    index,     // has strides but no buffer
    computed,  // an anchor's first operand, made by its prologue
  };
  Kind kind = Kind::buffer;
  Access access = Access::in;
  DType dtype = DType::f32;
  bool gathered = false;  // uses gather_stride and gather_extent
  bool dynamic = false;   // its offset is moved by a run-time scalar
  // Per iteration axis: 0 broadcast, 1 contiguous, 2 any other stride.
  std::array<uint8_t, region_max_rank> stride_class{};
  bool operator==(const Operand&) const = default;
};

struct KernelDesc {
  // "map": elements of an iteration space. "row": outer axes x inner axes, with reductions over the inner ones.
  // Anything else is an anchor whose row in the kernel index has this family; its `program` is the epilogue, over
  // the anchor's output space (all axes outer).
  std::string family;
  int outer_rank = 0;
  int inner_rank = 0;  // row only
  // Anchors: first the anchor's own operands, then those of its prologue, together `anchor_operands` of them; then those
  // of the region.
  int anchor_operands = 0;
  int prologue_operands = 0;
  std::vector<Operand> operands;
  std::vector<Instr> program;
  // Anchors, where not empty: a program over a row of the first operand, which each group computes for itself. It names
  // its operands from 0 on; the one behind them is the row.
  std::vector<Instr> prologue;
  std::vector<int64_t> attributes;  // an anchor's structure; each family documents its own
  bool operator==(const KernelDesc&) const = default;
};
uint64_t hash(const KernelDesc& desc);
// Readable prefix and hash of the description: "row_max_exp_sum_f32_1f3a".
std::string kernel_name(const KernelDesc& desc);

struct Grid {
  int64_t groups = 0;         // independent units of work, cut by shape alone; 0 launches nothing
  int64_t scratch_bytes = 0;  // private to one running group
};

// ------------------------------------------------------------------------------------------- kernels that are code

// What a kernel written in C++ sees. buffers[i] belongs to the i-th buffer operand, its view's offset applied, and
// native_base() too.
struct KernelArgs {
  const KernelDesc* desc;
  const void* prepared;         // what prepare() made from the description, or null
  std::byte* const* buffers;
  const Params* params;
  const uint32_t* scalars;      // the plan's scalar block
};

// Bytes that a device whose kernels take addresses adds to the start of the i-th buffer operand's view: the bases of an anchor's own
// operands, and of its result where there is no program to apply it. Programs apply the bases of their operands themselves.
inline int64_t native_base(const KernelDesc& desc, const Params& params, size_t i) {
  const size_t own = size_t(desc.anchor_operands);
  if (own == 0 || (i >= own && !desc.program.empty())) return 0;
  const int64_t base = i < own ? int64_t(params.anchor_base[i]) : int64_t(params.region.operands[i - own].base);
  return base / block_elements(desc.operands[i].dtype) * block_bytes(desc.operands[i].dtype);
}

// A row of the kernel index for a target whose kernels are C++ functions.
struct NativeKernel {
  const char* family;
  const char* name;                               // for the census: "matmul_blocked_avx512"
  bool (*applies)(const KernelDesc&);
  Grid (*grid)(const KernelDesc&, const Params&);
  std::shared_ptr<const void> (*prepare)(const KernelDesc&);  // null: nothing to prepare
  // Runs one group. Groups run in any order on any thread; the result must not depend on either. Never throws.
  void (*run)(const KernelArgs&, int64_t group, std::byte* scratch);
  bool plain = false;  // shares no code with tuned kernels: the direct loops that TENON_LOWER=generated asks for
};

}  // namespace tenon
