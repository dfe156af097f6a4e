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

// The flags of every command that runs an engine. They set the members of the configuration, except that
// speculation.model is a reference until resolved() makes it a path.
struct EngineFlags : runtime::EngineConfig {
  void declare(CLI::App& app);
  runtime::EngineConfig resolved(const HubFlags& hub) const;  // throws LoadError
};

// runtime::make_engine() by the flags. The KV cache has `kv_cache_tokens` tokens if the flags give neither tokens nor
// bytes. Throws LoadError.
ServingEngine make_engine(const LoadedModel& loaded, std::shared_ptr<const text::Tokenizer> tokenizer,
                          const ModelFlags& model, const EngineFlags& flags, std::int64_t kv_cache_tokens);

}  // namespace millrace::app
