// Running sums, products, maxima and logarithms of sums: the anchor `scan`, which starts anew every `block` elements of
// a row, and around it the scan of the blocks' totals, so that a long row is the work of many.
#include <limits>

#include "base/check.h"
#include "ops/rows.h"

namespace tenon {

using namespace ops;
using graph::Anchor;
using graph::Node;
using graph::OperandView;

namespace {

constexpr int64_t block_bits = 10, block = int64_t(1) << block_bits;

bool takes(int, const OperandView&) { return true; }
std::vector<int64_t> attributes(const Node& n) { return {n.ints[0]}; }

// ints: {ScanOp, elements from one start to the next}; the latter is a power of two or at least the row's length.
void parameters(const Node& n, std::span<const OperandView> views, std::span<const uint32_t>, Params& out) {
  const RowLayout l = row_layout(views[0]);
  out.scan = {l.outer, l.rows, l.n, n.ints[1], l.outer_stride, l.row_stride, l.step};
}

Tensor identity(ScanOp op, const Tensor& x) {
  if (op == ScanOp::sum) return literal(x, 0);
  if (op == ScanOp::prod) return literal(x, 1);
  return lowest(x);
}

Tensor combine(ScanOp op, const Tensor& before, const Tensor& x) {
  switch (op) {
    case ScanOp::sum: return before + x;
    case ScanOp::prod: return before * x;
    case ScanOp::max: return maximum(before, x);
    default: return logaddexp(before, x);
  }
}

Shape with_last(Shape shape, int64_t size) {
  shape.back() = size;
  return shape;
}

Tensor position(const Tensor& rows) {
  return to_tensor(graph::iota(node_of(rows)->device, DType::u32, {rows.dim(-1)}, 0));
}

// Each element takes in the running value 1, 2, 4, … places before it (Hillis and Steele, 1986). A product of a stretch
// may leave the range of f32 where the running product does not.
NodeRef compose(const Node& n) {
  const ScanOp op = ScanOp(n.ints[0]);
  const int64_t length = n.shape.back(), every = n.ints[1];
  Tensor y = to_tensor(n.inputs[0]);
  for (int64_t d = 1; d < std::min(length, every); d *= 2) {
    const Tensor none = broadcast_to(identity(op, y), with_last(n.shape, d));
    const Tensor next = combine(op, concat({none, slice(y, -1, 0, length - d)}, -1), y);
    if (length <= every) {
      y = next;
      continue;
    }
    const Tensor at = position(y), within = bitwise_and(at, literal(at, double(every - 1)));
    y = where(greater_equal(within, literal(at, double(d))), next, y);
  }
  return node_of(y);
}

const Anchor scan_anchor{"scan", 1, false, takes, attributes, parameters, compose};

// x as to_rows() gives it. Products are not cut into blocks: a block's own product may leave the range of f32 where the
// running product does not.
Tensor scan_rows(ScanOp op, const Tensor& x) {
  const int64_t n = x.dim(-1), every = op == ScanOp::prod ? std::max(n, block) : block;
  const Tensor y = to_tensor(graph::anchor(scan_anchor, x.dtype(), x.shape(), {node_of(x)}, {int64_t(op), every}));
  if (n <= every) return y;
  const Tensor totals = scan_rows(op, slice(y, -1, block - 1, {}, block));
  const Tensor before = concat({broadcast_to(identity(op, x), with_last(x.shape(), 1)), totals}, -1);
  const Tensor at = position(x);
  return combine(op, take(before, bitwise_right_shift(at, literal(at, double(block_bits))), -1), y);
}

Tensor scan(const char* name, ScanOp op, const Tensor& x, int64_t axis) {
  const bool float_only = op == ScanOp::logsumexp;
  if (float_only) require_float(name, x);
  if (!is_float(x.dtype()) && !is_integer(x.dtype())) fail_dtype(name, {&x}, "needs a number; cast() it first");
  const int64_t a = axis_in(name, x, axis, x.rank() == 0);
  const DType t = x.dtype(), wide = t == DType::u8 ? DType::u32 : t == DType::i8 ? DType::i32 : is_float(t) ? real_dtype(t) : t;
  const DType result = is_float(t) || op == ScanOp::max ? t : wide;
  if (x.rank() == 0 || x.size() == 0) return cast(x, result);
  if (x.dim(a) > std::numeric_limits<int32_t>::max())
    throw Error(ErrorCode::unsupported, cat(describe(name, {&x}), ": axis ", a, " is longer than 2^31 - 1"), {.op = name});
  return cast(from_rows(scan_rows(op, to_rows(cast(x, wide), a)), x, a), result);
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t axis) { return scan("cumsum", ScanOp::sum, x, axis); }
Tensor cumprod(const Tensor& x, int64_t axis) { return scan("cumprod", ScanOp::prod, x, axis); }
Tensor cummax(const Tensor& x, int64_t axis) { return scan("cummax", ScanOp::max, x, axis); }
Tensor logcumsumexp(const Tensor& x, int64_t axis) { return scan("logcumsumexp", ScanOp::logsumexp, x, axis); }

}  // namespace tenon
