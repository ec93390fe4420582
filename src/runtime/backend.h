// What a device must be able to do: about a dozen functions. Everything else (residency, pool, counters, the loop that
// executes a plan) is shared. Copying backends/null is how a new backend starts.
//
// write, read, copy and dispatch are ordered: each sees the effects of those called before it. They may return before
// they have run; submit() hands over what was recorded and wait() blocks until a ticket has passed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernel.h"
#include "tenon/error.h"

namespace tenon {

// A device's memory block. Its value means nothing outside its backend.
struct Handle {
  uint64_t id = 0;
  explicit operator bool() const { return id != 0; }
  bool operator==(const Handle&) const = default;
};

// Limits and capabilities are data: nothing asks what a device is called.
struct Limits {
  int max_bindings = 32;                          // distinct buffers of one launch
  int64_t max_binding_bytes = int64_t(1) << 62;   // one binding
  int64_t max_buffer_bytes = int64_t(1) << 62;    // one allocation
  int64_t max_groups = int64_t(1) << 62;          // per grid dimension, of three; see grid_dimensions()
  int64_t memory_bytes = int64_t(1) << 62;
  int64_t view_alignment = 1;                     // of a binding's byte offset: a power of two up to 256
  int max_instructions = 256;                     // scalar program of one kernel
  // A matrix-vector product may compute the rows of its x by a row program, again in each of its groups: rows, and
  // elements of one, up to which that costs less than a launch of its own.
  int64_t prologue_rows = 0;
  int64_t prologue_elements = 0;
  bool fuses = true;                              // false: each node is a launch of its own (the reference)
  bool wide_lanes = false;                        // f64 and i64
  bool replays = false;                           // keeps recordings
  bool one_way = false;                           // true: TENON_LOWER changes nothing here (the reference)
  // Kernels cannot be made here, only found. A plan whose kernels are not all there (Backend::serves) is made again of
  // canonical ones (KernelChoice::fixed), of which there are few enough to ship them all.
  bool fixed_kernels = false;
  bool keeps_kernels = false;                     // kernels are compiled, and kept on disk from run to run
};

struct BoundView {
  Handle buffer;
  int64_t offset = 0;  // bytes
  Access access = Access::in;        // what the kernel does through this view
  Access block_access = Access::in;  // what the launch does with the whole buffer: the union over its views of it
};

// A kernel as its backend knows it; lives as long as the backend.
struct BackendKernel {
  std::string name;
  virtual ~BackendKernel() = default;
};

// Which of the kernels that a device has for a description.
enum class KernelChoice : uint8_t {
  best,
  plain,  // one that shares no code with tuned kernels; where a device has one kind only, that
  fixed,  // one of those that are shipped whatever is computed; null where there is none, and the composition serves
};

// A launch of a plan.
struct PlannedLaunch {
  const BackendKernel* kernel = nullptr;
  Grid grid;
};

// Dispatches and copies that a device keeps as one object, to run again with the same memory.
struct Recording {
  virtual ~Recording() = default;
};

// Work that was submitted and failed: known only when the queue came to it.
struct Failure {
  uint64_t ticket = 0;  // of the submission that it was part of
  Error error;
};

class Backend {
 public:
  using Ticket = uint64_t;
  virtual ~Backend() = default;

  virtual const std::string& name() const = 0;         // "cpu"
  virtual const std::string& description() const = 0;  // for people: processor, instruction set, threads
  virtual const Limits& limits() const = 0;

  // Throws Error(out_of_memory). The memory's content is undefined.
  virtual Handle alloc(int64_t bytes) = 0;
  // Called only when the queue has passed the block's last use.
  virtual void free(Handle buffer) = 0;
  virtual void write(Handle to, int64_t offset, std::span<const std::byte> bytes) = 0;  // bytes may go on return
  virtual void read(Handle from, int64_t offset, std::span<std::byte> into) = 0;        // valid once a later ticket passed
  virtual void copy(Handle to, int64_t to_offset, Handle from, int64_t from_offset, int64_t bytes) = 0;

  // The kernel for a description, made or found; null when this backend has none, and lowering goes on to the
  // composition. Thread-safe.
  virtual const BackendKernel* kernel(const KernelDesc& desc, KernelChoice choice) = 0;
  virtual Grid grid(const BackendKernel& kernel, const Params& params) const = 0;
  // Whether all of these kernels are there or can be made. Asked where Limits::fixed_kernels.
  virtual bool serves(std::span<const PlannedLaunch>) { return true; }
  // Called for a new plan before it runs: what has to be compiled is compiled now, together. Throws what that throws.
  virtual void prepare(std::span<const PlannedLaunch>) {}
  // One view per buffer operand, in order; `scalars` has no buffer when the launch reads none. `params` and the scalars
  // must stay until the ticket has passed.
  virtual void dispatch(const BackendKernel& kernel, std::span<const BoundView> views, const Params& params,
                        BoundView scalars, const Grid& grid) = 0;

  // Optional. After begin_recording() says yes, dispatches and copies do not run but are kept, until end_recording(): they
  // run whenever replay() is called, at the memory that they were given, and replay() says no when that holds no
  // more. end_recording() must be called whatever was thrown in between; it throws what the device finds wrong.
  virtual bool begin_recording() { return false; }
  virtual std::shared_ptr<Recording> end_recording() { return nullptr; }
  virtual bool replay(const Recording&) { return false; }

  virtual Ticket submit() = 0;
  virtual void wait(Ticket ticket) = 0;
  virtual bool passed(Ticket ticket) const = 0;
  // The oldest failure of passed work that was not asked for yet. What the failed submission wrote is worthless, and so
  // is what later ones make of it; the rest is not harmed. A device whose launches cannot fail late has none.
  virtual std::optional<Failure> next_failure() { return std::nullopt; }
};

}  // namespace tenon
