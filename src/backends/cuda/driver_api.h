// The part of the CUDA driver API that this backend uses. The declarations are ours, the values those of the interface,
// so that nothing of a toolkit is needed to build.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tenon::cuda {

using Result = int;
using DeviceNumber = int;
using DeviceAddress = unsigned long long;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using Graph = struct GraphTag*;
using GraphExec = struct GraphExecTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;

namespace result {
inline constexpr Result success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, no_device = 100,
                        invalid_device = 101, invalid_image = 200, invalid_context = 201, no_binary_for_gpu = 209,
                        ecc_uncorrectable = 214, invalid_handle = 400, not_found = 500, not_ready = 600,
                        illegal_address = 700, launch_out_of_resources = 701, launch_timeout = 702,
                        assertion = 710, hardware_stack = 714, launch_failed = 719, unknown = 999;
// After these the context is of no more use: every later call gives the same error.
inline constexpr bool sticky(Result r) {
  return r == ecc_uncorrectable || r == illegal_address || r == launch_timeout || r == assertion ||
         (r >= hardware_stack && r <= launch_failed) || r == unknown;
}
}  // namespace result

namespace attribute {
inline constexpr int max_threads = 1, max_grid_x = 5, max_grid_y = 6, shared_bytes = 8, warp_size = 10,
                     multiprocessors = 16, capability_major = 75, capability_minor = 76, shared_bytes_opt_in = 97;
}
inline constexpr int function_max_dynamic_shared = 8;  // of cuFuncSetAttribute
inline constexpr int capture_relaxed = 2;              // of cuStreamBeginCapture: other threads may go on meanwhile
inline constexpr unsigned stream_non_blocking = 1, event_disable_timing = 2;

}  // namespace tenon::cuda
