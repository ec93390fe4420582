// Repeated measurements and how they are told.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "output.h"

namespace tenon::cli {

struct Sample {
  double median = 0, min = 0, max = 0;
};
Sample summarise(std::vector<double> values);

// {"median": …, "min": …, "max": …}
Json to_json(const Sample& s);
// "123.4 (120.1 to 125.0)"
std::string to_text(const Sample& s);

// Seconds of each of `repeats` calls, after calls to warm up.
std::vector<double> time_calls(int repeats, const std::function<void()>& call);

}  // namespace tenon::cli
