#pragma once

#include <string>
#include <vector>

#include "engine_flags.h"
#include "model_flags.h"
#include "server/model_host.h"
#include "server/observers.h"

namespace CLI {
class App;
}

namespace millrace::app {

// Names of formats (docs/tools.md), "auto" or "none".
struct AnswerParsers {
  std::string tools = "auto", reasoning = "auto";
};

// Which models a command serves, and how: flags of `serve` and `run-batch`.
struct ServedModelsFlags {
  ModelFlags model;
  EngineFlags engine;
  std::string served_model_name;
  std::vector<std::string> further;  // name=reference
  AnswerParsers parsers;

  void declare(CLI::App& app);
  // How the server gets them: loaded as all commands do, with an engine on each. Throws LoadError for names that are
  // wrong. The observers must outlive what is loaded.
  std::vector<server::ModelEntry> entries(server::Observers& observers) const;
};

}  // namespace millrace::app
