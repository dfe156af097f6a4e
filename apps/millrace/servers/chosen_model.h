#pragma once

#include <string>

#include "servers/server_link.h"

namespace millrace::app {

// A model of a server, as `load` and `unload` name it.
struct ChosenModel {
  std::string name;       // as /v1/models lists it, or an alias
  ServerAddress address;  // with a URL: of that server; without: filled by find_serving()
};

// Declares the model and the flags of its server.
void declare_chosen_model(CLI::App& app, ChosenModel& model, const std::string& about);
// The server at the URL or, without one, the one of this user that has a model of this name. Throws LoadError:
// kNotFound where there is none, with the names that there are.
ServerLink find_serving(const ChosenModel& model);
// The state of the model as its server tells it: "ready", "loading" with the share in `progress`, ...
Result<std::string> state_of(ServerLink& link, const std::string& name, double& progress);

}  // namespace millrace::app
