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

struct Execution {
  std::vector<Ref<Storage>> outputs;  // one per plan output
  Backend::Ticket ticket = 0;
};

// Records and submits; does not wait. Takes the device's lock. On an error nothing was dispatched.
Execution execute(const std::shared_ptr<DeviceContext>& device, const std::shared_ptr<const Plan>& plan,
                  std::span<const LeafBinding> leaves, std::span<const uint32_t> scalars);

}  // namespace tenon
