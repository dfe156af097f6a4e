#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/local_executor.h"
#include "kv/disk_tier.h"
#include "runtime/engine_config.h"
#include "runtime/loaded_model.h"

namespace millrace::engine {
class TurnArbiter;
}

namespace millrace::runtime {

// Bytes of cached keys and values, where a server or a program that embeds is not told how many.
inline constexpr std::uint64_t kServingKvBytes = std::uint64_t{1} << 30;

// An engine on a model, and what it stands on; the model must outlive it.
struct ServingEngine {
  std::unique_ptr<kv::DiskTier> disk;         // null: none
  engine::LocalExecutor* executor = nullptr;  // the engine's
  std::unique_ptr<engine::Engine> engine;
  draft::DraftMemory drafting;
};

// What an engine is given besides its configuration.
struct EngineSurroundings {
  std::shared_ptr<const text::Tokenizer> tokenizer = nullptr;  // null: the model's own
  // Size of the cache where the configuration names neither tokens nor bytes; 0 = one sequence of the model's greatest
  // length.
  std::int64_t kv_cache_tokens = 0;
  std::shared_ptr<engine::TurnArbiter> turn = nullptr;  // shared with the other engines of the process; null: none
  bool populate = true;  // back all pages with memory in the background; false: each as it is first written
};

// Loads the draft model and takes the memory of the cache. Throws LoadError for what validate() refuses and for what
// does not fit.
ServingEngine make_engine(const LoadedModel& loaded, const EngineConfig& config,
                          const EngineSurroundings& surroundings = {});

// The same for requests from outside: kServingKvBytes where no size is named, a log line of its memory, the first steps
// done (a few dozen tokens' time), and its work measured. `name` is for the log.
ServingEngine start_engine(const std::string& name, const LoadedModel& loaded, EngineConfig config,
                           const std::shared_ptr<engine::TurnArbiter>& turn = nullptr);

}  // namespace millrace::runtime
