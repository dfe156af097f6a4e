#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli.h"
#include "command.h"
#include "hub/cache_index.h"
#include "hub/gguf_name.h"
#include "hub_access.h"
#include "model_flags.h"
#include "printable.h"
#include "progress.h"

namespace millrace::commands {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using std::chrono::system_clock;

// "3 days": the largest unit that fits.
std::string readable_age(system_clock::duration age) {
  constexpr std::pair<std::int64_t, const char*> kUnits[] = {{365 * 86400, "year"}, {30 * 86400, "month"},
                                                             {7 * 86400, "week"},   {86400, "day"},
                                                             {3600, "hour"},        {60, "minute"}};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  for (const auto& [length, name] : kUnits) {
    if (const auto n = seconds / length; n > 0) return fmt::format("{} {}{}", n, name, n == 1 ? "" : "s");
  }
  return "now";
}

std::vector<hub::CachedModel> all_models() {
  std::vector<hub::CachedModel> models;
  const fs::path path = app::default_model_path();
  std::error_code error;
  if (const auto bytes = fs::file_size(path, error); !error) {
    hub::CachedModel model;
    model.reference = "default";
    model.format = "gguf";
    model.quantization = hub::parse_gguf_name(path.filename().string()).quantization;
    model.files = {path.filename().string()};
    model.bytes = bytes;
    model.path = path;
    model.modified = std::chrono::file_clock::to_sys(fs::last_write_time(path, error));
    models.push_back(std::move(model));
  }
  for (const hub::CachedSnapshot& snapshot : hub::read_cache(app::hub_cache())) {
    for (hub::CachedModel& model : hub::models_of(snapshot)) models.push_back(std::move(model));
  }
  return models;
}

Json describe(const hub::CachedModel& model) {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  return {{"name", model.reference},
          {"repository", text_or_null(model.repository)},
          {"commit", text_or_null(model.commit)},
          {"refs", model.refs},
          {"format", text_or_null(model.format)},
          {"quantization", text_or_null(model.quantization)},
          {"bytes", model.bytes},
          {"files", model.files.size()},
          {"complete", model.complete},
          {"modified", std::chrono::duration_cast<std::chrono::seconds>(model.modified.time_since_epoch()).count()},
          {"path", model.path.string()}};
}

void print_table(const std::vector<hub::CachedModel>& models) {
  std::size_t width = 4;
  for (const auto& model : models) width = std::max(width, app::printable(model.reference).size());
  const auto columns = static_cast<int>(width);
  std::printf("%-*s  %-12s  %-18s  %8s  %s\n", columns, "name", "revision", "format", "size", "age");
  for (const hub::CachedModel& model : models) {
    std::string format = model.format.empty() ? "-" : model.format;
    if (!model.quantization.empty()) format += " " + model.quantization;
    if (!model.complete) format = model.format.empty() ? "no model" : "incomplete";
    std::printf("%-*s  %-12s  %-18s  %8s  %s\n", columns, app::printable(model.reference).c_str(),
                model.commit.empty() ? "-" : model.commit.substr(0, 12).c_str(), app::printable(format).c_str(),
                app::readable_bytes(static_cast<double>(model.bytes)).c_str(),
                readable_age(system_clock::now() - model.modified).c_str());
  }
}

int list(bool json, bool names) {
  const std::vector<hub::CachedModel> models = all_models();
  if (names) {
    for (const hub::CachedModel& model : models) std::printf("%s\n", app::printable(model.reference).c_str());
    return 0;
  }
  if (!json) {
    print_table(models);
    return 0;
  }
  Json rows = Json::array();
  for (const hub::CachedModel& model : models) rows.push_back(describe(model));
  std::printf("%s\n", rows.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  return 0;
}

}  // namespace

app::Command list() {
  return {.name = "list",
          .summary = "List the models on this machine: the default and those of the Hugging Face cache",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto json = std::make_shared<bool>(false), names = std::make_shared<bool>(false);
            CLI::Option* as_json = app.add_flag("--json", *json, "Print the list as one JSON array");
            app.add_flag("--names", *names, "Print only the names, one per line")->excludes(as_json);
            return [json, names] { return list(*json, *names); };
          },
          .example = "millrace list"};
}

}  // namespace millrace::commands
