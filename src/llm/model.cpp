// Loading, scoring and the plan; generation is in generate.cpp.
#include "llm/model.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "base/cat.h"
#include "llm/tokenizer_from_gguf.h"
#include "tenon/error.h"

namespace tenon::llm {

const char* to_string(Finish f) {
  switch (f) {
    case Finish::eos: return "eos";
    case Finish::length: return "length";
    case Finish::interrupted: return "interrupted";
  }
  return "unknown";
}

PhaseTimer::PhaseTimer(const Device& device) : device_(device), before_(device.counters()), start_(now()) {}
double PhaseTimer::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
Phase PhaseTimer::end(int64_t tokens) const { return {now() - start_, tokens, device_.counters() - before_}; }

Busy::Busy(Model::Impl& m) : flag(m.busy) {
  if (flag.exchange(true))
    throw Error(ErrorCode::invalid_argument, "this Model is at work already; call it from one thread at a time, and not from on_piece");
}

namespace {

int64_t choose_context(const HyperParameters& h, const std::string& path, int64_t asked) {
  if (asked == 0) return std::min<int64_t>(h.context, 4096);
  if (asked < 2 || asked > h.context)
    throw Error(ErrorCode::invalid_argument, cat("a context of ", asked, " tokens was asked for; ", path, " works with 2 to ", h.context),
                {.path = path});
  return asked;
}

void check_kv(DType t) {
  if (t != DType::f16 && t != DType::f32)
    throw Error(ErrorCode::invalid_argument, cat("a KV cache of ", tenon::to_string(t), " was asked for; f16 and f32 work"));
}

// The table of angles is the only memory that a context costs at once.
Session make_session(std::shared_ptr<const Decoder> decoder, const HyperParameters& h, const Device& device, int64_t context, DType kv) {
  try {
    return Session(std::move(decoder), h, device, context, kv);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, cat("a context of ", context, " tokens does not fit in memory; a smaller one (--ctx) would"));
  }
}

}  // namespace

Model Model::load(const std::string& path, const Device& device, const LoadOptions& options) {
  return load(open_file(path), device, options);
}

Model Model::load(std::shared_ptr<ByteSource> source, const Device& device, const LoadOptions& options) {
  const PhaseTimer timer(device);
  check_kv(options.kv_dtype);
  const Gguf gguf = Gguf::open(std::move(source));
  const DecoderBuilder build = find_architecture(gguf);
  BpeTokenizer tokenizer = tokenizer_from_gguf(gguf);
  const HyperParameters h = read_hyper_parameters(gguf);
  const int64_t context = choose_context(h, gguf.path(), options.context);
  WeightReader weights(gguf, device, WeightReader::Mode::values, options.on_progress);
  std::shared_ptr<const Decoder> decoder = build(h, weights);
  weights.check_all_used(h.architecture);
  auto impl = std::make_shared<Impl>(h, std::move(tokenizer), gguf.find_string("tokenizer.chat_template").value_or(""),
                                     make_session(std::move(decoder), h, device, context, options.kv_dtype));
  device.synchronize();
  impl->load = timer.end(0);
  return Model(std::move(impl));
}

// ---------------------------------------------------------------------------------------------------------- scoring

namespace {

// The `top` best of a row; NaN counts as best, so that it shows.
TopLogits best_of(const float* row, int64_t count, int64_t top) {
  std::vector<int32_t> order;
  for (int64_t i = 0; i < count; ++i) order.push_back(int32_t(i));
  const auto better = [&](int32_t a, int32_t b) {
    const float x = row[a], y = row[b];
    if (std::isnan(x) != std::isnan(y)) return std::isnan(x);
    return x != y && !std::isnan(x) ? x > y : a < b;
  };
  top = std::min(top, count);
  std::partial_sort(order.begin(), order.begin() + top, order.end(), better);
  TopLogits out;
  for (int64_t i = 0; i < top; ++i) {
    out.ids.push_back(order[size_t(i)]);
    out.logits.push_back(row[order[size_t(i)]]);
  }
  return out;
}

}  // namespace

void check_ids(const Model::Impl& m, const std::vector<int32_t>& ids) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= m.sizes.vocabulary)
      throw Error(ErrorCode::invalid_argument, cat("token id ", ids[i], " at position ", int64_t(i), " is outside the vocabulary; 0 to ",
                                                   m.sizes.vocabulary - 1, " are in it"));
}

std::vector<TopLogits> Model::score(const std::vector<int32_t>& ids, int64_t top, Cancel* cancel) {
  Impl& m = *impl_;
  const Busy busy(m);
  if (top < 1) throw Error(ErrorCode::invalid_argument, cat("the ", top, " best logits were asked for; 1 or more make sense"));
  check_ids(m, ids);
  const int64_t count = int64_t(ids.size()), V = m.sizes.vocabulary;
  if (count > m.session.context())
    throw Error(ErrorCode::context_length, cat(count, " ids do not fit in the context of ", m.session.context(), " tokens; ", room_hint(m, count)));
  m.session.begin();
  if (count > 0) m.session.reserve(count);
  std::vector<TopLogits> out;
  for (int64_t at = 0; at < count; at += Session::score_chunk) {
    if (cancel && cancel->requested) throw Error(ErrorCode::cancelled, cat("scoring was cancelled after ", at, " of ", count, " ids"));
    const int64_t end = std::min(at + Session::score_chunk, count);
    const std::vector<int32_t> chunk(ids.begin() + at, ids.begin() + end);
    const std::vector<float> logits = m.session.run(chunk, Output::logits).to_vector<float>();
    for (int64_t row = 0; row < end - at; ++row) out.push_back(best_of(logits.data() + row * V, V, top));
  }
  return out;
}

