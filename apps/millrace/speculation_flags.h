#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "engine/engine.h"

namespace millrace::app {

// How answers are speculated on.
struct SpeculationFlags {
  std::string method = "none";
  std::int64_t tokens = 16;
  bool adaptive = true;
  draft::DrafterOptions options;

  void declare(CLI::App& app);
  void apply(engine::Engine& engine) const;  // throws LoadError
};

}  // namespace millrace::app
