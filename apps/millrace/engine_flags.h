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

// The flags of every command that serves many requests at once. They fill the configuration, but for the path of a
// draft model, which speculation.model of resolved() has.
struct EngineFlags : runtime::EngineConfig {
  void declare(CLI::App& app);
  runtime::EngineConfig resolved(const HubFlags& hub) const;  // throws LoadError
};

// runtime::make_engine() as the flags say, with a cache of `kv_cache_tokens` where they name neither tokens nor bytes.
// Throws LoadError.
ServingEngine make_engine(const LoadedModel& loaded, std::shared_ptr<const text::Tokenizer> tokenizer,
                          const ModelFlags& model, const EngineFlags& flags, std::int64_t kv_cache_tokens);

}  // namespace millrace::app
