// Launches: their limits, and running them on a stream's thread.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "block_runner.h"
#include "compiler.h"

namespace standin {

// What cuLaunchKernel was given, with copies of the parameters.
struct Launch {
  std::string kernel;
  CompiledKernel code;
  LaunchShape shape;
  std::vector<std::vector<char>> parameters;
};
// Why a device would refuse the launch, or "".
std::string over_limits(const LaunchShape& shape, size_t dynamic_limit);
// "grid 4,1,1 block 256,1,1 shared 0 m1+0 m2+256 1f3a…": addresses as allocations, other parameters by their bytes.
std::string describe(const Launch& launch);
// Runs it on the calling thread, in as many orders of threads as are asked for; a report or "".
std::string run(const Launch& launch);

}  // namespace standin
