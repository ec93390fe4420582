#include "llm/session.h"

#include <algorithm>

#include "base/check.h"

namespace tenon::llm {
namespace {

// Prompts end in chunks of any length, and each length is a plan of its own.
constexpr size_t most_steps = 16;

}  // namespace

Session::Session(std::shared_ptr<const Decoder> decoder, const HyperParameters& h, const Device& device, int64_t context,
                 DType kv_dtype)
    : decoder_(std::move(decoder)), layers_(h.layers), kv_heads_(h.kv_heads), head_size_(h.head_size), context_(context),
      kv_dtype_(kv_dtype), device_(device), rope_(make_rope_table(context, h.head_size, h.rope_base, device)),
      at_(uint32_t(0), device), kv_len_(uint32_t(0), device), sampling_(device) {
  begin();
  reserve(1);
}

void Session::begin() {
  position_ = 0;
  if (!running_ && !lost()) return;
  const int64_t capacity = cache_.capacity;
  cache_ = {};
  steps_.clear();
  running_ = false;
  reserve(capacity);
}

bool Session::lost() const {
  const auto any = [](const std::vector<State>& states) {
    return std::any_of(states.begin(), states.end(), [](const State& s) { return s.lost(); });
  };
  return any(cache_.keys) || any(cache_.values);
}

// Old content is kept only where there is some. Growing makes new shapes, so the steps are compiled again.
void Session::reserve(int64_t tokens) {
  TENON_CHECK(tokens <= context_);
  if (tokens <= cache_.capacity) return;
  int64_t capacity = std::max(cache_.capacity, first_capacity);
  while (capacity < tokens) capacity *= 2;
  capacity = std::min(capacity, context_);
  steps_.clear();
  running_ = true;
  const bool made = !cache_.keys.empty();
  const auto room = [&](int64_t n) { return zeros({1, kv_heads_, n, head_size_}, kv_dtype_, device_); };
  for (std::vector<State>* states : {&cache_.keys, &cache_.values})
    for (int64_t i = 0; i < layers_; ++i) {
      if (!made) states->emplace_back(room(capacity), cat(states == &cache_.keys ? "keys." : "values.", i));
      else if (position_ == 0) (*states)[size_t(i)].reset(room(capacity));
      else (*states)[size_t(i)].reset(concat({(*states)[size_t(i)].value(), room(capacity - cache_.capacity)}, 2));
    }
  cache_.capacity = capacity;
  running_ = false;
}

Compiled Session::compile_run(int64_t tokens, Output output) {
  const auto run = [&](const std::vector<Tensor>& inputs) -> std::vector<Tensor> {
    const Pass pass{cache_, dynamic_slice(rope_.cos, at_, 0, tokens), dynamic_slice(rope_.sin, at_, 0, tokens), at_, kv_len_};
    Tensor x = decoder_->hidden(inputs[0], pass);
    if (output == Output::none) return {};
    if (output != Output::logits) x = slice(x, 0, tokens - 1, tokens);
    const Tensor logits = decoder_->logits(x);
    if (output == Output::logits) return {logits};
    return {output == Output::greedy ? argmax(logits) : sample(logits, sampling_)};
  };
  return compile(run, {zeros({tokens}, DType::i32, device_)}, device_);
}

const Compiled& Session::step(int64_t tokens, Output output) {
  auto it = std::find_if(steps_.begin(), steps_.end(), [&](const Step& s) { return s.tokens == tokens && s.output == output; });
  if (it == steps_.end()) {
    if (steps_.size() == most_steps) steps_.pop_back();
    it = steps_.insert(steps_.end(), Step{tokens, output, compile_run(tokens, output)});
  }
  std::rotate(steps_.begin(), it, it + 1);
  return steps_.front().compiled;
}

Tensor Session::run(const Tensor& ids, Output output) {
  const int64_t tokens = ids.dim(0);
  TENON_CHECK(position_ + tokens <= context_);
  reserve(position_ + tokens);
  const Compiled& compiled = step(tokens, output);
  at_.set(uint32_t(position_));
  kv_len_.set(uint32_t(position_ + tokens));
  sampling_.position.set(uint32_t(position_ + tokens));  // of the token that is drawn
  running_ = true;
  const std::vector<Tensor> results = compiled({ids});
  running_ = false;
  position_ += tokens;
  return results.empty() ? Tensor() : results[0];
}

Tensor Session::run(const std::vector<int32_t>& ids, Output output) {
  return run(Tensor::from<int32_t>(ids, {int64_t(ids.size())}, device_), output);
}

}  // namespace tenon::llm
