// tenon score: what a model thinks of given tokens.
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "interrupt.h"
#include "model_options.h"
#include "output.h"

namespace tenon::cli {
namespace {

struct ScoreOptions {
  ModelOptions model;
  std::string ids;
  int64_t top = 2;
  bool json = false;
};

std::vector<int32_t> read_ids(const std::string& path) {
  const Json json = Json::parse(read_file(path), nullptr, false);
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::format, path + ": " + what + "; a JSON array of token ids is needed, such as [1, 22, 333]", {.path = path});
  };
  if (json.is_discarded()) refuse("is not JSON");
  if (!json.is_array()) refuse("is not an array");
  std::vector<int32_t> ids;
  for (const Json& id : json) {
    if (!id.is_number_integer() || id < 0 || id > INT32_MAX) refuse("holds " + to_line(id).substr(0, 40) + " which is no token id");
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

std::string to_table(const llm::Model& m, const std::vector<int32_t>& ids, const std::vector<llm::TopLogits>& positions) {
  std::string out = "position        id  best ids and logits\n";
  const auto row = [&](const char* format, auto... values) {
    char buffer[128];
    std::snprintf(buffer, sizeof buffer, format, values...);
    out += buffer;
  };
  for (size_t i = 0; i < positions.size(); ++i) {
    row("%8lld  %8d ", static_cast<long long>(i), ids[i]);
    for (size_t j = 0; j < positions[i].ids.size(); ++j) {
      row(" %d (%.6g) ", positions[i].ids[j], double(positions[i].logits[j]));
      out += Json(m.decode({positions[i].ids[j]})).dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    out += "\n";
  }
  return out;
}

int score(const ScoreOptions& o) {
  const std::vector<int32_t> ids = read_ids(o.ids);
  llm::Model model = o.model.load();
  std::vector<llm::TopLogits> positions;
  try {
    positions = model.score(ids, o.top, &cancel_on_interrupt());
  } catch (const Error& e) {
    if (e.code() != ErrorCode::cancelled) throw;
    std::fprintf(stderr, "tenon: error: %s\n", e.what());
    return exit_interrupted;
  }
  if (!o.json) return write_output(to_table(model, ids, positions)), exit_ok;
  Json list = Json::array();
  for (const llm::TopLogits& p : positions) list.push_back({{"ids", p.ids}, {"logits", p.logits}});
  write_output(to_line({{"positions", std::move(list)}, {"device", model.device().name()}}));
  return exit_ok;
}

}  // namespace

void add_score(CLI::App& app, Action& chosen) {
  auto o = std::make_shared<ScoreOptions>();
  CLI::App& c = *app.add_subcommand("score", "Feed given token ids and print the best logits after each");
  o->model.kv = "f32";
  add_model_options(c, o->model);
  c.add_option("--ids", o->ids, "A file with a JSON array of token ids")->required()->type_name("FILE");
  c.add_option("--top", o->top, "How many of the best ids for each position")->check(CLI::Range(1, 1 << 20))->capture_default_str()->type_name("N");
  c.add_flag("--json", o->json, "Print {\"positions\": [{\"ids\": [..], \"logits\": [..]}, ..], \"device\": ..}");
  c.footer("Keys and values are stored as f32 here, so that the logits are as exact as the device computes.\n\n"
           "  echo '[19556, 905]' > ids.json && tenon score model.gguf --ids ids.json");
  c.callback([&chosen, o] { chosen = [o] { return score(*o); }; });
}

}  // namespace tenon::cli
