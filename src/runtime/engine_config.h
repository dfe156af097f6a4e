#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/option_spec.h"
#include "engine/engine.h"
#include "runtime/speculation_config.h"

namespace millrace::runtime {

inline constexpr std::int64_t kMaxStepTokens = 1 << 20, kMaxSequences = 1 << 16;
inline constexpr std::int64_t kMaxTokenCount = std::int64_t{1} << 32;  // limit of cache sizes and thresholds, in tokens
inline constexpr double kMaxWaitMs = 1e6;

// How an engine serves requests. Fields have the names of `vllm serve` where it has them. Errors name fields as the
// command line's flags do, for example "max-num-seqs".
struct EngineConfig {
  std::int64_t max_num_batched_tokens = 512;  // limit of tokens in a step, [1, kMaxStepTokens]
  std::int64_t max_num_seqs = 64;             // limit of sequences in the running batch, [1, kMaxSequences]
  std::int64_t long_prefill_token_threshold =
      0;  // limit of tokens of one prompt in a step, [0, kMaxTokenCount]; 0 = none
  std::string scheduling_policy = "decode-first";  // one of sched::all_policies()
  OptionValues policy_values;                      // values of policies' options
  OptionValues resource_values;                    // values of admission resources' options
  std::vector<std::string> tenants;      // names of tenants by index, for the option `tenant_weights`; may be empty
  std::string batching = "continuous";   // one of batching_modes()
  double batch_wait_ms = 50.0;           // longest wait for a full batch, with "dynamic" or "static", [0, kMaxWaitMs]
  double tpot_target_ms = 0.0;           // target time of a step that decodes, [0, kMaxWaitMs]; 0 = none
  std::int64_t kv_cache_tokens = 0;      // size of the KV cache, [0, kMaxTokenCount]; 0 = kv_cache_bytes decides
  std::uint64_t kv_cache_bytes = 0;      // the same in bytes, with the drafter's memory beside pages; 0 = not given
  bool prefix_caching = true;            // requests share the pages of equal beginnings
  std::uint64_t swap_space = 0;          // bytes of host memory for pages of preempted sequences; 0 = none
  std::string preemption_mode = "auto";  // one of preemption_modes()
  std::string kv_disk_tier = "off";      // "off", "auto" (in the cache directory), or a directory
  std::uint64_t kv_disk_tier_limit = std::uint64_t{8} << 30;  // bytes there; the least recently used go first
  SpeculationConfig speculation;

  // kInvalidArgument naming the first field that is wrong, its value and the limit. Reads no file.
  Result<void> validate() const;
  // The engine's own configuration. Throws LoadError for an unknown policy, or a policy option out of range.
  engine::Config config() const;
};

const std::vector<std::string>& batching_modes();
const std::vector<std::string>& preemption_modes();

}  // namespace millrace::runtime
