#include "servers/chosen_model.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "cli.h"
#include "printable.h"
#include "servers/model_cards.h"
#include "servers/running_servers.h"

namespace millrace::app {

void declare_chosen_model(CLI::App& app, ChosenModel& model, const std::string& about) {
  app.add_option("model", model.name, about)->required();
  app.add_option("--url", model.address.url,
                 "URL of the server; default the server of yours on this machine that serves the model");
  declare_server_access(app, model.address);
}

Result<ModelProgress> progress_of(ServerLink& link, const std::string& name) {
  const auto card = model_card(link, name);
  if (!card) return card.error();
  const std::string state = text_of(*card, "status");
  if (state.empty()) {
    return make_error(ErrorCode::kUnsupported, "url", "{}: this server does not tell the state of its models",
                      link.name());
  }
  const auto share = card->find("progress");
  return ModelProgress{state, share != card->end() && share->is_number() ? share->get<double>() : 0.0};
}

ServerAddress find_serving(const ChosenModel& model) {
  if (!model.address.url.empty()) return model.address;
  std::vector<std::string> known;
  const auto servers = running_servers().or_throw();
  for (const RunningServer& server : servers) {
    const ServerAddress address{.socket = server.socket};
    ServerLink link(address);
    if (model_card(link, model.name)) return address;
    for (const ServerReport::Model& one : report_of(server).models) known.push_back(printable(one.name));
  }
  throw_load_error(ErrorCode::kNotFound, "model", "{}: {}", printable(model.name),
                   servers.empty() ? std::string("no server of yours runs: `millrace serve` starts one")
                                   : fmt::format("your servers have {}", fmt::join(known, ", ")));
}

}  // namespace millrace::app
