// Part of kernels' text: slices that collect what belongs to them. Before it stand Buffers, Element and joined(), which
// takes what came before and what comes after; of `set` the latter stays.
//
// A thread makes one element: it finds its contributions among the sorted keys and takes them in their order. Where a
// destination has more than `chunk`, their sums over chunks are made before, in scratch.

constexpr int chunk = 256;

// The first key that is not below `key`, from `first` on.
inline int64_t first_not_below(const uint32_t* keys, int64_t first, int64_t n, uint32_t key) {
  while (first < n) {
    const int64_t middle = first + (n - first) / 2;
    if (keys[middle] < key) first = middle + 1;
    else n = middle;
  }
  return first;
}

// The contributions to one destination: [first, last) in the order of the keys.
struct Run {
  int64_t first, last;
};
inline Run run_of(const Buffers& B, int64_t n, uint32_t destination) {
  const int64_t first = first_not_below(B.b1, 0, n, destination);
  return {first, first_not_below(B.b1, first, n, destination + 1u)};
}

inline Element join_all(const Buffers& B, const ScatterParams& q, int64_t o, int64_t i, int64_t first, int64_t last) {
  const Element* from = B.b3 + o * int64_t(q.source[0]) + i * int64_t(q.source[2]);
  const int64_t row = q.source[1];
  Element out = from[int64_t(B.b2[first]) * row];
  for (int64_t k = first + 1; k < last; ++k) out = joined(out, from[int64_t(B.b2[k]) * row]);
  return out;
}

// Scratch: [parts, outer, inner]. Of each window of `chunk` keys, two parts: of the run that began before it, and of
// the last one that begins in it. Runs that have parts are longer than a window, so there are no more of them.
inline int64_t part_number(int64_t k, const Run& run) { return 2 * (k / chunk) + (run.first >= k / chunk * chunk); }

inline void join_parts(const Buffers& B, const ScatterParams& q, Element* scratch) {
  const int64_t slice = int64_t(q.outer) * int64_t(q.inner), number = group_index() * 256 + threadIdx.x, n = q.n;
  const Quotient part = divide(number, slice), place = divide(part.rest, q.inner);
  const int64_t window = part.quotient / 2 * chunk, last = smaller(window + chunk, n);
  const bool begins = part.quotient % 2 == 1;
  if (window >= n) return;
  const uint32_t destination = B.b1[begins ? last - 1 : window];
  if (int64_t(destination) >= int64_t(q.size)) return;
  const Run run = run_of(B, n, destination);
  const int64_t k = begins ? run.first : run.first + round_up_quotient(window - run.first, chunk) * chunk;
  if (run.last - run.first <= chunk || begins != (run.first >= window) || k >= smaller(last, run.last)) return;
  scratch[number] = join_all(B, q, place.quotient, place.rest, k, smaller(k + chunk, run.last));
}

inline void scatter_elements(const Buffers& B, const ScatterParams& q, const Element* scratch) {
  const int64_t inner = q.inner, number = group_index() * 256 + threadIdx.x;
  const Quotient place = divide(number, inner), slice = divide(place.quotient, q.size);
  const int64_t o = slice.quotient, d = slice.rest, i = place.rest;
  if (o >= int64_t(q.outer)) return;
  Element out = B.b0[o * int64_t(q.x[0]) + d * int64_t(q.x[1]) + i * int64_t(q.x[2])];
  const Run run = run_of(B, q.n, uint32_t(d));
  if (only_last) {
    if (run.last > run.first) out = join_all(B, q, o, i, run.last - 1, run.last);
  } else if (run.last - run.first > chunk) {
    const int64_t all = int64_t(q.outer) * inner;
    for (int64_t k = run.first; k < run.last; k += chunk)
      out = joined(out, scratch[part_number(k, run) * all + o * inner + i]);
  } else if (run.last > run.first) {
    out = joined(out, join_all(B, q, o, i, run.first, run.last));
  }
  B.b4[number] = out;
}
