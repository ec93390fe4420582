// TENON_TEST_SAMPLE=n: of many variants of one test, one in n is run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace tenon::testing {

inline uint64_t sample_every() {
  const char* n = std::getenv("TENON_TEST_SAMPLE");
  return n && *n ? std::max<uint64_t>(1, std::strtoull(n, nullptr, 10)) : 1;
}

// Takes the first of what is counted, and one in every n after it. An n without a common factor with the loops' lengths
// visits every value of each loop.
class Sampled {
 public:
  bool take() { return count_++ % every_ == 0; }

 private:
  const uint64_t every_ = sample_every();
  uint64_t count_ = 0;
};

}  // namespace tenon::testing
