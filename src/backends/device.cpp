// Opening devices by name.
#include "tenon/device.h"

#include <cstdlib>
#include <map>

#include "backends/table.h"
#include "base/check.h"
#include "base/trace.h"
#include "runtime/device_context.h"

namespace tenon {
namespace {

std::string known_names() {
  std::string out;
  for (const BackendRow& row : backend_table())
    for (const std::string& n : row.names()) out += cat(out.empty() ? "" : ", ", n);
  return out;
}

// A family alone means its first device.
std::string full_name(const std::string& name) {
  for (const BackendRow& row : backend_table())
    if (name == row.family) return row.names()[0];
  return name;
}

std::unique_ptr<Backend> open_backend(const std::string& name, int threads) {
  for (const BackendRow& row : backend_table())
    for (const std::string& n : row.names()) {
      if (name != n) continue;
      if (const std::string why = row.unavailable(name); !why.empty())
        throw Error(ErrorCode::device, cat("device '", name, "' is not available here: ", why), {.device = name});
      return row.open(name, threads);
    }
  throw Error(ErrorCode::device, cat("there is no device '", name, "'; the devices are ", known_names()), {.device = name});
}

}  // namespace

Device Device::open(const std::string& name, int threads) {
  return Device(std::make_shared<DeviceContext>(open_backend(full_name(name), threads)));
}

Device Device::open(const std::string& wanted) {
  const std::string name = full_name(wanted);
  // Never destroyed: at exit other statics may still hold tensors.
  static Mutex& mutex = *new Mutex;
  static auto& open_devices = *new std::map<std::string, std::shared_ptr<DeviceContext>>;
  Lock lock(mutex);
  std::shared_ptr<DeviceContext>& context = open_devices[name];
  if (!context) {
    try {
      context = std::make_shared<DeviceContext>(open_backend(name, 0));
    } catch (...) {
      open_devices.erase(name);
      throw;
    }
  }
  return Device(context);
}

Device Device::default_device() {
  const char* wish = std::getenv("TENON_DEVICE");
  if (wish && *wish) return open(wish);
  for (const BackendRow& row : backend_table())
    for (const std::string& n : row.names())
      if (row.unavailable(n).empty()) return open(n);
  throw Error(ErrorCode::device, "no device is available");
}

const std::string& Device::name() const { return context_->backend().name(); }
const std::string& Device::description() const { return context_->backend().description(); }

Counters Device::counters() const {
  RecursiveLock lock(context_->mutex());
  return context_->counters();
}
std::map<std::string, int64_t> Device::census() const {
  RecursiveLock lock(context_->mutex());
  std::map<std::string, int64_t> by_name;
  for (const auto& [kernel, launches] : context_->census()) by_name[kernel->name] += launches;
  return by_name;
}
void Device::reset_census() const {
  RecursiveLock lock(context_->mutex());
  context_->census().clear();
}
int64_t Device::memory_bytes() const {
  RecursiveLock lock(context_->mutex());
  return context_->pool().held();
}
int64_t Device::peak_memory_bytes() const {
  RecursiveLock lock(context_->mutex());
  return context_->pool().peak();
}
bool Device::keeps_kernels() const { return context_->limits().keeps_kernels; }
void Device::synchronize() const {
  const TraceSpan span("synchronize");
  Backend::Ticket ticket;
  {
    RecursiveLock lock(context_->mutex());
    ticket = context_->backend().submit();
    ++context_->counters().waits;
  }
  context_->backend().wait(ticket);
  RecursiveLock lock(context_->mutex());
  context_->release_passed();
  if (const auto failure = context_->take_failure()) throw Error(*failure);
}

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> all;
  for (const BackendRow& row : backend_table())
    for (const std::string& n : row.names()) {
      DeviceInfo info{n, {}, true, row.unavailable(n)};
      info.available = info.reason.empty();
      if (info.available) info.description = Device::open(n).description();
      all.push_back(std::move(info));
    }
  return all;
}

}  // namespace tenon
