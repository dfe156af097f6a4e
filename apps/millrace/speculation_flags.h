#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/local_executor.h"
#include "loaded_model.h"

namespace millrace::app {

// How answers are speculated on.
struct SpeculationFlags {
  std::string method = "none", model, skip_layers, rule = "coupled";
  std::int64_t tokens = 16;
  int branches = 1;
  bool adaptive = true, jump_forward = true;
  draft::DrafterOptions options;

  void declare(CLI::App& app);
  // The executor runs `loaded`, which outlives it. Throws LoadError.
  std::unique_ptr<draft::Drafter> make_drafter(const engine::LocalExecutor& executor, const LoadedModel& loaded,
                                               const ModelFlags& flags) const;
  engine::SpeculationConfig config() const;  // throws LoadError
  // Lets the engine of that executor speculate as the flags say.
  void apply(engine::Engine& engine, engine::LocalExecutor& executor, const LoadedModel& loaded,
             const ModelFlags& flags) const;
};

}  // namespace millrace::app
