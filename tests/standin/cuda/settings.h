// What the stand-in is told by environment variables, read at each use so that a test can change them:
//   TENON_STANDIN_DEVICES       how many devices there are (1)
//   TENON_STANDIN_CAPABILITY    their compute capability, 10 * major + minor (75: no matrix units; at 80 their kernels run by twins)
//   TENON_STANDIN_MEMORY        bytes of each (4 GiB)
//   TENON_STANDIN_ARCHITECTURES what its NVRTC compiles for ("75,80,86,89,90,100,120")
//   TENON_STANDIN_CHECK         1: its NVRTC compiles each text at once, and fails as the real one does
//   TENON_STANDIN_ORDERS        in how many orders of threads (1 to 3) each launch runs; results must agree
//   TENON_STANDIN_SLOW_COPY     milliseconds that each copy takes longer
//   TENON_STANDIN_FAIL          "SYMBOL:N:RESULT,...": the N-th call of SYMBOL from now on gives that result; the
//                               symbol "run" stands for the kernels as they run, after their launch was accepted
//   TENON_STANDIN_TRACE         a file that gets a line for each call
//   TENON_STANDIN_KEEP          a folder that gets each kernel text that is loaded
//   TENON_STANDIN_CACHE         where compiled kernels are kept (the build's standin_cache)
#pragma once
#include <string>
#include <vector>

namespace standin {

long long number_setting(const char* variable, long long otherwise);
std::vector<int> architectures();
// The result that a call must give, or 0. Counts the calls.
int injected(const std::string& symbol);

}  // namespace standin
