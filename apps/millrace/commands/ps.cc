#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli.h"
#include "command.h"
#include "printable.h"
#include "progress.h"
#include "servers/running_servers.h"

namespace millrace::commands {
namespace {

using Json = nlohmann::ordered_json;

// "2 h 05 min".
std::string readable_time(double seconds) {
  const auto minutes = static_cast<std::int64_t>(seconds) / 60, hours = minutes / 60, days = hours / 24;
  if (days > 0) return fmt::format("{} d {} h", days, hours % 24);
  if (hours > 0) return fmt::format("{} h {:02} min", hours, minutes % 60);
  if (minutes > 0) return fmt::format("{} min", minutes);
  return fmt::format("{:.0f} s", seconds);
}

std::string state_text(const app::ServerReport::Model& model) {
  if (model.state == "loading") return fmt::format("loading {:.0f} %", 100.0 * model.progress);
  return app::printable(model.state);
}

Json described(const app::ServerReport& report) {
  Json models = Json::array();
  for (const auto& model : report.models) {
    Json one = {{"name", model.name}, {"state", model.state}};
    if (model.state == "loading") one["progress"] = model.progress;
    if (!model.path.empty()) one["path"] = model.path;
    models.push_back(std::move(one));
  }
  Json out = {{"pid", report.server.pid},    {"address", report.address},   {"socket", report.server.socket},
              {"models", std::move(models)}, {"requests", report.requests}, {"resident_bytes", report.resident_bytes},
              {"seconds", report.seconds}};
  if (!report.trouble.empty()) out["error"] = report.trouble;
  return out;
}

// A line of the table for each model; a server's own columns stand in the line of its first.
void print_table(const std::vector<app::ServerReport>& reports) {
  std::size_t address = 7, name = 5, state = 5;
  for (const auto& report : reports) {
    address = std::max(address, app::printable(report.address).size());
    for (const auto& model : report.models) {
      name = std::max(name, app::printable(model.name).size());
      state = std::max(state, state_text(model).size());
    }
  }
  fmt::print("{:>7}  {:<{}}  {:<{}}  {:<{}}  {:>8}  {:>8}  up\n", "pid", "address", address, "model", name, "state",
             state, "requests", "memory");
  for (const auto& report : reports) {
    fmt::print("{:>7}  {:<{}}  ", report.server.pid, app::printable(report.address), address);
    if (!report.trouble.empty()) {
      fmt::print("does not answer: {}\n", report.trouble);
      continue;
    }
    for (std::size_t i = 0; i < report.models.size(); ++i) {
      const auto& model = report.models[i];
      if (i > 0) fmt::print("{:>7}  {:<{}}  ", "", "", address);
      fmt::print("{:<{}}  {:<{}}", app::printable(model.name), name, state_text(model), state);
      if (i == 0) {
        fmt::print("  {:>8}  {:>8}  {}", report.requests,
                   app::readable_bytes(static_cast<double>(report.resident_bytes)), readable_time(report.seconds));
      }
      fmt::print("\n");
    }
  }
}

int ps(bool json) {
  std::vector<app::ServerReport> reports;
  for (const app::RunningServer& server : app::running_servers().or_throw()) reports.push_back(app::report_of(server));
  if (json) {
    Json list = Json::array();
    for (const auto& report : reports) list.push_back(described(report));
    std::printf("%s\n", list.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return 0;
  }
  if (reports.empty() && isatty(STDERR_FILENO) == 1) {
    std::fprintf(stderr, "no server of yours runs: `millrace serve` starts one\n");
  }
  print_table(reports);
  return 0;
}

}  // namespace

app::Command ps() {
  return {.name = "ps",
          .summary = "List the servers of yours that run on this machine, with their models",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto json = std::make_shared<bool>(false);
            app.add_flag("--json", *json, "Print the list as one JSON array");
            return [json] { return ps(*json); };
          },
          .example = "millrace ps"};
}

}  // namespace millrace::commands
