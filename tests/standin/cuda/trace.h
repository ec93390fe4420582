// Every call of the driver as one line in the file that TENON_STANDIN_TRACE names. Lines are stable: addresses are
// given as allocations, numbered in order.
#pragma once
#include <string>

namespace standin {

bool tracing();
void trace(const std::string& line);
// A report of the stand-in: to the trace, to stderr, and kept for standin_report().
void report(const std::string& what);
// What was reported since the last call.
std::string take_reports();

}  // namespace standin
