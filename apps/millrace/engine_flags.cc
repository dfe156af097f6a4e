#include "engine_flags.h"

#include "adapter_flags.h"
#include "cli.h"
#include "option_flags.h"
#include "option_heading.h"
#include "sched/admission_resource.h"
#include "size_option.h"

namespace millrace::app {
namespace {

CLI::Range at_least(std::int64_t least) { return CLI::Range(least, runtime::kMaxTokenCount); }

}  // namespace

void EngineFlags::declare(CLI::App& app) {
  declare_scheduling(app);
  declare_cache(app);
  declare_speculation(app, speculation);
  declare_adapters(app, adapters);
}

void EngineFlags::declare_scheduling(CLI::App& app) {
  const OptionHeading heading(app, "Scheduling");
  std::string policies, names;
  for (const sched::PolicyKind& kind : sched::all_policies()) {
    policies += fmt::format("{}{}: {}", policies.empty() ? "" : "; ", kind.name, kind.description);
    names += fmt::format("{}{}", names.empty() ? "" : ",", kind.name);
  }
  app.add_option("--max-num-batched-tokens,--max-batched-tokens", max_num_batched_tokens,
                 "Max tokens computed in one step, prefill chunks and decode tokens together")
      ->check(CLI::Range(std::int64_t{1}, runtime::kMaxStepTokens));
  app.add_option("--max-num-seqs", max_num_seqs, "Max sequences in the running batch")
      ->check(CLI::Range(std::int64_t{1}, runtime::kMaxSequences));
  app.add_option("--long-prefill-token-threshold", long_prefill_token_threshold,
                 "Max prefill tokens of one prompt per step; 0 = limited by --max-num-batched-tokens alone")
      ->check(at_least(0));
  app.add_option("--scheduling-policy", scheduling_policy, "Order in which sequences are scheduled. " + policies)
      ->type_name("{" + names + "}");
  app.add_option("--tpot-target-ms", tpot_target_ms,
                 "Target time per output token in milliseconds: prefill chunks shrink so that steps with decodes meet "
                 "it; 0 = off")
      ->check(CLI::Range(0.0, runtime::kMaxWaitMs));
  for (const sched::PolicyKind& kind : sched::all_policies()) declare_options(app, kind.options, policy_values);
  for (const auto& kind : sched::all_resources()) declare_options(app, kind.options, resource_values);
  app.add_option("--batching", batching,
                 "When requests may join the batch. continuous: at any step; dynamic, static: only after the previous "
                 "batch has ended (see --batch-wait-ms)")
      ->check(CLI::IsMember(runtime::batching_modes()));
  app.add_option("--batch-wait-ms", batch_wait_ms,
                 "Milliseconds that a batch waits to fill up: after its first request with --batching dynamic, after "
                 "its latest with static")
      ->check(CLI::Range(0.0, runtime::kMaxWaitMs));
  app.add_option("--preemption-mode", preemption_mode,
                 "What happens to the KV pages of a preempted sequence. recompute: freed and computed again; swap: "
                 "moved to --swap-space; auto: whichever is faster")
      ->check(CLI::IsMember(runtime::preemption_modes()));
}

void EngineFlags::declare_cache(CLI::App& app) {
  const OptionHeading heading(app, "KV cache of all sequences");
  auto* tokens =
      app.add_option("--kv-cache-tokens", kv_cache_tokens, "Size of the KV cache in tokens; 0 = chosen by the command")
          ->check(at_least(0));
  add_size_option(app, "--kv-cache-memory-bytes", kv_cache_bytes,
                  "Size of the KV cache in bytes, e.g. 4GB, KV pages of a draft model or speculator included; 0 = use "
                  "--kv-cache-tokens")
      ->excludes(tokens);
  app.add_flag("--prefix-caching,!--no-prefix-caching", prefix_caching,
               "Reuse the KV pages of prompt prefixes that requests have in common");
  add_size_option(app, "--swap-space", swap_space,
                  "Host memory for swapped-out KV pages of preempted sequences in bytes, e.g. 4GB; 0 = none");
  app.add_option("--kv-disk-tier", kv_disk_tier,
                 "Keep KV pages of the prefix cache on disk for the next start: off, auto (in the cache directory) or "
                 "a directory")
      ->type_name("{off,auto}|DIR");
  add_size_option(
      app, "--kv-disk-tier-limit", kv_disk_tier_limit,
      "Max bytes of KV pages that --kv-disk-tier keeps on disk, e.g. 8GB; the least recently used are deleted first");
}

runtime::EngineConfig EngineFlags::resolved(const HubFlags& hub) const {
  validate().or_throw();  // before anything is downloaded
  runtime::EngineConfig config = *this;
  config.speculation = resolved_speculation(speculation, hub);
  config.adapters = resolved_adapters(adapters, hub);
  return config;
}

ServingEngine make_engine(const LoadedModel& loaded, std::shared_ptr<const text::Tokenizer> tokenizer,
                          const ModelFlags& model, const EngineFlags& flags, std::int64_t kv_cache_tokens) {
  return runtime::make_engine(loaded, flags.resolved(model.hub),
                              {.tokenizer = std::move(tokenizer), .kv_cache_tokens = kv_cache_tokens});
}

}  // namespace millrace::app
