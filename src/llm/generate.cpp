#include <algorithm>
#include <cmath>

#include "base/trace.h"
#include "base/cat.h"
#include "llm/model.h"
#include "tenon/error.h"
#include "text/chat_template.h"

namespace tenon::llm {
namespace {

using OnPiece = std::function<bool(std::string_view)>;

void check_options(const GenerateOptions& o) {
  const auto refuse = [](const char* name, float value, const char* what) {
    throw Error(ErrorCode::invalid_argument, cat(name, " is ", value, "; ", what));
  };
  if (o.max_tokens < 0) throw Error(ErrorCode::invalid_argument, cat("max_tokens is ", o.max_tokens, "; 0 or more make sense"));
  if (!(std::isfinite(o.temperature) && o.temperature >= 0)) refuse("temperature", o.temperature, "0 (greedy) or more makes sense");
  if (!(o.top_p > 0)) refuse("top_p", o.top_p, "above 0, and 1 for off, makes sense");
  if (!(o.min_p >= 0 && o.min_p <= 1)) refuse("min_p", o.min_p, "0 (off) to 1 makes sense");
}

// One answer in the making.
class Generator {
 public:
  Generator(Model::Impl& m, const GenerateOptions& o, const OnPiece& on_piece)
      : m_(m), o_(o), on_piece_(on_piece), decoder_(m.tokenizer), draw_(o.temperature > 0 ? Output::sampled : Output::greedy) {
    SampleSettings& s = m.session.sampling();
    s.temperature.set(o.temperature);
    s.top_k.set(o.top_k);
    s.top_p.set(o.top_p);
    s.min_p.set(o.min_p);
    s.seed_low.set(uint32_t(o.seed));
    s.seed_high.set(uint32_t(o.seed >> 32));
  }

  Generation run(const std::vector<int32_t>& prompt) {
    out_.prompt_ids = prompt;
    limit_ = std::min(o_.max_tokens, m_.session.context() - int64_t(prompt.size()));
    if (prefill()) decode();
    if (const std::string rest = decoder_.flush(); !rest.empty()) show(rest);
    return std::move(out_);
  }

 private:
  bool stopped() const { return stopped_ || (o_.cancel && o_.cancel->requested); }
  bool finish(Finish f) {
    out_.finish = f;
    return false;
  }

  // The prompt in chunks, and the first token. False: there is nothing to decode.
  bool prefill() {
    const PhaseTimer timer(m_.session.device());
    const std::vector<int32_t>& prompt = out_.prompt_ids;
    m_.session.begin();
    m_.session.reserve(int64_t(prompt.size()));
    int64_t done = 0;
    const bool whole = feed(prompt, done);
    if (whole && limit_ > 0) first_id_ = newest_.item<int32_t>();
    else m_.session.device().synchronize();
    out_.prefill = timer.end(done);
    if (!whole) return finish(Finish::interrupted);
    return limit_ > 0 || finish(Finish::length);
  }

  bool feed(const std::vector<int32_t>& prompt, int64_t& done) {
    const TraceSpan span("prefill");
    const int64_t count = int64_t(prompt.size());
    while (done < count) {
      if (stopped()) return false;
      const int64_t end = std::min(done + Session::prefill_chunk, count);
      const std::vector<int32_t> chunk(prompt.begin() + done, prompt.begin() + end);
      newest_ = m_.session.run(chunk, end == count ? draw_ : Output::none);
      // Chunks that are only submitted cannot be called back.
      if (end < count) m_.session.device().synchronize();
      done = end;
    }
    return true;
  }

  // Token t is read while the step that draws token t+1 runs already; the last such step may be for nothing.
  void decode() {
    const PhaseTimer timer(m_.session.device());
    int64_t submitted = 1;  // tokens whose drawing was submitted
    const TraceSpan span("decode");
    const auto submit = [&] {
      const TraceSpan step("decode step");
      newest_ = m_.session.run(newest_, draw_);
      ++submitted;
    };
    int32_t id = first_id_;
    while (accept(id)) {
      if (submitted == count()) submit();
      Readback pending = newest_.read_async();
      if (submitted < limit_) submit();
      id = pending.item_i32();
    }
    m_.session.device().synchronize();
    out_.decode = timer.end(std::max<int64_t>(count() - 1, 0));
  }

  int64_t count() const { return int64_t(out_.ids.size()); }

  // Whether generation goes on after this token.
  bool accept(int32_t id) {
    if (!o_.ignore_end && m_.tokenizer.is_end(id)) return finish(Finish::eos);
    out_.ids.push_back(id);
    if (!m_.tokenizer.is_control(id)) show(decoder_.push(id));
    if (stopped()) return finish(Finish::interrupted);
    return count() < limit_ || finish(Finish::length);
  }

  void show(const std::string& piece) {
    if (piece.empty()) return;
    out_.text += piece;
    if (on_piece_ && !stopped_ && !on_piece_(piece)) stopped_ = true;
  }

  Model::Impl& m_;
  const GenerateOptions& o_;
  const OnPiece& on_piece_;
  StreamDecoder decoder_;
  Output draw_;
  Generation out_;
  Tensor newest_;  // the last token whose drawing was submitted, [1] i32
  int32_t first_id_ = 0;
  int64_t limit_ = 0;
  bool stopped_ = false;
};

Generation generate_from(Model::Impl& m, std::vector<int32_t> prompt, const GenerateOptions& o, const OnPiece& on_piece) {
  const Busy busy(m);
  check_options(o);
  check_ids(m, prompt);
  if (prompt.empty()) {
    if (m.tokenizer.bos_id() < 0)
      throw Error(ErrorCode::invalid_argument, "the prompt is empty, and this model has no token to begin a text with; give it a prompt");
    prompt.push_back(m.tokenizer.bos_id());
  }
  const int64_t count = int64_t(prompt.size()), context = m.session.context();
  if (count >= context)
    throw Error(ErrorCode::context_length, cat("the prompt has ", count, " tokens, but the context of ", context, " leaves room for ",
                                               context - 1, " and an answer; ", room_hint(m, count + 1)));
  return Generator(m, o, on_piece).run(prompt);
}

std::vector<int32_t> chat_ids(const Model::Impl& m, std::string_view prompt, const std::string& system) {
  std::vector<ChatMessage> messages;
  if (!system.empty()) messages.push_back({"system", system});
  messages.push_back({"user", std::string(prompt)});
  return encode_chat(m.tokenizer, ChatTemplate(m.chat_template).render(messages));
}

}  // namespace

Generation Model::generate(std::string_view prompt, const GenerateOptions& options, const OnPiece& on_piece) {
  std::vector<int32_t> ids = options.raw ? encode(prompt) : chat_ids(*impl_, prompt, options.system);
  return generate_from(*impl_, std::move(ids), options, on_piece);
}

Generation Model::generate_ids(const std::vector<int32_t>& prompt_ids, const GenerateOptions& options, const OnPiece& on_piece) {
  return generate_from(*impl_, prompt_ids, options, on_piece);
}

}  // namespace tenon::llm
