// What ran when, for https://ui.perfetto.dev or chrome://tracing: spans of the host's threads, and each kernel's time on
// its device, on one clock. While no trace is recorded, a span costs one load.
#pragma once
#include <string>

namespace tenon {

// Starts to record, process wide; what was recorded before is dropped.
void start_trace();
// Ends the recording and gives it as JSON in the Trace Event Format ("traceEvents", times in microseconds). Devices that
// still run may lack their last kernels: synchronize() them before. Empty list when none was started.
std::string stop_trace();

}  // namespace tenon
