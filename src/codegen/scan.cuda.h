// Part of kernels' text: running values along rows. Before it stand Buffers, Element, its unsigned twin Wrapping (of
// integers) and `least`, the smallest value of Element.
//
// Floats are kept in f64 and rounded once per element. What is combined with what depends on the length of a line
// alone. A line, the stretch of a row from one start to the next, is the work of a thread, a warp or a group.

// What has been taken in: none(), of(x), before.then(later), result().
struct FloatSum {
  double value;
  static FloatSum none() { return {0.0}; }
  static FloatSum of(Element x) { return {double(x)}; }
  FloatSum then(const FloatSum& x) const { return {value + x.value}; }
  FloatSum up(int by) const { return {__shfl_up_sync(0xffffffffu, value, by)}; }
  FloatSum from(int lane) const { return {__shfl_sync(0xffffffffu, value, lane)}; }
  Element result() const { return Element(value); }
};

// mantissa * 2^exponent: a stretch of factors may leave the range of f64 where the running product does not.
struct FloatProduct {
  double mantissa;
  int64_t exponent;
  static FloatProduct scaled(double m, int64_t e) {
    constexpr uint64_t field = 0x7ff0000000000000ull;
    if (m == 0.0) return {m, 0};
    const bool subnormal = (__builtin_bit_cast(uint64_t, m) & field) == 0;
    if (subnormal) m *= 0x1p54, e -= 54;
    const uint64_t bits = __builtin_bit_cast(uint64_t, m);
    if ((bits & field) == field) return {m, 0};
    return {__builtin_bit_cast(double, (bits & ~field) | 0x3ff0000000000000ull),
            e + int64_t((bits & field) >> 52) - 1023};
  }
  static FloatProduct none() { return {1.0, 0}; }
  static FloatProduct of(Element x) { return scaled(double(x), 0); }
  FloatProduct then(const FloatProduct& x) const { return scaled(mantissa * x.mantissa, exponent + x.exponent); }
  FloatProduct up(int by) const {
    return {__shfl_up_sync(0xffffffffu, mantissa, by), __shfl_up_sync(0xffffffffu, exponent, by)};
  }
  FloatProduct from(int lane) const {
    return {__shfl_sync(0xffffffffu, mantissa, lane), __shfl_sync(0xffffffffu, exponent, lane)};
  }
  Element result() const {
    const int64_t e = exponent > 4000 ? 4000 : exponent < -4000 ? -4000 : exponent;  // infinite or 0 there
    return Element(ldexp(mantissa, int(e)));
  }
};

struct IntegerSum {
  Element value;
  static IntegerSum none() { return {Element(0)}; }
  static IntegerSum of(Element x) { return {x}; }
  IntegerSum then(const IntegerSum& x) const { return {Element(Wrapping(value) + Wrapping(x.value))}; }
  IntegerSum up(int by) const { return {__shfl_up_sync(0xffffffffu, value, by)}; }
  IntegerSum from(int lane) const { return {__shfl_sync(0xffffffffu, value, lane)}; }
  Element result() const { return value; }
};

struct IntegerProduct {
  Element value;
  static IntegerProduct none() { return {Element(1)}; }
  static IntegerProduct of(Element x) { return {x}; }
  IntegerProduct then(const IntegerProduct& x) const { return {Element(Wrapping(value) * Wrapping(x.value))}; }
  IntegerProduct up(int by) const { return {__shfl_up_sync(0xffffffffu, value, by)}; }
  IntegerProduct from(int lane) const { return {__shfl_sync(0xffffffffu, value, lane)}; }
  Element result() const { return value; }
};

// NaN stays.
struct Largest {
  Element value;
  static Largest none() { return {least}; }
  static Largest of(Element x) { return {x}; }
  Largest then(const Largest& x) const {
    return {value == value && (x.value > value || x.value != x.value) ? x.value : value};
  }
  Largest up(int by) const { return {__shfl_up_sync(0xffffffffu, value, by)}; }
  Largest from(int lane) const { return {__shfl_sync(0xffffffffu, value, lane)}; }
  Element result() const { return value; }
};

