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

// Default size of the KV cache of start_engine(), in bytes.
inline constexpr std::uint64_t kServingKvBytes = std::uint64_t{1} << 30;

// An engine, and the disk tier that it uses. The LoadedModel must outlive it, and `disk` must outlive `engine`.
struct ServingEngine {
  std::unique_ptr<kv::DiskTier> disk;         // null: none
  engine::LocalExecutor* executor = nullptr;  // owned by the engine
  std::unique_ptr<engine::Engine> engine;
  std::shared_ptr<model::AdapterStore> adapters;  // not null
  std::uint64_t adapter_bytes = 0;  // kept for them: --lora-memory, or --max-loras of the largest of --lora
  draft::DraftMemory drafting;      // bytes of draft model or speculator and of its pages
};

// When pages of the KV cache get memory from the system, beside when they are first written.
enum class PageMemory {
  kWhole,        // all, on a thread in the background, so that no step waits for it
  kFollowsUse,   // what is handed out next; idle tasks may give it back (Engine::idle_memory)
  kAtFirstWrite  // nothing beforehand
};

// Arguments of make_engine() besides the configuration.
struct EngineSurroundings {
  std::shared_ptr<const text::Tokenizer> tokenizer = nullptr;  // null: the model's
  // Tokens of the KV cache if the configuration has neither tokens nor bytes; 0 = a sequence of max_length() tokens.
  std::int64_t kv_cache_tokens = 0;
  std::shared_ptr<engine::TurnArbiter> turn = nullptr;  // shared with the other engines of the process; null: none
  PageMemory memory = PageMemory::kWhole;
};

// Loads the draft model, allocates the KV cache, opens the disk tier and makes the engine. `loaded` must outlive it.
// Throws LoadError: an error of validate() or of a file, or kResourceExhausted if memory is short.
ServingEngine make_engine(const LoadedModel& loaded, const EngineConfig& config,
                          const EngineSurroundings& surroundings = {});

// make_engine() for a server or a program that embeds the library. The KV cache has kServingKvBytes if the
// configuration gives no size, and its memory follows use. Also warms the engine up, which computes a few dozen tokens,
// makes its reporter measure the work of steps, and logs its memory under `name`. Throws LoadError, also kUnsupported
// if the model has no tokenizer.
ServingEngine start_engine(const std::string& name, const LoadedModel& loaded, EngineConfig config,
                           const std::shared_ptr<engine::TurnArbiter>& turn = nullptr);

}  // namespace millrace::runtime
