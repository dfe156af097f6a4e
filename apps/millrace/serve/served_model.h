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

// Formats of tool calls and of reasoning by name (docs/tools.md), "auto" (detected from the chat template) or "none".
struct AnswerParsers {
  std::string tools = "auto", reasoning = "auto";
};

// Flags of `serve` and `run-batch`: which models to serve, and how.
struct ServedModelsFlags {
  ModelFlags model;
  EngineFlags engine;
  std::string served_model_name;     // of the first model; empty: its reference, or the name of the default model
  std::vector<std::string> further;  // NAME=REFERENCE each, with the flags of the first model
  AnswerParsers parsers;

  void declare(CLI::App& app);
  // The models as the server's ModelHost takes them; nothing is loaded yet. Each gets an engine of its own; engines of
  // several models compute in turns. Throws LoadError (kInvalidArgument) for an unknown format, a --model without '='
  // and a name that occurs twice. `observers` must outlive the entries and the models loaded from them.
  std::vector<server::ModelEntry> entries(server::Observers& observers) const;

 private:
  void declare_names(CLI::App& app);  // of models and of their formats
  std::string name_of_first() const;  // in requests
};

}  // namespace millrace::app
