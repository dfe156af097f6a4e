#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/local_executor.h"
#include "loaded_model.h"

namespace CLI {
class App;
}

namespace millrace::app {

// How answers are speculated on.
struct SpeculationFlags {
  std::string method = "none", model, rule = "coupled";
  std::int64_t tokens = 16;
  int branches = 1;
  bool adaptive = true, jump_forward = true;
  draft::DrafterOptions options;

  void declare(CLI::App& app);
  // What a drafter beside `loaded`, which outlives it, is made from, before there are pages: loads the draft model, if
  // there is one. Throws LoadError.
  draft::DrafterOptions prepare(const LoadedModel& loaded, const ModelFlags& flags, const sched::Config& steps) const;
  // Bytes that it will keep beside each of the model's pages. Throws LoadError.
  std::size_t page_bytes(const draft::DrafterOptions& prepared) const;
  // For an engine of that executor. Throws LoadError.
  std::unique_ptr<draft::Drafter> make_drafter(const engine::LocalExecutor& executor,
                                               draft::DrafterOptions prepared) const;
  engine::SpeculationConfig config() const;  // throws LoadError
  // Lets the engine of that executor speculate as the flags say. Returns what that takes. Throws LoadError.
  draft::DraftMemory apply(engine::Engine& engine, engine::LocalExecutor& executor,
                           draft::DrafterOptions prepared) const;
};

}  // namespace millrace::app
