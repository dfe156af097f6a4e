#pragma once

#include <string>

#include "engine_flags.h"
#include "loaded_model.h"
#include "server/model_host.h"
#include "server/observers.h"

namespace millrace::app {

// How the server gets a model: loads it as all commands do, and puts an engine on it.
server::ModelEntry served_model(std::string name, std::vector<std::string> aliases, const ModelFlags& model,
                                const EngineFlags& engine, server::Observers& observers);

}  // namespace millrace::app