// log(scale) + largest. Equal infinities have no difference.
struct LogSumExp {
  double largest, scale;
  static LogSumExp none() { return {-double(infinity), 0.0}; }
  static LogSumExp of(Element x) { return {double(x), 1.0}; }
  LogSumExp then(const LogSumExp& x) const {
    if (largest == x.largest) return {largest, scale + x.scale};
    if (largest > x.largest) return {largest, scale + x.scale * exp(x.largest - largest)};
    if (largest < x.largest) return {x.largest, scale * exp(largest - x.largest) + x.scale};
    return {__builtin_nan(""), 1.0};
  }
  LogSumExp up(int by) const {
    return {__shfl_up_sync(0xffffffffu, largest, by), __shfl_up_sync(0xffffffffu, scale, by)};
  }
  LogSumExp from(int lane) const {
    return {__shfl_sync(0xffffffffu, largest, lane), __shfl_sync(0xffffffffu, scale, lane)};
  }
  Element result() const { return Element(largest + log(scale)); }
};

// ---------------------------------------------------------------------------------------------------------- lines

struct Line {
  const Element* x;
  Element* out;
  int64_t step, count;
};

inline int64_t lines_of(const ScanParams& q) {
  return int64_t(q.outer) * int64_t(q.rows) * round_up_quotient(q.n, q.block);
}

inline Line line_of(const Buffers& B, const ScanParams& q, int64_t number) {
  const int64_t n = q.n, block = q.block;
  const Quotient row = divide(number, round_up_quotient(n, block)), place = divide(row.quotient, q.rows);
  const int64_t start = row.rest * block;
  const int64_t from = place.quotient * int64_t(q.x_outer) + place.rest * int64_t(q.x_row) + start * int64_t(q.x_step);
  return {B.b0 + from, B.b1 + row.quotient * n + start, q.x_step, smaller(block, n - start)};
}

template <class State>
inline void scan_by_thread(const Buffers& B, const ScanParams& q) {
  const int64_t number = group_index() * 256 + threadIdx.x;
  if (number >= lines_of(q)) return;
  const Line l = line_of(B, q, number);
  State running = State::none();
  for (int64_t i = 0; i < l.count; ++i) {
    running = running.then(State::of(l.x[i * l.step]));
    l.out[i] = running.result();
  }
}

// The warps of a group take one line: their number is 1 or 8. `carry` is what stands before the tile that begins at
// `first`; gives what stands behind it. Each thread takes four neighbours.
template <int warps, class State>
inline State scan_tile(const Line& l, int64_t first, int thread, State carry) {
  const int lane = thread & 31, warp = thread / 32;
  const int64_t at = first + thread * 4;
  State running[4], own = State::none();
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (at + e < l.count) own = own.then(State::of(l.x[(at + e) * l.step]));
    running[e] = own;
  }
#pragma unroll
  for (int by = 1; by < 32; by <<= 1) {
    const State before = own.up(by);
    if (lane >= by) own = before.then(own);
  }
  State before = own.up(1), total = own.from(31);
  if (lane == 0) before = State::none();
  if (warps > 1) {
    __shared__ State totals[8];
    if (lane == 31) totals[warp] = own;
    __syncthreads();
    total = State::none();
    for (int w = 0; w < warps; ++w) {
      if (w == warp) before = total.then(before);
      total = total.then(totals[w]);
    }
    __syncthreads();
  }
  before = carry.then(before);
#pragma unroll
  for (int e = 0; e < 4; ++e)
    if (at + e < l.count) l.out[at + e] = before.then(running[e]).result();
  return carry.then(total);
}

template <class State>
inline void scan_by_warp(const Buffers& B, const ScanParams& q) {
  const int64_t number = group_index() * 8 + threadIdx.x / 32;
  if (number >= lines_of(q)) return;
  const Line l = line_of(B, q, number);
  State carry = State::none();
  for (int64_t first = 0; first < l.count; first += 128) carry = scan_tile<1>(l, first, threadIdx.x & 31, carry);
}

template <class State>
inline void scan_by_group(const Buffers& B, const ScanParams& q) {
  if (group_index() >= lines_of(q)) return;
  const Line l = line_of(B, q, group_index());
  State carry = State::none();
  for (int64_t first = 0; first < l.count; first += 1024) carry = scan_tile<8>(l, first, threadIdx.x, carry);
}
