#pragma once

#include <string>

#include "servers/server_link.h"

namespace millrace::app {

// A model of a server, as `load` and `unload` name it.
struct ChosenModel {
  std::string name;       // as /v1/models lists it, or an alias
  ServerAddress address;  // with a URL: of that server; without: of the server that find_serving() finds
};

// Declares the model and the flags of its server.
void declare_chosen_model(CLI::App& app, ChosenModel& model, const std::string& about);
// The address with the URL or, without one, that of the server of this user which has a model of this name. Throws
// LoadError: kNotFound where there is none, with the names that there are.
ServerAddress find_serving(const ChosenModel& model);

// What a server tells of a model: "ready", "loading", ...; and the share that is loaded, [0, 1].
struct ModelProgress {
  std::string state;
  double share = 0.0;
};
// kNotFound for an unknown name, kUnsupported where the server does not tell.
Result<ModelProgress> progress_of(ServerLink& link, const std::string& name);

}  // namespace millrace::app
