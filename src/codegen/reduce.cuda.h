// Part of kernels' text: accumulators of the reductions of src/runtime/kernel.h, and how a team of threads merges them.
// See prelude.cuda.h. An accumulator starts as its identity, takes elements in the order of their positions within a
// thread, and is merged in a fixed order of threads: the result is a function of the row's length alone.

namespace tenon {
namespace gpu {

template <class T> struct Of;
template <> struct Of<float> {
  static float add(float a, float b) { return a + b; }
  static float mul(float a, float b) { return a * b; }
  static float max(float a, float b) { return max_f(a, b); }
  static float exponential(float a) { return exp_f(a); }
  static float lowest() { return -infinity; }
  static bool is_nan(float a) { return a != a; }
};
template <> struct Of<int32_t> {
  static int32_t add(int32_t a, int32_t b) { return add_i(a, b); }
  static int32_t mul(int32_t a, int32_t b) { return mul_i(a, b); }
  static int32_t max(int32_t a, int32_t b) { return max_i(a, b); }
  static int32_t lowest() { return int32_t(0x80000000u); }
  static bool is_nan(int32_t) { return false; }
};
template <> struct Of<uint32_t> {
  static uint32_t add(uint32_t a, uint32_t b) { return a + b; }
  static uint32_t mul(uint32_t a, uint32_t b) { return a * b; }
  static uint32_t max(uint32_t a, uint32_t b) { return max_u(a, b); }
  static uint32_t lowest() { return 0u; }
  static bool is_nan(uint32_t) { return false; }
};
template <> struct Of<double> {
  static double add(double a, double b) { return a + b; }
  static double mul(double a, double b) { return a * b; }
  static double max(double a, double b) {
    const double r = a > b ? a : b;
    const double zero = (__builtin_bit_cast(uint64_t, a) >> 63) != 0 ? b : a;  // +0 of two zeros
    return a != a ? a : a == b ? zero : r;
  }
  static double exponential(double a) { return exp(a); }
  static double lowest() { return -double(infinity); }
  static bool is_nan(double a) { return a != a; }
};
template <> struct Of<int64_t> {
  static int64_t add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
  static int64_t mul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
  static int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
  static int64_t lowest() { return int64_t(0x8000000000000000u); }
  static bool is_nan(int64_t) { return false; }
};

template <class T> struct SumOf {
  T value = T(0);
  void add(T x, int64_t) { value = Of<T>::add(value, x); }
  void merge(const SumOf& later) { value = Of<T>::add(value, later.value); }
  T result() const { return value; }
};
template <class T> struct ProdOf {
  T value = T(1);
  void add(T x, int64_t) { value = Of<T>::mul(value, x); }
  void merge(const ProdOf& later) { value = Of<T>::mul(value, later.value); }
  T result() const { return value; }
};
template <class T> struct MaxOf {
  T value = Of<T>::lowest();
  void add(T x, int64_t) { value = Of<T>::max(value, x); }
  void merge(const MaxOf& later) { value = Of<T>::max(value, later.value); }
  T result() const { return value; }
};
// The position of the first maximum; the first NaN wins. Positions count within the row.
template <class T> struct ArgmaxOf {
  T value = Of<T>::lowest();
  uint32_t position = 0xffffffffu;
  void take(T x, uint32_t at) {
    if (position == 0xffffffffu || wins(x, at)) value = x, position = at;
  }
  bool wins(T x, uint32_t at) const {
    const bool nan = Of<T>::is_nan(x), best_nan = Of<T>::is_nan(value);
    if (nan != best_nan) return nan;
    if (nan || x == value) return at < position;
    return x > value;
  }
  void add(T x, int64_t at) { take(x, uint32_t(at)); }
  void merge(const ArgmaxOf& later) {
    if (later.position != 0xffffffffu) take(later.value, later.position);
  }
  uint32_t result() const { return position == 0xffffffffu ? 0u : position; }
};

// Of exp(x - top), top being the maximum so far. A NaN and +infinity, which have no difference to themselves, stay.
template <class T> struct SumExpOf {
  T top = Of<T>::lowest(), sum = T(0);
  void add(T x, int64_t) {
    if (x == Of<T>::lowest()) return;
    const bool rises = x > top;
    const T e = Of<T>::exponential(rises ? top - x : x - top);
    sum = (rises ? sum * e + T(1) : sum + e) + (x - x);
    top = rises ? x : top;
  }
  // The elements' exponentials do not wait for each other.
  template <int W>
  void add_chunk(const T (&x)[W], int n) {
    T next = top;
#pragma unroll
    for (int e = 0; e < W; ++e) next = e < n ? Of<T>::max(next, x[e]) : next;
    if (next == Of<T>::lowest()) return;
    sum = sum * Of<T>::exponential(top - next);
#pragma unroll
    for (int e = 0; e < W; ++e) sum = e < n ? sum + Of<T>::exponential(x[e] - next) : sum;
    top = next;
  }
  void merge(const SumExpOf& later) {
    const T most = Of<T>::max(top, later.top);
    if (most == Of<T>::lowest()) sum = sum + later.sum;  // nothing but NaN counts there
    else sum = sum * Of<T>::exponential(top - most) + later.sum * Of<T>::exponential(later.top - most);
    top = most;
  }
  T result() const { return sum; }
};
// Of (x - mean)^2 after B. P. Welford (1962), from the first element on: `mean` is that of x - first.
template <class T> struct SumSqDevOf {
  T first = T(0), mean = T(0), sum = T(0), count = T(0);
  bool bounded() const { return sum < -Of<T>::lowest(); }
  void add(T x, int64_t) {
    if (count == T(0)) first = x;
    count = count + T(1);
    sum = sum + (x - x);
    if (!bounded()) return;
    const T d = x - first, before = d - mean;
    mean = mean + before / count;
    const T square = before * (d - mean);
    sum = sum + (before - before == T(0) ? square : -Of<T>::lowest());
  }
  // One division for all of them; each by itself where something is too large for that, or no number.
  template <int W>
  void add_chunk(const T (&x)[W], int n) {
    const T start = count == T(0) ? x[0] : first;
    T total = T(0), square = T(0);
#pragma unroll
    for (int e = 0; e < W; ++e) total = e < n ? total + (x[e] - start) : total;
    const T middle = n == W ? total * (T(1) / T(W)) : total / T(n);
#pragma unroll
    for (int e = 0; e < W; ++e) {
      const T apart = x[e] - start - middle;
      square = e < n ? square + apart * apart : square;
    }
    if (!(square < -Of<T>::lowest())) {
      for (int e = 0; e < n; ++e) add(x[e], 0);
      return;
    }
    merge({start, middle, square, T(n)});
  }
  void merge(const SumSqDevOf& later) {
    if (later.count == T(0)) return;
    if (count == T(0)) {
      *this = later;
      return;
    }
    const T apart = (later.first - first) + (later.mean - mean), all = count + later.count;
    const bool both = bounded() && later.bounded();
    sum = sum + later.sum;
    if (both) sum = sum + apart * apart * (count * (later.count / all));
    if (both) mean = mean + apart * (later.count / all);
    count = all;
  }
  T result() const { return sum; }
};

template <class A>
inline A shuffled(const A& a, int mask) {
  constexpr int words = int(sizeof(A) / 4);
  uint32_t in[words], out[words];
  __builtin_memcpy(in, &a, sizeof(A));
#pragma unroll
  for (int w = 0; w < words; ++w) out[w] = __shfl_xor_sync(0xffffffffu, in[w], mask);
  A r;
  __builtin_memcpy(&r, out, sizeof(A));
  return r;
}
// All lanes of a warp get the same bits: the lower lane's part comes first.
template <class A>
inline A merged_in_warp(A a) {
#pragma unroll
  for (int mask = 1; mask < 32; mask <<= 1) {
    A other = shuffled(a, mask);
    if (threadIdx.x & mask) {
      other.merge(a);
      a = other;
    } else {
      a.merge(other);
    }
  }
  return a;
}
// Merges over a team of 32 threads (a warp) or of a whole group; every thread gets the result.
template <int team, class A>
inline A merged_in_order(A a) {
  a = merged_in_warp(a);
  if (team == 32) return a;
  __shared__ uint64_t parts[(team / 32) * 4];
  static_assert(sizeof(A) <= 32, "an accumulator has at most 32 bytes");
  __syncthreads();  // what was read from `parts` before has been read
  if ((threadIdx.x & 31) == 0) __builtin_memcpy(&parts[(threadIdx.x / 32) * 4], &a, sizeof(A));
  __syncthreads();
  A all;
  __builtin_memcpy(&all, &parts[0], sizeof(A));
  for (int w = 1; w < team / 32; ++w) {
    A part;
    __builtin_memcpy(&part, &parts[w * 4], sizeof(A));
    all.merge(part);
  }
  return all;
}
template <int team, class A>
inline A merged(A a) { return merged_in_order<team>(a); }

// The maximum of all first, so that a thread scales its sum once.
template <int team, class T>
inline SumExpOf<T> merged(SumExpOf<T> a) {
  const T top = merged_in_order<team>(MaxOf<T>{a.top}).value;
  const T scaled = top == Of<T>::lowest() ? a.sum : a.sum * Of<T>::exponential(a.top - top);
  return {top, merged_in_order<team>(SumOf<T>{scaled}).value};
}

// What the first thread with elements counts from.
template <class T> struct FirstOf {
  T first, count;
  void merge(const FirstOf& later) {
    if (count == T(0)) *this = later;
  }
};
// The mean of all first, so that there is one division; in order where something is too large for that, or no number.
template <int team, class T>
inline SumSqDevOf<T> merged(SumSqDevOf<T> a) {
  const T first = merged_in_order<team>(FirstOf<T>{a.first, a.count}).first, count = merged_in_order<team>(SumOf<T>{a.count}).value;
  if (count == T(0)) return {};
  const T apart = a.count == T(0) ? T(0) : (a.first - first) + a.mean;
  const T mean = merged_in_order<team>(SumOf<T>{a.count * apart}).value / count, off = apart - mean;
  const T sum = merged_in_order<team>(SumOf<T>{a.sum + a.count * (off * off)}).value;
  if (sum < -Of<T>::lowest()) return {first, mean, sum, count};
  return merged_in_order<team>(a);
}

}  // namespace gpu
}  // namespace tenon
