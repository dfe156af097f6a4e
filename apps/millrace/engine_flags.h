#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/local_executor.h"
#include "kv/disk_tier.h"
#include "loaded_model.h"
#include "speculation_flags.h"

namespace CLI {
class App;
}

namespace millrace::engine {
class TurnArbiter;
}

namespace millrace::app {

// The flags of every command that serves many requests at once. Names as vllm serve has them where it has them.
struct EngineFlags {
  std::int64_t max_num_batched_tokens = 512, max_num_seqs = 64, kv_cache_tokens = 0;
  std::int64_t long_prefill_token_threshold = 0;
  std::string scheduling_policy = "decode-first", batching = "continuous", preemption_mode = "auto";
  double batch_wait_ms = 50.0, tpot_target_ms = 0.0;
  bool prefix_caching = true;
  OptionValues policy_values;        // options of scheduling policies
  OptionValues resource_values;      // options of admission resources
  std::vector<std::string> tenants;  // no flag: names of the key file by number; empty: the command reads none
  std::uint64_t kv_cache_bytes = 0;  // instead of kv_cache_tokens, with what drafting keeps beside; 0 = not said
  std::uint64_t swap_space = 0;
  std::string kv_disk_tier = "off";
  std::uint64_t kv_disk_tier_limit = std::uint64_t{8} << 30;
  SpeculationFlags speculation;

  void declare(CLI::App& app);
  engine::Config config() const;  // throws LoadError for an unknown name
};

// An engine on a model, and what it stands on; the model must outlive it.
struct ServingEngine {
  std::unique_ptr<kv::DiskTier> disk;         // null: none
  engine::LocalExecutor* executor = nullptr;  // the engine's
  std::unique_ptr<engine::Engine> engine;
  draft::DraftMemory drafting;
};
// `kv_cache_tokens` where the flags name neither tokens nor bytes; 0 = one sequence of the model's greatest length.
// `turn`, if any, is shared with the other engines of the process. Throws LoadError.
ServingEngine make_engine(const LoadedModel& loaded, std::shared_ptr<const text::Tokenizer> tokenizer,
                          const ModelFlags& model, const EngineFlags& flags, std::int64_t kv_cache_tokens,
                          const std::shared_ptr<engine::TurnArbiter>& turn = nullptr);

}  // namespace millrace::app
