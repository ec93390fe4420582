// Runs a plan on a device: the loop that all backends share.
#pragma once
#include <span>
#include <vector>

#include "runtime/device_context.h"
#include "runtime/plan.h"

namespace tenon {

struct LeafBinding {
  Ref<Storage> storage;
  int64_t offset = 0;  // bytes
};

// The plan failed when some of it had been recorded: what it writes in place is lost.
class FailedRun : public Error {
 public:
  explicit FailedRun(const Error& cause) : Error(cause) {}
};

struct Execution {
  std::vector<Ref<Storage>> outputs;  // one per plan output
  Backend::Ticket ticket = 0;
};

// Records and submits; does not wait. Takes the device's lock. On an error other than FailedRun nothing was recorded.
Execution execute(const std::shared_ptr<DeviceContext>& device, const std::shared_ptr<const Plan>& plan,
                  std::span<const LeafBinding> leaves, std::span<const uint32_t> scalars);

}  // namespace tenon