std::string room_hint(const Model::Impl& m, int64_t needed) {
  if (needed <= m.sizes.context) return cat("a context (--ctx) of ", needed, " or more would hold it; the model allows ", m.sizes.context);
  return cat("the model allows ", m.sizes.context, " at most, so a shorter text is needed");
}

// ------------------------------------------------------------------------------------------------ tokens, accessors

Tokenizer Tokenizer::load(const std::string& path) {
  return Tokenizer(std::make_shared<BpeTokenizer>(tokenizer_from_gguf(Gguf::open(open_file(path)))));
}
std::vector<int32_t> Tokenizer::encode(std::string_view text, bool parse_special) const {
  return tokenizer_->encode(text, {.parse_special = parse_special});
}
std::string Tokenizer::decode(const std::vector<int32_t>& ids) const { return tokenizer_->decode(ids); }

std::vector<int32_t> Model::encode(std::string_view text, bool parse_special) const {
  return impl_->tokenizer.encode(text, {.parse_special = parse_special});
}
std::string Model::decode(const std::vector<int32_t>& ids) const { return impl_->tokenizer.decode(ids); }
const std::string& Model::architecture() const { return impl_->sizes.architecture; }
int64_t Model::context() const { return impl_->session.context(); }
int64_t Model::vocabulary() const { return impl_->sizes.vocabulary; }
const Device& Model::device() const { return impl_->session.device(); }
const Phase& Model::load_phase() const { return impl_->load; }

// --------------------------------------------------------------------------------------------------------- the plan

namespace {

Compiled plan_of(const Gguf& gguf, HyperParameters h, int64_t layers, int64_t context, const Device& device, int64_t tokens, DType kv) {
  h.layers = layers;
  WeightReader weights(gguf, device, WeightReader::Mode::shapes);
  Session session(find_architecture(gguf)(h, weights), h, device, context, kv);
  session.reserve(tokens);
  return session.compile_run(tokens, Output::greedy);
}

}  // namespace

void Model::plan_all(const std::string& path, const Device& device, const LoadOptions& options) {
  check_kv(options.kv_dtype);
  const Gguf gguf = Gguf::open(open_file(path));
  const DecoderBuilder build = find_architecture(gguf);
  const HyperParameters h = read_hyper_parameters(gguf);
  const int64_t context = choose_context(h, path, options.context);
  WeightReader weights(gguf, device, WeightReader::Mode::shapes);
  Session session(build(h, weights), h, device, context, options.kv_dtype);
  for (int64_t tokens : {int64_t(1), int64_t(2), std::min(Session::prefill_chunk, context)}) {
    session.reserve(tokens);
    for (Output output : {Output::none, Output::greedy, Output::sampled, Output::logits}) session.compile_run(tokens, output);
  }
}

std::string Model::plan(const std::string& path, const Device& device, int64_t tokens, bool json, const LoadOptions& options) {
  check_kv(options.kv_dtype);
  const Gguf gguf = Gguf::open(open_file(path));
  find_architecture(gguf);
  const HyperParameters h = read_hyper_parameters(gguf);
  const int64_t context = choose_context(h, path, options.context);
  if (tokens < 1 || tokens > std::min(Session::prefill_chunk, context))
    throw Error(ErrorCode::invalid_argument, cat("a plan of ", tokens, " tokens was asked for; longer prompts run in chunks of ",
                                                 Session::prefill_chunk, ", so 1 to ", std::min(Session::prefill_chunk, context), " work"));
  const auto plan_with = [&](int64_t layers) { return plan_of(gguf, h, layers, context, device, tokens, options.kv_dtype); };
  const Compiled whole = plan_with(h.layers);
  // The layers are alike: what one more of them costs is the difference.
  const int64_t per_layer = h.layers > 1 ? (whole.launches() - plan_with(1).launches()) / (h.layers - 1) : whole.launches();
  const int64_t others = whole.launches() - per_layer * h.layers;
  if (json)
    return cat("{\"architecture\":\"", h.architecture, "\",\"device\":\"", device.name(), "\",\"tokens\":", tokens, ",\"layers\":", h.layers,
               ",\"launches_per_layer\":", per_layer, ",\"peak_bytes\":", whole.peak_bytes(), ",\"plan\":", whole.plan_json(), "}");
  return cat(tokens == 1 ? std::string("decode step") : cat("prompt chunk of ", tokens, " tokens"), " of ", h.architecture, " (", h.layers,
             " layers, ", h.channels, " channels, ", h.heads, " heads over ", h.kv_heads, ") on ", device.name(), "\n", whole.plan_text(),
             "summary: ", whole.launches(), " launches: ", per_layer, " in each of ", h.layers, " layers, ", others, " outside them; ",
             whole.peak_bytes(), " bytes of work space and results\n");
}

}  // namespace tenon::llm
