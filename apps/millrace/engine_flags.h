#pragma once

#include <memory>

#include "model_flags.h"
#include "runtime/serving_engine.h"
#include "speculation_flags.h"

namespace CLI {
class App;
}

namespace millrace::app {

using runtime::ServingEngine;

// Flags of the commands that serve many requests at once, stored in the fields of EngineConfig. `speculation.model` is
// a model reference here; resolved() turns it into a path.
struct EngineFlags : runtime::EngineConfig {
  void declare(CLI::App& app);
  // The validated configuration with the path of the draft model, which is downloaded if necessary. Throws LoadError
  // naming the flag; values that are out of range are found before any download.
  runtime::EngineConfig resolved(const HubFlags& hub) const;

 private:
  void declare_scheduling(CLI::App& app);
  void declare_cache(CLI::App& app);
};

// runtime::make_engine() with the resolved flags. `kv_cache_tokens` is the size of the KV cache if the flags give
// neither tokens nor bytes. `loaded` must outlive the engine. Throws LoadError.
ServingEngine make_engine(const LoadedModel& loaded, std::shared_ptr<const text::Tokenizer> tokenizer,
                          const ModelFlags& model, const EngineFlags& flags, std::int64_t kv_cache_tokens);

}  // namespace millrace::app
