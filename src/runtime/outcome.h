// How a submission went. What was written by one that failed is worthless, and so is what others made of it.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "tenon/error.h"

namespace tenon {

class Outcome {
 public:
  // Of what the submission reads, while it is not known to be good.
  void depends_on(std::shared_ptr<const Outcome> input) {
    if (input && !input->good_) inputs_.push_back(std::move(input));
  }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  const Error& error() const { return *error_; }  // once it failed
  void fail(const Error& error) {
    if (failed()) return;
    error_ = error;
    failed_.store(true, std::memory_order_release);
  }
  // Fails when one of its inputs did.
  void inherit() {
    for (const auto& input : inputs_)
      if (input->failed()) return fail(input->error());
  }
  // The queue has passed the submission and inherit() was called.
  void settle() {
    inputs_.clear();
    good_ = !failed();
  }

 private:
  // Changed under the device's lock; `failed_` is read without it.
  std::atomic<bool> failed_{false};
  bool good_ = false;
  std::optional<Error> error_;
  std::vector<std::shared_ptr<const Outcome>> inputs_;
};

}  // namespace tenon
