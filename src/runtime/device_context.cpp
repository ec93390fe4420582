#include "runtime/device_context.h"

#include <algorithm>

#include "base/check.h"

namespace tenon {
namespace {

// Sizes are rounded so that blocks can be used again: to 256 bytes, and above 64 KiB to an eighth of the power of two
// below, so at most 12.5 % is lost.
int64_t rounded(int64_t bytes) {
  int64_t step = 256;
  if (bytes > 65536) {
    int64_t power = 65536;
    while (power <= bytes / 2) power *= 2;
    step = power / 8;
  }
  return (std::max<int64_t>(bytes, 1) + step - 1) / step * step;
}

}  // namespace

Pool::~Pool() {
  for (auto& [bytes, handle] : free_) backend_.free(handle);
}

Handle Pool::alloc(int64_t bytes) {
  try {
    return backend_.alloc(bytes);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::out_of_memory) throw;
    if (free_.empty())
      throw Error(e.code(), cat(e.what(), "; this process holds ", held_, " bytes there, all in use"), e.context());
  }
  trim();
  return alloc(bytes);
}

Pool::Block Pool::take(int64_t bytes, Counters& counters) {
  const int64_t size = rounded(bytes);
  Block block{{}, size};
  if (auto it = free_.find(size); it != free_.end()) {
    block.handle = it->second;
    free_.erase(it);
  } else {
    block.handle = alloc(size);
    held_ += size;
    ++counters.allocations;
  }
  in_use_ += size;
  peak_ = std::max(peak_, held_);
  return block;
}

void Pool::give(Block block) {
  in_use_ -= block.bytes;
  // The last one given is the first one taken: a step that repeats finds its blocks where they were.
  free_.emplace_hint(free_.lower_bound(block.bytes), block.bytes, block.handle);
}

void Pool::trim() {
  backend_.wait(backend_.submit());
  for (auto& [bytes, handle] : free_) {
    backend_.free(handle);
    held_ -= bytes;
  }
  free_.clear();
}

Storage::Storage(std::shared_ptr<DeviceContext> device, int64_t bytes) : device_(std::move(device)), bytes_(bytes) {
  residency_.device = device_->pool().take(bytes, device_->counters());
  residency_.device_live = true;
}

Storage::Storage(std::shared_ptr<DeviceContext> device, std::vector<std::byte> bytes)
    : device_(std::move(device)), bytes_(int64_t(bytes.size())) {
  residency_.host = std::move(bytes);
  residency_.host_live = true;
}

void Storage::destroy(const Storage* s) {
  auto* self = const_cast<Storage*>(s);
  if (self->residency_.device.handle) {
    RecursiveLock lock(self->device_->mutex());
    self->device_->pool().give(self->residency_.device);
  }
  delete self;
}

Handle Storage::handle() {
  if (!residency_.device_live) {
    residency_.device = device_->pool().take(bytes_, device_->counters());
    device_->backend().write(residency_.device.handle, 0, residency_.host);
    device_->counters().bytes_up += bytes_;
    residency_.device_live = true;
    residency_.host_live = false;
    residency_.host = {};
  }
  return residency_.device.handle;
}

DeviceContext::DeviceContext(std::unique_ptr<Backend> backend)
    : backend_(std::move(backend)), pool_(std::make_unique<Pool>(*backend_)) {}

DeviceContext::~DeviceContext() {
  try {
    backend_->wait(backend_->submit());
  } catch (const Error&) {
    // A device that failed has nothing left to wait for.
  }
  attachment_.reset();
  kept_.clear();
  pool_.reset();
}

void Storage::require_content() const {
  if (!lost()) return;
  device_->take_failure();  // told here
  const Error& e = outcome_->error();
  throw Error(e.code(), cat("the value is lost: what should have computed it failed: ", e.what()), e.context());
}

void DeviceContext::keep_until(Backend::Ticket ticket, std::shared_ptr<const void> what, std::shared_ptr<Outcome> outcome) {
  kept_.push_back({ticket, std::move(what), std::move(outcome)});  // first: it may have failed already
  release_passed();
}

void DeviceContext::release_passed() {
  // Which have passed is asked before which have failed: what passes meanwhile is looked at the next time.
  std::vector<bool> passed;
  for (const Kept& k : kept_) passed.push_back(backend_->passed(k.ticket));
  while (const auto failure = backend_->next_failure()) {
    if (!failure_) failure_ = failure->error;
    for (const Kept& k : kept_)
      if (k.ticket == failure->ticket) k.outcome->fail(failure->error);
  }
  std::vector<Kept> rest;
  for (size_t i = 0; i < kept_.size(); ++i) {
    kept_[i].outcome->inherit();
    if (passed[i]) kept_[i].outcome->settle();
    else rest.push_back(std::move(kept_[i]));
  }
  kept_ = std::move(rest);
}

}  // namespace tenon
