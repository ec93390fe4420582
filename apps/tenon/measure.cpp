#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace tenon::cli {

Sample summarise(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return {n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2, values.front(), values.back()};
}

Json to_json(const Sample& s) { return {{"median", s.median}, {"min", s.min}, {"max", s.max}}; }

std::string to_text(const Sample& s) {
  char text[96];
  std::snprintf(text, sizeof text, "%.1f (%.1f to %.1f)", s.median, s.min, s.max);
  return text;
}

std::vector<double> time_calls(int repeats, const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  call();
  call();
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const auto start = Clock::now();
    call();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  return seconds;
}

}  // namespace tenon::cli
