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

// Formats of tool calls and reasoning: a name of docs/tools.md, "auto" or "none".
struct AnswerParsers {
  std::string tools = "auto", reasoning = "auto";
};

// The flags of `serve` and `run-batch` that choose models.
struct ServedModelsFlags {
  ModelFlags model;
  EngineFlags engine;
  std::string served_model_name;
  std::vector<std::string> further;  // name=reference
  AnswerParsers parsers;

  void declare(CLI::App& app);
  // The entries for the server's ModelHost, which load each model with an engine. Throws LoadError for invalid names.
  // The observers must outlive the loaded models.
  std::vector<server::ModelEntry> entries(server::Observers& observers) const;
};

}  // namespace millrace::app
