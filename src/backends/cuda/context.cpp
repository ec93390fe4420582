#include "backends/cuda/context.h"

#include <algorithm>

#include "base/check.h"

namespace tenon::cuda {
namespace {

constexpr size_t launches_kept = 8;

}  // namespace

Properties properties(const Driver& driver, int ordinal) {
  auto check = [&](Result r) {
    if (r != result::success) throw Error(ErrorCode::device, cat("device ", ordinal, " of the driver: ", driver.error_text(r)));
  };
  DeviceNumber device = 0;
  check(driver.device_get(&device, ordinal));
  char model[256] = {};
  check(driver.device_name(model, int(sizeof model) - 1, device));
  auto number = [&](int which) {
    int value = 0;
    check(driver.device_attribute(&value, which, device));
    return value;
  };
  Properties p;
  p.model = model;
  p.capability = 10 * number(attribute::capability_major) + number(attribute::capability_minor);
  p.max_threads = number(attribute::max_threads);
  p.shared_bytes = std::max(number(attribute::shared_bytes), number(attribute::shared_bytes_opt_in));
  p.max_grid_x = number(attribute::max_grid_x);
  p.max_grid_y = number(attribute::max_grid_y);
  size_t memory = 0;
  check(driver.device_memory(&memory, device));
  p.memory_bytes = int64_t(memory);
  return p;
}

std::string launch_text(const std::string& kernel, int64_t groups, int threads, int64_t shared_bytes) {
  return cat("kernel ", kernel, ": ", groups, " groups of ", threads, " threads, ", shared_bytes, " bytes of shared memory");
}

DeviceHandle::DeviceHandle(const Driver& driver, int ordinal, std::string name)
    : driver_(driver), ordinal_(ordinal), name_(std::move(name)) {}

DeviceHandle::~DeviceHandle() {
  if (context_) driver_.context_release(device_);
}

void DeviceHandle::activate() {
  {
    Lock lock(mutex_);
    if (!cause_.empty())
      throw Error(ErrorCode::device, cat("device ", name_, " failed before and is of no more use to this process: ", cause_),
                  {.device = name_});
    if (!context_) {
      Result r = driver_.device_get(&device_, ordinal_);
      if (r == result::success) r = driver_.context_retain(&context_, device_);
      if (r != result::success)
        throw Error(r == result::out_of_memory ? ErrorCode::out_of_memory : ErrorCode::device,
                    cat("device ", name_, " does not start: ", driver_.error_text(r)), {.device = name_});
    }
  }
  check(driver_.context_set_current(context_), "choosing the device");
}

bool DeviceHandle::activate_quietly() {
  Lock lock(mutex_);
  return cause_.empty() && context_ && driver_.context_set_current(context_) == result::success;
}

bool DeviceHandle::failed() {
  Lock lock(mutex_);
  return !cause_.empty();
}

void DeviceHandle::check(Result r, const std::string& doing) {
  if (r == result::success) return;
  Lock lock(mutex_);
  std::string text = cause_.empty() ? cat("device ", name_, ": ", driver_.error_text(r), " in ", doing) : cause_;
  if (result::sticky(r) && cause_.empty()) {
    text += running();
    cause_ = text;
  }
  throw Error(r == result::out_of_memory ? ErrorCode::out_of_memory : ErrorCode::device, text, {.device = name_});
}

std::string DeviceHandle::running() const {
  if (launches_.empty()) return {};
  std::string out = "; launches not known to have ended, the last first";
  for (auto l = launches_.rbegin(); l != launches_.rend(); ++l)
    out += cat(l == launches_.rbegin() ? ": " : "; ",
               l->threads ? launch_text(*l->kernel, l->groups, l->threads, l->shared_bytes) : *l->kernel);
  return out + ". TENON_CUDA_SYNC=1 waits after every launch and names the one";
}

void DeviceHandle::launched(uint64_t ticket, const std::string& kernel, int64_t groups, int threads, int64_t shared_bytes) {
  Lock lock(mutex_);
  if (launches_.size() == launches_kept) launches_.pop_front();
  launches_.push_back({ticket, &kernel, groups, threads, shared_bytes});
}

void DeviceHandle::replayed(uint64_t ticket, const std::string& about) { launched(ticket, about, 0, 0, 0); }

void DeviceHandle::passed(uint64_t ticket) {
  Lock lock(mutex_);
  while (!launches_.empty() && launches_.front().ticket <= ticket) launches_.pop_front();
}

}  // namespace tenon::cuda
