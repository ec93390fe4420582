// tenon bench: how fast models and ops run here.
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "commands.h"
#include "first_token.h"
#include "measure.h"
#include "model_options.h"
#include "output.h"

namespace tenon::cli {
namespace {

// ------------------------------------------------------------------------------------------------------------ models

struct ModelBench {
  ModelOptions model;
  std::string random;
  int64_t prompt = 512, decode = 128, depth = 0;
  int repeats = 5;
  bool json = false, only_first = false;
  std::string trace;
};

std::vector<int32_t> random_ids(int64_t count, int64_t vocabulary) {
  std::vector<int32_t> ids;
  uint64_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ids.push_back(int32_t((state >> 33) % uint64_t(vocabulary)));
  }
  return ids;
}

llm::Generation generate(llm::Model& model, int64_t prompt, int64_t tokens) {
  llm::GenerateOptions o;
  o.max_tokens = tokens;
  o.ignore_end = true;
  return model.generate_ids(random_ids(prompt, model.vocabulary()), o);
}

// Tokens a second of a phase; the first run, which makes plans and kernels, is left out.
Sample measure_phase(llm::Model& model, int64_t prompt, int64_t tokens, int repeats, llm::Phase llm::Generation::* phase) {
  std::vector<double> rates;
  for (int i = 0; i <= repeats; ++i) {
    const llm::Generation g = generate(model, prompt, tokens);
    const llm::Phase& p = g.*phase;
    if (i > 0 && p.seconds > 0) rates.push_back(double(p.tokens) / p.seconds);
  }
  return summarise(std::move(rates));
}

llm::Model load(ModelBench& o) {
  if (o.random.empty()) return o.model.load();
  llm::LoadOptions options = o.model.load_options();
  return llm::Model::load(llm::random_weights(o.random), o.model.open_device(), options);
}

// The command that ends after this model's first token.
std::vector<std::string> first_token_command(const ModelBench& o, const Device& device) {
  std::vector<std::string> words{"bench", "--only-first-token", "--device", device.name(), "--kv", o.model.kv, "--ctx", std::to_string(o.model.context)};
  for (const std::string& w : o.random.empty() ? std::vector{o.model.path} : std::vector<std::string>{"--random-weights", o.random}) words.push_back(w);
  return words;
}

std::string to_text(const FirstToken& t) {
  char text[160];
  std::snprintf(text, sizeof text, "start to first token: %.2f s with nothing compiled, %.2f s with kernels on disk", t.cold, t.warm);
  std::string out = text;
  if (t.shipped < 0) return out + "; none ship\n";
  std::snprintf(text, sizeof text, ", %.2f s with those that ship\n", t.shipped);
  return out + text;
}

Json to_json(const FirstToken& t) {
  return Json{{"cold_s", t.cold}, {"warm_s", t.warm}, {"shipped_s", t.shipped < 0 ? Json(nullptr) : Json(t.shipped)}};
}

int bench_model(ModelBench& o) {
  if (o.model.path.empty() == o.random.empty())
    throw Error(ErrorCode::invalid_argument, "bench needs either a MODEL file or --random-weights");
  if (o.model.context == 0) o.model.context = std::max<int64_t>({o.prompt + 2, o.depth + o.decode + 2, 32});
  const auto start = std::chrono::steady_clock::now();
  llm::Model model = load(o);
  const llm::Generation first = generate(model, 1, 1);
  const double to_first_token = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (o.only_first) return exit_ok;
  std::optional<FirstToken> first_token;
  if (model.device().keeps_kernels()) first_token = measure_first_token(first_token_command(o, model.device()));
  const Sample prefill = measure_phase(model, o.prompt, 1, o.repeats, &llm::Generation::prefill);
  const Sample decode = measure_phase(model, std::max<int64_t>(o.depth, 1), o.decode + 1, o.repeats, &llm::Generation::decode);
  if (!o.trace.empty()) {
    OutputFile file(o.trace);
    start_trace();
    generate(model, std::max<int64_t>(o.depth, 1), o.decode + 1);
    model.device().synchronize();
    file.write(stop_trace());
  }
  const std::string name = o.random.empty() ? o.model.path : "random " + o.random;
  if (o.json) {
    write_output(to_line(Json{{"model", name},
                              {"device", model.device().name()},
                              {"description", model.device().description()},
                              {"prompt", o.prompt},
                              {"decode", o.decode},
                              {"depth", o.depth},
                              {"load_s", model.load_phase().seconds},
                              {"first_token_s", to_first_token},
                              {"start_to_first_token", first_token ? to_json(*first_token) : Json(nullptr)},
                              {"prefill_tok_s", to_json(prefill)},
                              {"decode_tok_s", to_json(decode)},
                              {"peak_bytes", model.device().peak_memory_bytes()}}));
    return exit_ok;
  }
  char head[160];
  std::snprintf(head, sizeof head, "load %.2f s, first token after %.2f s, peak %.1f MiB\n", model.load_phase().seconds, to_first_token,
                double(model.device().peak_memory_bytes()) / (1 << 20));
  write_output(name + " on " + model.device().name() + " (" + model.device().description() + ")\n" + head +
               (first_token ? to_text(*first_token) : std::string()) + "prefill " +
               std::to_string(o.prompt) + ": " + to_text(prefill) + " tok/s\ndecode " + std::to_string(o.decode) +
               (o.depth > 0 ? " after " + std::to_string(o.depth) : std::string()) + ": " + to_text(decode) + " tok/s\n");
  return exit_ok;
}

// --------------------------------------------------------------------------------------------------------------- ops

struct OpBench {
  ModelOptions where;
  int64_t m = 1024, n = 1024, k = 1024, mib = 64;
  std::string dtype = "f32";
  int repeats = 20;
  bool json = false;
};

DType dtype_named(const std::string& name) { return name == "f16" ? DType::f16 : name == "bf16" ? DType::bf16 : DType::f32; }

// Uniform in [-1, 1).
Tensor random_values(Shape shape, DType dtype, uint64_t seed, const Device& device) {
  const Tensor bits = random_bits(std::move(shape), seed, 0, device);
  Tensor x = cast(cast(bitwise_right_shift(bits, full({}, 8, DType::u32, device)), DType::f32) * (1.0 / 8388608) - 1.0, dtype);
  eval(x);
  return x;
}

// Seconds of the replay of a compiled function.
std::vector<double> time_replay(int repeats, const Device& device, const std::vector<Tensor>& inputs, const Compiled::Function& f) {
  const Compiled compiled = compile(f, inputs, device);
  return time_calls(repeats, [&] {
    const std::vector<Tensor> out = compiled(inputs);
    device.synchronize();
  });
}

int bench_matmul(OpBench& o) {
  const Device device = o.where.open_device();
  const DType t = dtype_named(o.dtype);
  const Tensor a = random_values({o.m, o.k}, t, 1, device), b = random_values({o.k, o.n}, t, 2, device);
  const auto seconds = time_replay(o.repeats, device, {a, b}, [](const std::vector<Tensor>& in) { return std::vector{matmul(in[0], in[1])}; });
  std::vector<double> rates;
  for (double s : seconds) rates.push_back(2e-9 * double(o.m) * double(o.n) * double(o.k) / s);
  const Sample gflops = summarise(std::move(rates));
  if (o.json) write_output(to_line(Json{{"device", device.name()}, {"dtype", o.dtype}, {"m", o.m}, {"n", o.n}, {"k", o.k}, {"gflops", to_json(gflops)}}));
  else write_output("matmul " + o.dtype + " " + std::to_string(o.m) + " x " + std::to_string(o.n) + " x " + std::to_string(o.k) + " on " +
                    device.name() + ": " + to_text(gflops) + " GFLOP/s\n");
  return exit_ok;
}

struct OpRow {
  const char* name;
  int inputs;        // full tensors that are read
  int64_t outputs;   // full tensors that are written
  Compiled::Function function;
};

std::vector<OpRow> op_rows(int64_t columns, const Device& device) {
  const Tensor ones = full({columns}, 1.0, DType::f32, device);
  const auto one = [](Tensor t) { return std::vector{std::move(t)}; };
  return {
      {"copy", 1, 1, [=](const std::vector<Tensor>& x) { return one(concat({x[0]}, 0)); }},
      {"add + gelu", 2, 1, [=](const std::vector<Tensor>& x) { return one(gelu(x[0] + x[1])); }},
      {"3-input map", 3, 1, [=](const std::vector<Tensor>& x) { return one(x[0] * x[1] + x[2]); }},
      {"softmax", 1, 1, [=](const std::vector<Tensor>& x) { return one(softmax(x[0])); }},
      {"rms_norm", 1, 1, [=](const std::vector<Tensor>& x) { return one(rms_norm(x[0], ones)); }},
      {"layer_norm", 1, 1, [=](const std::vector<Tensor>& x) { return one(layer_norm(x[0], ones, ones)); }},
      {"logsumexp", 1, 0, [=](const std::vector<Tensor>& x) { return one(logsumexp(x[0], -1)); }},
      {"sum", 1, 0, [=](const std::vector<Tensor>& x) { return one(sum(x[0], {-1})); }},
  };
}

int bench_ops(OpBench& o) {
  const Device device = o.where.open_device();
  const int64_t columns = 4096, rows = std::max<int64_t>(1, (o.mib << 20) / (columns * 4));
  std::vector<Tensor> x;
  for (uint64_t i = 0; i < 3; ++i) x.push_back(random_values({rows, columns}, DType::f32, i + 1, device));
  Json list = Json::array();
  std::string text = "f32 [" + std::to_string(rows) + ", " + std::to_string(columns) + "] on " + device.name() + ": GB/s read and written\n";
  double copy = 0;
  for (const OpRow& row : op_rows(columns, device)) {
    const std::vector<Tensor> inputs(x.begin(), x.begin() + row.inputs);
    std::vector<double> rates;
    for (double s : time_replay(o.repeats, device, inputs, row.function))
      rates.push_back(1e-9 * double((row.inputs + row.outputs) * rows * columns * 4) / s);
    const Sample rate = summarise(std::move(rates));
    if (copy == 0) copy = rate.median;
    char line[160];
    std::snprintf(line, sizeof line, "%-12s %s, %.2f of copy\n", row.name, to_text(rate).c_str(), rate.median / copy);
    text += line;
    list.push_back({{"op", row.name}, {"gb_s", to_json(rate)}, {"of_copy", rate.median / copy}});
  }
  write_output(o.json ? to_line(Json{{"device", device.name()}, {"rows", rows}, {"columns", columns}, {"ops", list}}) : text);
  return exit_ok;
}

void add_where(CLI::App& c, ModelOptions& o) {
  add_device_option(c, o);
  c.add_option("--threads", o.threads, "Threads of the processor (default: all that this process may use)")
      ->check(CLI::Range(1, 4096))->type_name("N");
}

void add_matmul(CLI::App& bench, Action& chosen) {
  auto o = std::make_shared<OpBench>();
  CLI::App& c = *bench.add_subcommand("matmul", "A matrix product, through a compiled replay");
  for (auto [name, value] : {std::pair{"--m", &o->m}, {"--n", &o->n}, {"--k", &o->k}})
    c.add_option(name, *value, "Size")->check(CLI::Range(int64_t(1), int64_t(1) << 20))->capture_default_str()->type_name("N");
  c.add_option("--dtype", o->dtype, "f32, f16 or bf16")->check(CLI::IsMember({"f32", "f16", "bf16"}))->capture_default_str()->type_name("T");
  c.add_option("-r", o->repeats, "Repeats")->check(CLI::Range(1, 100000))->capture_default_str()->type_name("N");
  c.add_flag("--json", o->json, "Print JSON");
  add_where(c, o->where);
  c.callback([&chosen, o] { chosen = [o] { return bench_matmul(*o); }; });
}

void add_ops(CLI::App& bench, Action& chosen) {
  auto o = std::make_shared<OpBench>();
  CLI::App& c = *bench.add_subcommand("ops", "Ops that are bound by memory, beside a copy");
  c.add_option("--mib", o->mib, "Size of a tensor in MiB")->check(CLI::Range(1, 1 << 20))->capture_default_str()->type_name("N");
  c.add_option("-r", o->repeats, "Repeats")->check(CLI::Range(1, 100000))->capture_default_str()->type_name("N");
  c.add_flag("--json", o->json, "Print JSON");
  add_where(c, o->where);
  c.callback([&chosen, o] { chosen = [o] { return bench_ops(*o); }; });
}

}  // namespace

