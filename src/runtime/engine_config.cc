#include "runtime/engine_config.h"

#include "runtime/field_checks.h"
#include "sched/admission_resource.h"

namespace millrace::runtime {
namespace {

Result<void> check_policy(const EngineConfig& config) {
  sched::PolicyOptions options;
  options.values = config.policy_values;
  options.tenants = config.tenants;
  for (const sched::PolicyKind& kind : sched::all_policies()) {
    if (auto fine = sched::check_options(kind, options); !fine) return fine;
  }
  for (const auto& kind : sched::all_resources()) {
    if (auto fine = config.resource_values.check(kind.options); !fine) return fine;
  }
  const auto policy = sched::make_policy(config.scheduling_policy, options);
  return policy ? Result<void>() : policy.error();
}

}  // namespace

const std::vector<std::string>& batching_modes() {
  static const std::vector<std::string> names = {"continuous", "dynamic", "static"};
  return names;
}

const std::vector<std::string>& preemption_modes() {
  static const std::vector<std::string> names = {"auto", "recompute", "swap"};
  return names;
}

Result<void> EngineConfig::validate() const {
  if (auto fine = first_failure(
          {between<std::int64_t>("max-num-batched-tokens", max_num_batched_tokens, 1, kMaxStepTokens),
           between<std::int64_t>("max-num-seqs", max_num_seqs, 1, kMaxSequences),
           between<std::int64_t>("long-prefill-token-threshold", long_prefill_token_threshold, 0, kMaxTokenCount),
           one_of("batching", batching, batching_modes()), between("batch-wait-ms", batch_wait_ms, 0.0, kMaxWaitMs),
           between("tpot-target-ms", tpot_target_ms, 0.0, kMaxWaitMs),
           between<std::int64_t>("kv-cache-tokens", kv_cache_tokens, 0, kMaxTokenCount),
           one_of("preemption-mode", preemption_mode, preemption_modes())});
      !fine) {
    return fine;
  }
  if (kv_cache_tokens > 0 && kv_cache_bytes > 0) {
    return make_error(ErrorCode::kInvalidArgument, "kv-cache-memory-bytes",
                      "kv-cache-memory-bytes is {} beside kv-cache-tokens of {}: one of them is 0", kv_cache_bytes,
                      kv_cache_tokens);
  }
  if (auto fine = check_policy(*this); !fine) return fine;
  if (auto fine = adapters.validate(); !fine) return fine;
  return speculation.validate();
}

engine::Config EngineConfig::config() const {
  check_policy(*this).or_throw();
  engine::Config config;
  config.scheduling.max_batched_tokens = max_num_batched_tokens;
  config.scheduling.max_sequences = max_num_seqs;
  config.scheduling.long_prefill_tokens = long_prefill_token_threshold;
  config.scheduling.tpot_target_ms = tpot_target_ms;
  config.scheduling.batching = batching == "static"    ? sched::BatchingMode::kStatic
                               : batching == "dynamic" ? sched::BatchingMode::kDynamic
                                                       : sched::BatchingMode::kContinuous;
  config.scheduling.batch_wait_ms = batch_wait_ms;
  config.policy = scheduling_policy;
  config.policy_options.values = policy_values;
  config.policy_options.tenants = tenants;
  config.scheduling.resource_options = std::make_shared<const OptionValues>(resource_values);
  config.prefix_caching = prefix_caching;
  config.swap_bytes = swap_space;
  config.jump_forward = speculation.jump_forward;
  config.preemption = preemption_mode == "swap"        ? engine::Preemption::kSwap
                      : preemption_mode == "recompute" ? engine::Preemption::kRecompute
                                                       : engine::Preemption::kAuto;
  return config;
}

}  // namespace millrace::runtime
