#include "loadtest/report/earlier_run.h"

#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "base/env.h"
#include "loadtest/comparison.h"
#include "loadtest/report/number_text.h"

namespace millrace::loadtest::report {
namespace {

constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 30;
constexpr double kSameLength = 0.05;  // means of lengths, and shares, that differ by less are alike

// Members that say what was asked of which server; "/" goes into an object.
constexpr struct {
  const char *path, *name;
} kLoad[] = {
    {"/model_id", "model"},         {"/target/server", "server"},           {"/backend", "API"},
    {"/load/workload", "workload"}, {"/load/kind", "kind of load"},         {"/load/arrivals", "arrivals"},
    {"/load/users", "users"},       {"/request_rate", "requests a second"}, {"/max_concurrency", "most in flight"},
    {"/load/turns", "turns"},       {"/machine/processor", "processor"}};

Json at(const Json& report, const char* path) {
  const Json::json_pointer pointer(path);
  return report.contains(pointer) ? report[pointer] : Json(nullptr);
}

std::string words(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? number_text(value.get<double>()) : "not known";
}

std::optional<double> mean_length(const Json& report, const char* total) {
  const auto tokens = number(report, total), requests = number(report, "completed");
  return tokens && requests && *requests > 0.0 ? std::optional(*tokens / *requests) : std::nullopt;
}

std::optional<double> cached_share(const Json& report) {
  const auto cached = number(report, "total_cached_tokens"), all = number(report, "total_input_tokens");
  return cached && all && *all > 0.0 ? std::optional(*cached / *all) : std::nullopt;
}

Json differences(const Json& now, const Json& then) {
  Json out = Json::array();
  for (const auto& [path, name] : kLoad) {
    const Json a = at(now, path), b = at(then, path);
    if (a.is_structured() || b.is_structured() || a == b) continue;
    out.push_back(fmt::format("{}: {} now, {} then", name, words(a), words(b)));
  }
  for (const auto& [total, name] : {std::pair{"total_input_tokens", "prompt tokens of a request"},
                                    std::pair{"total_output_tokens", "output tokens of a request"}}) {
    const auto a = mean_length(now, total), b = mean_length(then, total);
    if (!a || !b || std::abs(*a - *b) <= kSameLength * std::max(*a, *b)) continue;
    out.push_back(fmt::format("{}: {} now, {} then", name, number_text(*a), number_text(*b)));
  }
  // The same prompts again: the server has them.
  const auto a = cached_share(now), b = cached_share(then);
  if (a && b && std::abs(*a - *b) > kSameLength) {
    out.push_back(fmt::format("prompt tokens from the prefix cache: {:.0f} % now, {:.0f} % then", 100 * *a, 100 * *b));
  }
  return out;
}

}  // namespace

Result<Json> read_earlier_run(const std::string& path) {
  const auto text = read_file(Env::system(), path, kMaxFile);
  if (!text) return make_error(text.error().code, "compare-with", "compare-with: {}", text.error().message);
  Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || json.value("schema", Json()) != "millrace.bench.serve") {
    return make_error(ErrorCode::kBadFile, "compare-with", "compare-with: {} is no JSON of `millrace bench serve`",
                      path);
  }
  return json;
}

Json earlier_json(const Json& report, const Json& earlier, const std::string& path) {
  const Json& client = member(earlier, "millrace");
  return {{"file", path},
          {"date", member(earlier, "date")},
          {"label", member(earlier, "label")},
          {"millrace", {{"version", member(client, "version")}, {"commit", member(client, "commit")}}},
          {"server_version", at(earlier, "/target/version")},
          {"noise", at(earlier, "/noise/verdict")},
          {"estimates", member(earlier, "estimates")},
          {"differences", differences(report, earlier)}};
}

std::string earlier_text(const Json& report) {
  const Json& earlier = member(report, "earlier");
  if (!earlier.is_object()) return "";
  std::string out = fmt::format("Beside {} of {}:\n", text(earlier, "file"), words(member(earlier, "date")));
  for (const auto& [name, unused] : member(report, "estimates").items()) {
    const auto now = estimate(member(report, "estimates"), name), then = estimate(member(earlier, "estimates"), name);
    if (!now || !then || then->value == 0.0) continue;
    const bool apart = now->low > then->high || now->high < then->low;
    const std::string_view unit = unit_of(name);
    const std::string label = unit.empty() ? metric_label(name) : fmt::format("{} ({})", metric_label(name), unit);
    out += fmt::format("  {:<38} {:>10} was {:>10}  {:+.1f} %{}\n", label, number_text(now->value),
                       number_text(then->value), 100.0 * (now->value / then->value - 1.0),
                       apart ? ", intervals apart" : "");
  }
  for (const Json& difference : member(earlier, "differences")) {
    if (difference.is_string()) out += "  differs: " + difference.get<std::string>() + "\n";
  }
  return out;
}

}  // namespace millrace::loadtest::report
