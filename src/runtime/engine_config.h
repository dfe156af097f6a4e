#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/option_spec.h"
#include "engine/engine.h"
#include "runtime/adapter_config.h"
#include "runtime/speculation_config.h"

namespace millrace::runtime {

inline constexpr std::int64_t kMaxStepTokens = 1 << 20, kMaxSequences = 1 << 16;
inline constexpr std::int64_t kMaxTokenCount = std::int64_t{1}
                                               << 32;  // limit of the KV cache and of the prefill threshold
inline constexpr double kMaxWaitMs = 1e6;

// Configuration of an engine that serves many requests at once. Fields have the names of `vllm serve` where it has
// them. Errors name a field by its flag: "max-num-seqs".
struct EngineConfig {
  std::int64_t max_num_batched_tokens = 512;  // limit of tokens computed in a step, [1, kMaxStepTokens]
  std::int64_t max_num_seqs = 64;             // limit of running sequences, [1, kMaxSequences]
  // Limit of tokens of one prompt in a step, [0, kMaxTokenCount]; 0 = only max_num_batched_tokens.
  std::int64_t long_prefill_token_threshold = 0;
  std::string scheduling_policy = "decode-first";  // one of sched::all_policies()
  OptionValues policy_values;                      // values of the policies' options
  OptionValues resource_values;                    // values of the options of admission resources
  std::vector<std::string> tenants;                // names by tenant number, for `tenant_weights`; may be empty
  std::string batching = "continuous";             // one of batching_modes()
  double batch_wait_ms = 50.0;  // time that a "dynamic" or "static" batch waits to fill up, [0, kMaxWaitMs]
  double tpot_target_ms = 0.0;  // target of steps that decode, [0, kMaxWaitMs]; 0 = none
  // Size of the KV cache: at most one of the two is above 0. Both 0: the caller of make_engine() chooses.
  std::int64_t kv_cache_tokens = 0;      // [0, kMaxTokenCount]
  std::uint64_t kv_cache_bytes = 0;      // pages of a draft model or speculator included
  bool prefix_caching = true;            // requests share the pages of common prefixes
  std::uint64_t swap_space = 0;          // bytes of host memory for pages of preempted sequences; 0 = none
  std::string preemption_mode = "auto";  // one of preemption_modes()
  std::string kv_disk_tier = "off";      // "off", "auto" (in the cache directory), or a directory
  std::uint64_t kv_disk_tier_limit = std::uint64_t{8} << 30;  // bytes; least recently used pages are deleted first
  SpeculationConfig speculation;
  AdapterConfig adapters;

  // kInvalidArgument naming the first invalid field, its value and the limit. Reads no file.
  Result<void> validate() const;
  // The configuration for engine::Engine. Throws LoadError if the policy is unknown or an option of a policy or
  // resource is out of range; other fields must be valid.
  engine::Config config() const;
};

const std::vector<std::string>& batching_modes();
const std::vector<std::string>& preemption_modes();

}  // namespace millrace::runtime
