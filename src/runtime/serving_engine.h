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

// Default size of the KV cache, in bytes, of servers and of programs that embed the library.
inline constexpr std::uint64_t kServingKvBytes = std::uint64_t{1} << 30;

// An engine and the objects that it uses. The model must outlive it.
struct ServingEngine {
  std::unique_ptr<kv::DiskTier> disk;         // null: none
  engine::LocalExecutor* executor = nullptr;  // owned by `engine`
  std::unique_ptr<engine::Engine> engine;
  draft::DraftMemory drafting;
};

// Arguments of make_engine() that are not configuration.
struct EngineSurroundings {
  std::shared_ptr<const text::Tokenizer> tokenizer = nullptr;  // null: the model's own
  // Size of the KV cache in tokens if the configuration gives neither tokens nor bytes; 0 = one sequence of the model's
  // greatest length.
  std::int64_t kv_cache_tokens = 0;
  std::shared_ptr<engine::TurnArbiter> turn = nullptr;  // shared by the engines of the process; null = none
  bool populate = true;  // back all pages with memory in the background; false: each as it is first written
};

// Makes an engine on a loaded model: loads the draft model, if any, and allocates the KV cache. Throws LoadError for
// what validate() rejects and for memory that is not available.
ServingEngine make_engine(const LoadedModel& loaded, const EngineConfig& config,
                          const EngineSurroundings& surroundings = {});

// make_engine() for a server: the KV cache has kServingKvBytes if no size is given, the memory is logged under `name`,
// warm-up steps have run (a few dozen tokens), and the engine's work is measured.
ServingEngine start_engine(const std::string& name, const LoadedModel& loaded, EngineConfig config,
                           const std::shared_ptr<engine::TurnArbiter>& turn = nullptr);

}  // namespace millrace::runtime
