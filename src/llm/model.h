// What a Model holds.
#pragma once
#include <atomic>
#include <string>

#include "llm/session.h"
#include "tenon/llm.h"
#include "text/bpe_tokenizer.h"

namespace tenon::llm {

struct Model::Impl {
  Impl(const HyperParameters& h, BpeTokenizer t, std::string chat, Session s)
      : sizes(h), tokenizer(std::move(t)), chat_template(std::move(chat)), session(std::move(s)) {}
  HyperParameters sizes;
  BpeTokenizer tokenizer;
  std::string chat_template;  // empty: none
  Session session;
  Phase load;
  std::atomic<bool> busy{false};
};

// Marks a Model as at work; throws Error(invalid_argument) when it is already.
struct Busy {
  explicit Busy(Model::Impl& m);
  ~Busy() { flag = false; }
  Busy(const Busy&) = delete;
  std::atomic<bool>& flag;
};

class PhaseTimer {
 public:
  explicit PhaseTimer(const Device& device);
  Phase end(int64_t tokens) const;

 private:
  static double now();
  Device device_;
  Counters before_;
  double start_;
};

// Throws Error(invalid_argument) for an id outside the vocabulary.
void check_ids(const Model::Impl& m, const std::vector<int32_t>& ids);
// What would hold `needed` tokens, for messages.
std::string room_hint(const Model::Impl& m, int64_t needed);

}  // namespace tenon::llm
