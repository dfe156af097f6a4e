#include "servers/chosen_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli.h"
#include "printable.h"
#include "servers/running_servers.h"

namespace millrace::app {
namespace {

// The server's router takes a path as it is sent.
bool can_be_in_path(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#'; });
}

}  // namespace

void declare_chosen_model(CLI::App& app, ChosenModel& model, const std::string& about) {
  app.add_option("model", model.name, about)->required();
  app.add_option("--url", model.address.url,
                 "URL of the server; default the server of yours on this machine that serves the model");
  declare_server_access(app, model.address);
}

Result<std::string> state_of(ServerLink& link, const std::string& name, double& progress) {
  if (!can_be_in_path(name)) return make_error(ErrorCode::kNotFound, "model", "no model is named {}", printable(name));
  const auto card = link.get("/v1/models/" + name);
  if (!card && card.error().code == ErrorCode::kNotFound) {
    return make_error(ErrorCode::kNotFound, "model", "{} has no model {}", link.name(), name);
  }
  if (!card) return card.error();
  const auto status = card->find("status");
  if (status == card->end() || !status->is_string()) {
    return make_error(ErrorCode::kUnsupported, "url", "{}: this server does not tell the state of its models",
                      link.name());
  }
  const auto share = card->find("progress");
  progress = share != card->end() && share->is_number() ? share->get<double>() : 0.0;
  return status->get<std::string>();
}

ServerLink find_serving(const ChosenModel& model) {
  double progress = 0.0;
  if (!model.address.url.empty()) return ServerLink(model.address);
  std::vector<std::string> known;
  const auto servers = running_servers().or_throw();
  for (const RunningServer& server : servers) {
    ServerLink link({.socket = server.socket});
    if (state_of(link, model.name, progress)) return link;
    for (const ServerReport::Model& one : report_of(server).models) known.push_back(printable(one.name));
  }
  throw_load_error(ErrorCode::kNotFound, "model", "{}: {}", printable(model.name),
                   servers.empty() ? std::string("no server of yours runs: `millrace serve` starts one")
                                   : fmt::format("your servers have {}", fmt::join(known, ", ")));
}

}  // namespace millrace::app
