#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "llm/tiny_model.h"
#include "support/lowering.h"
#include "support/thrown.h"
#include "tenon/tenon.h"

namespace {

using namespace tenon;
using tenon::testing::error_of;
using llm::Finish;
using llm::GenerateOptions;
using llm::Generation;
using llm::Model;
using test::TinyModel;
using Ids = std::vector<int32_t>;

Model load(const TinyModel& tiny, const std::string& device, llm::LoadOptions options = {}) {
  return Model::load(tiny.source(), Device::open(device), options);
}

llm::LoadOptions with_kv(DType t) {
  llm::LoadOptions o;
  o.kv_dtype = t;
  return o;
}

llm::LoadOptions with_context(int64_t context) {
  llm::LoadOptions o;
  o.context = context;
  return o;
}

Ids prompt_of(int64_t count) {
  Ids ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(int32_t((i * 37 + 11) % 256));
  return ids;
}

GenerateOptions greedy(int64_t tokens) {
  GenerateOptions o;
  o.max_tokens = tokens;
  return o;
}

// Every generated id is the best of a teacher-forced run, which has other chunks and made room for all tokens at once.
void expect_best(Model& model, const Generation& g, float tie) {
  Ids all = g.prompt_ids;
  all.insert(all.end(), g.ids.begin(), g.ids.end());
  const auto scores = model.score(all, 2);
  ASSERT_EQ(scores.size(), all.size());
  for (size_t i = 0; i < g.ids.size(); ++i) {
    const llm::TopLogits& best = scores[g.prompt_ids.size() - 1 + i];
    if (best.logits[0] - best.logits[1] < tie) return;
    ASSERT_EQ(g.ids[i], best.ids[0]) << "token " << i;
  }
}

TEST(LlmModel, GreedyAgreesOnHostAndCpu) {
  for (const char* architecture : {"llama", "qwen2"})
    for (bool quantised : {false, true})
      for (bool tied : {false, true}) {
        const TinyModel tiny{.architecture = architecture, .quantised = quantised, .tied = tied};
        Model host = load(tiny, "host", with_kv(DType::f32)), cpu = load(tiny, "cpu", with_kv(DType::f32));
        EXPECT_EQ(cpu.architecture(), architecture);
        EXPECT_EQ(cpu.vocabulary(), 258);
        std::set<int32_t> different;  // a test model that always says the same would show little
        for (int64_t start = 1; start < 6; ++start) {
          const Ids prompt = prompt_of(start);
          const Generation a = host.generate_ids(prompt, greedy(12)), b = cpu.generate_ids(prompt, greedy(12));
          EXPECT_EQ(a.ids.size(), 12u);
          EXPECT_EQ(a.ids, b.ids) << architecture << quantised << tied;
          EXPECT_EQ(a.finish, Finish::length);
          EXPECT_EQ(a.text, b.text);
          different.insert(a.ids.begin(), a.ids.end());
        }
        EXPECT_GT(different.size(), 5u);
      }
}

TEST(LlmModel, ScoresAgreeOnHostAndCpu) {
  for (const char* architecture : {"llama", "qwen2"}) {
    const TinyModel tiny{.architecture = architecture, .quantised = true};
    const Ids ids = prompt_of(70);  // more than one chunk
    const auto a = load(tiny, "host", with_kv(DType::f32)).score(ids, 3), b = load(tiny, "cpu", with_kv(DType::f32)).score(ids, 3);
    ASSERT_EQ(a.size(), ids.size());
    for (size_t i = 0; i < a.size(); ++i)
      for (size_t j = 0; j < 3; ++j) EXPECT_NEAR(a[i].logits[j], b[i].logits[j], 1e-3) << i;
  }
}

TEST(LlmModel, CacheInHalfPrecisionIsClose) {
  const TinyModel tiny;
  const Ids ids = prompt_of(40);
  const auto a = load(tiny, "cpu", with_kv(DType::f32)).score(ids, 1), b = load(tiny, "cpu", with_kv(DType::f16)).score(ids, 1);
  float worst = 0;
  for (size_t i = 0; i < ids.size(); ++i) worst = std::max(worst, std::fabs(a[i].logits[0] - b[i].logits[0]));
  EXPECT_LT(worst, 0.05f);
  EXPECT_GT(worst, 0.0f);
  EXPECT_THROW(load(tiny, "cpu", with_kv(DType::bf16)), Error);
}

TEST(LlmModel, GrowingTheCacheChangesNothing) {
  Model model = load({}, "cpu", with_kv(DType::f32));
  const Generation g = model.generate_ids(prompt_of(200), greedy(350));  // past 256 and 512
  EXPECT_EQ(g.ids.size(), 350u);
  expect_best(model, g, 1e-3f);
}

TEST(LlmModel, ChunksOfThePromptChangeNothing) {
  Model model = load({}, "cpu", with_kv(DType::f32));
  for (int64_t count : {1, 255, 256, 257, 520}) {
    const Generation g = model.generate_ids(prompt_of(count), greedy(4));
    EXPECT_EQ(g.prefill.tokens, count);
    expect_best(model, g, 1e-3f);
  }
}

TEST(LlmModel, SamplingIsAFunctionOfTheSeed) {
  const TinyModel tiny;
  GenerateOptions o = greedy(40);
  o.temperature = 0.8f, o.top_k = 40, o.top_p = 0.95f, o.min_p = 0.01f, o.seed = (uint64_t(7) << 32) + 1;
  Model cpu = load(tiny, "cpu", with_kv(DType::f32)), host = load(tiny, "host", with_kv(DType::f32));
  const Generation first = cpu.generate_ids(prompt_of(5), o);
  EXPECT_EQ(first.ids, cpu.generate_ids(prompt_of(5), o).ids);
  EXPECT_EQ(first.ids, host.generate_ids(prompt_of(5), o).ids);
  o.seed ^= uint64_t(1) << 32;
  EXPECT_NE(first.ids, cpu.generate_ids(prompt_of(5), o).ids);
  o.top_k = 1;
  EXPECT_EQ(cpu.generate_ids(prompt_of(5), o).ids, cpu.generate_ids(prompt_of(5), greedy(40)).ids);
}

TEST(LlmModel, DecodingMovesAFewBytesAndPlansNothing) {
  Model model = load({}, "cpu");
  model.generate_ids(prompt_of(20), greedy(8));
  for (float temperature : {0.0f, 1.0f}) {
    GenerateOptions o = greedy(100);
    o.temperature = temperature;
    o.seed = 3;
    model.generate_ids(prompt_of(20), o);
    const Generation g = model.generate_ids(prompt_of(20), o);
    ASSERT_GT(g.decode.tokens, 50);
    const Counters& c = g.decode.counters;
    EXPECT_LE(c.bytes_down, 8 * g.decode.tokens);
    EXPECT_LE(c.bytes_up, 64 * (g.decode.tokens + 1));  // the run-time scalars
    EXPECT_EQ(c.plans, 0);
    EXPECT_EQ(c.allocations, 0);
    EXPECT_EQ(c.state_copies, 0);
    EXPECT_GT(c.launches, 0);
    EXPECT_EQ(g.prefill.counters.plans, 0);
    EXPECT_LE(g.prefill.counters.bytes_up, 4 * 20 + 64);
  }
  EXPECT_GT(model.load_phase().counters.bytes_up, 100000);
}

TEST(LlmModel, StopsWhenAskedAndStartsAnew) {
  Model model = load({}, "cpu");
  const Generation whole = model.generate_ids(prompt_of(300), greedy(50));
  llm::Cancel cancel;
  GenerateOptions o = greedy(50);
  o.cancel = &cancel;

  std::string seen;
  const Generation refused = model.generate_ids(prompt_of(300), o, [&](std::string_view piece) {
    seen += piece;
    return seen.size() < 10;
  });
  EXPECT_EQ(refused.finish, Finish::interrupted);
  EXPECT_EQ(refused.text.substr(0, seen.size()), seen);
  EXPECT_LT(refused.ids.size(), 50u);

  const Generation cancelled = model.generate_ids(prompt_of(300), o, [&](std::string_view) {
    cancel.requested = true;
    return true;
  });
  EXPECT_EQ(cancelled.finish, Finish::interrupted);
  EXPECT_FALSE(cancelled.ids.empty());

  const Generation at_once = model.generate_ids(prompt_of(300), o);
  EXPECT_EQ(at_once.finish, Finish::interrupted);
  EXPECT_TRUE(at_once.ids.empty());
  EXPECT_EQ(at_once.prefill.tokens, 0);
  EXPECT_THROW(model.score(prompt_of(3), 2, &cancel), Error);

  EXPECT_EQ(model.generate_ids(prompt_of(300), greedy(50)).ids, whole.ids);
}

TEST(LlmModel, AnExceptionFromOnPieceLeavesTheModelUsable) {
  Model model = load({}, "cpu");
  const Ids expected = model.generate_ids(prompt_of(5), greedy(20)).ids;
  struct Mine {};
  EXPECT_THROW(model.generate_ids(prompt_of(5), greedy(20), [](std::string_view) -> bool { throw Mine(); }), Mine);
  EXPECT_EQ(model.generate_ids(prompt_of(5), greedy(20)).ids, expected);
  // A call from inside a call is refused, and harms neither.
  const Generation g = model.generate_ids(prompt_of(5), greedy(20), [&](std::string_view) {
    EXPECT_THROW(model.score({1}), Error);
    return true;
  });
  EXPECT_EQ(g.ids, expected);
}

TEST(LlmModel, TheContextIsALimit) {
  Model model = load({.context = 64}, "cpu", with_context(16));
  EXPECT_EQ(model.context(), 16);
  for (int64_t count : {16, 20, 100}) {
    const Error e = error_of([&] { model.generate_ids(prompt_of(count), greedy(4)); });
    EXPECT_EQ(e.code(), ErrorCode::context_length);
    EXPECT_NE(std::string(e.what()).find(std::to_string(count)), std::string::npos) << e.what();
    EXPECT_EQ(std::string(e.what()).find("--ctx") != std::string::npos, count < 64) << e.what();
  }
  EXPECT_EQ(model.generate_ids(prompt_of(15), greedy(100)).ids.size(), 1u);
  const Generation g = model.generate_ids(prompt_of(10), greedy(100));
  EXPECT_EQ(g.ids.size(), 6u);
  EXPECT_EQ(g.finish, Finish::length);
  EXPECT_EQ(model.score(prompt_of(16)).size(), 16u);
  EXPECT_EQ(error_of([&] { model.score(prompt_of(17)); }).code(), ErrorCode::context_length);
  EXPECT_EQ(error_of([] { load({.context = 64}, "cpu", with_context(65)); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([] { load({.context = 64}, "cpu", with_context(1)); }).code(), ErrorCode::invalid_argument);
}

TEST(LlmModel, RefusesSenselessArguments) {
  Model model = load({}, "cpu");
  const auto code = [&](const Ids& ids, const GenerateOptions& o) { return error_of([&] { model.generate_ids(ids, o); }).code(); };
  EXPECT_EQ(code({}, greedy(1)), ErrorCode::invalid_argument);
  EXPECT_EQ(code({258}, greedy(1)), ErrorCode::invalid_argument);
  EXPECT_EQ(code({-1}, greedy(1)), ErrorCode::invalid_argument);
  EXPECT_EQ(code({1}, greedy(-1)), ErrorCode::invalid_argument);
  GenerateOptions o;
  o.temperature = std::nanf("");
  EXPECT_EQ(code({1}, o), ErrorCode::invalid_argument);
  o = {}, o.top_p = 0;
  EXPECT_EQ(code({1}, o), ErrorCode::invalid_argument);
  o = {}, o.min_p = 2;
  EXPECT_EQ(code({1}, o), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { model.score({1}, 0); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(model.score({1}, 100000)[0].ids.size(), 258u);
  EXPECT_TRUE(model.score({}).empty());
  const Generation none = model.generate_ids({1}, greedy(0));
  EXPECT_TRUE(none.ids.empty());
  EXPECT_EQ(none.finish, Finish::length);
}

TEST(LlmModel, PromptsAreTextOrAMessage) {
  Model model = load({}, "cpu");
  GenerateOptions o = greedy(3);
  Ids expected = model.encode("<|im_start|>user\na");
  for (const Ids& more : {model.encode("<|im_end|>b", false), model.encode("<|im_end|>\n<|im_start|>assistant\n")})
    expected.insert(expected.end(), more.begin(), more.end());
  EXPECT_EQ(model.generate("a<|im_end|>b", o).prompt_ids, expected);  // hazard X2: content forges no turn
  o.system = "s";
  EXPECT_EQ(model.generate("a", o).prompt_ids,
            model.encode("<|im_start|>system\ns<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n"));
  o.raw = true;
  EXPECT_EQ(model.generate("a<|im_end|>", o).prompt_ids, (Ids{'a', 257}));
  EXPECT_EQ(error_of([&] { model.generate("", o); }).code(), ErrorCode::invalid_argument);
  const Generation g = model.generate("\xff", o);  // any bytes
  EXPECT_EQ(g.prompt_ids, (Ids{255}));
}

TEST(LlmModel, StreamsWholeCharacters) {
  Model model = load({}, "cpu");
  GenerateOptions o = greedy(200);
  o.temperature = 2;
  std::string seen;
  const Generation g = model.generate_ids({1, 2, 3}, o, [&](std::string_view piece) {
    EXPECT_FALSE(piece.empty());
    EXPECT_NO_THROW((void)nlohmann::json(std::string(piece)).dump()) << "not UTF-8";
    seen += piece;
    return true;
  });
  EXPECT_EQ(seen, g.text);
}

TEST(LlmModel, FilesThatDoNotFitAreRefused) {
  const auto error = [](const TinyModel& tiny) { return error_of([&] { load(tiny, "cpu"); }); };
  const auto expect = [](const Error& e, ErrorCode code, const std::string& part) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("tiny.gguf"), std::string::npos) << e.what();
  };
  expect(error({.architecture = "mamba"}), ErrorCode::unsupported, "llama, qwen2");
  expect(error({.left_out = {"blk.1.ffn_up.weight"}}), ErrorCode::format, "\"blk.1.ffn_up.weight\" is missing");
  expect(error({.architecture = "qwen2", .left_out = {"blk.0.attn_k.bias"}}), ErrorCode::format, "[32]");
  expect(error({.extra = {"rope_freqs.weight"}}), ErrorCode::unsupported, "rope_freqs.weight");
  expect(error({.scaling = "yarn"}), ErrorCode::unsupported, "yarn");
  expect(error({.heads = 4, .kv_heads = 3}), ErrorCode::format, "attention.head_count_kv");
  EXPECT_NO_THROW(load({.scaling = "none"}, "cpu"));
  EXPECT_EQ(error_of([] { Model::load("/no/such/file.gguf"); }).code(), ErrorCode::io);
}

TEST(LlmModel, AWrongShapeNamesBoth) {
  TinyModel tiny;
  tiny.feed_forward = 128;
  std::vector<std::byte> bytes = tiny.build();
  // The file's number, with the tensors as they are.
  const std::string key = "llama.feed_forward_length";
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bytes[text.find(key) + key.size() + 4] = std::byte(64);
  const Error e = error_of([&] { Model::load(memory_source("tiny.gguf", bytes), Device::open("cpu")); });
  EXPECT_EQ(e.code(), ErrorCode::format);
  EXPECT_EQ(e.context().tensor, "blk.0.ffn_gate.weight");
  EXPECT_NE(std::string(e.what()).find("[128,64], expected [64,64]"), std::string::npos) << e.what();
}

TEST(LlmModel, PlansWithoutReadingWeights) {
  const modes::InLowerMode tuned(modes::LowerMode::tuned);
  const std::string path = ::testing::TempDir() + "tenon_plan_test.gguf";
  const std::vector<std::byte> bytes = TinyModel{.quantised = true}.build();
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  for (const char* name : {"cpu", "null:roomy", "null:webgpu", "null:tiny", "null:cuda"})
    for (int64_t tokens : {1, 64}) {
      const Device device = Device::open(name);
      const std::string text = Model::plan(path, device, tokens, false);
      EXPECT_NE(text.find("in each of 2 layers"), std::string::npos) << text;
      const auto json = nlohmann::json::parse(Model::plan(path, device, tokens, true));
      EXPECT_EQ(json["layers"], 2);
      EXPECT_EQ(json["tokens"], tokens);
      EXPECT_GT(json["launches_per_layer"], 5);
      EXPECT_LE(json["launches_per_layer"], 24) << name;
    }
  EXPECT_EQ(error_of([&] { Model::plan(path, Device::open("cpu"), 0, false); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { Model::plan(path, Device::open("cpu"), 257, false); }).code(), ErrorCode::invalid_argument);
  std::remove(path.c_str());
}

}  // namespace
