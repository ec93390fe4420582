// From the start of a process to a model's first token, with each state of the kernels on disk.
#pragma once
#include <string>
#include <vector>

namespace tenon::cli {

struct FirstToken {
  double cold = 0;      // nothing compiled
  double warm = 0;      // compiled by the run before
  double shipped = -1;  // only what ships; negative where nothing does
};

// Starts this program again, each time as `arguments` say: a command that ends after one token. Throws tenon::Error(io)
// when a process cannot be started, Error(internal) when it fails.
FirstToken measure_first_token(const std::vector<std::string>& arguments);

}  // namespace tenon::cli