void add_bench(CLI::App& app, Action& chosen) {
  auto o = std::make_shared<ModelBench>();
  CLI::App& c = *app.add_subcommand("bench", "Measure a model (or a matrix product, or ops): median, least and most of several runs");
  add_model_options(c, o->model);
  c.get_option("MODEL")->required(false);
  c.add_flag("--only-first-token", o->only_first)->group("");  // how a bench runs itself
  c.add_option("--random-weights", o->random, "Instead of a file: random weights in a true shape, as qwen2.5-0.5b:bf16, qwen2.5-7b:q4_0, smollm2-135m:q4_1")
      ->type_name("MODEL:TYPE");
  c.add_option("-p", o->prompt, "Tokens of the prompt")->check(CLI::Range(1, 1 << 20))->capture_default_str()->type_name("N");
  c.add_option("-n", o->decode, "Tokens to generate")->check(CLI::Range(1, 1 << 20))->capture_default_str()->type_name("N");
  c.add_option("-d", o->depth, "Tokens in the context before the generation is measured")->check(CLI::NonNegativeNumber)->capture_default_str()->type_name("N");
  c.add_option("-r", o->repeats, "Repeats")->check(CLI::Range(1, 1000))->capture_default_str()->type_name("N");
  c.add_option("--trace", o->trace, "Run the generation once more and write what ran when, for https://ui.perfetto.dev")->type_name("FILE");
  c.add_flag("--json", o->json, "Print JSON");
  c.footer("  tenon bench model.gguf -p 512 -n 128 -r 5 --json\n"
           "  tenon bench --random-weights qwen2.5-0.5b:q8_0 -d 512\n"
           "  tenon bench matmul --m 1024 --n 1024 --k 1024 --dtype bf16\n"
           "  tenon bench ops --mib 64");
  c.callback([&chosen, &c, o] {
    if (c.get_subcommands().empty()) chosen = [o] { return bench_model(*o); };
  });
  add_matmul(c, chosen);
  add_ops(c, chosen);
}

}  // namespace tenon::cli
