#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/option_spec.h"
#include "engine/engine.h"
#include "runtime/speculation_config.h"

namespace millrace::runtime {

inline constexpr std::int64_t kMaxStepTokens = 1 << 20, kMaxSequences = 1 << 16;
inline constexpr std::int64_t kMaxTokenCount = std::int64_t{1} << 32;  // of a cache, of a threshold
inline constexpr double kMaxWaitMs = 1e6;

// How an engine serves many requests at once. Names as vllm serve has them where it has them; errors name fields as the
// flags of the command line do: "max-num-seqs".
struct EngineConfig {
  std::int64_t max_num_batched_tokens = 512;       // computed in a step, [1, kMaxStepTokens]
  std::int64_t max_num_seqs = 64;                  // in the running batch, [1, kMaxSequences]
  std::int64_t long_prefill_token_threshold = 0;   // of one prompt a step, [0, kMaxTokenCount]; 0 = by the step alone
  std::string scheduling_policy = "decode-first";  // one of sched::all_policies()
  OptionValues policy_values;                      // of the policies' options
  OptionValues resource_values;                    // of the options of admission resources
  std::vector<std::string> tenants;                // names of tenants by number, for `tenant_weights`; may be empty
  std::string batching = "continuous";             // one of batching_modes()
  double batch_wait_ms = 50.0;                     // that a batch of "dynamic" or "static" fills up, [0, kMaxWaitMs]
  double tpot_target_ms = 0.0;                     // of a step with decodes, [0, kMaxWaitMs]; 0 = none
  std::int64_t kv_cache_tokens = 0;                // [0, kMaxTokenCount]; 0 = by kv_cache_bytes
  std::uint64_t kv_cache_bytes = 0;      // instead of kv_cache_tokens, with what drafting keeps beside; 0 = not said
  bool prefix_caching = true;            // requests share the pages of what they begin with alike
  std::uint64_t swap_space = 0;          // bytes of host memory for pages of preempted sequences; 0 = none
  std::string preemption_mode = "auto";  // one of preemption_modes()
  std::string kv_disk_tier = "off";      // "off", "auto" (in the cache directory), or a directory
  std::uint64_t kv_disk_tier_limit = std::uint64_t{8} << 30;  // bytes there; the least recently used go first
  SpeculationConfig speculation;

  // kInvalidArgument naming the first field that is wrong, its value and the limit. Reads no file.
  Result<void> validate() const;
  // What the engine is made from. Throws LoadError for an unknown policy and an option of one that is out of range.
  engine::Config config() const;
};

const std::vector<std::string>& batching_modes();
const std::vector<std::string>& preemption_modes();

}  // namespace millrace::runtime
