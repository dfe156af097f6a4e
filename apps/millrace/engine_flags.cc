#include "engine_flags.h"

#include <filesystem>

#include "base/checksum.h"
#include "base/log.h"
#include "cli.h"
#include "commit.gen.h"
#include "engine/turn_executor.h"
#include "model/computation_key.h"
#include "option_flags.h"
#include "sched/admission_resource.h"

namespace millrace::app {
namespace {

// What must be equal before keys and values computed by one process are those another would compute: the weights, what
// is computed with them, how they are multiplied, how pages are made, and the kernels. A build with changes is only
// itself.
std::uint64_t origin_key(const LoadedModel& loaded, const ModelFlags& flags) {
  std::string build = MILLRACE_VERSION " " MILLRACE_COMMIT;
  if (build.ends_with('+')) {
    std::error_code failed;
    const auto changed = std::filesystem::last_write_time("/proc/self/exe", failed);
    build += std::to_string(changed.time_since_epoch().count());
  }
  return checksum(fmt::format("{:016x}|{:016x}|{}|{}|{}|{}|{}|{}", loaded.content_key,
                              model::computation_key(loaded.transformer->spec()), build,
                              loaded.transformer->description(), flags.matmul_precision, flags.kv_cache_dtype,
                              flags.kv_layout, loaded.transformer->max_length()));
}

std::unique_ptr<kv::DiskTier> open_disk_tier(const LoadedModel& loaded, const ModelFlags& model,
                                             const EngineFlags& flags, const engine::LocalExecutor& executor,
                                             std::size_t page_bytes) {
  if (flags.kv_disk_tier == "off") return nullptr;
  kv::DiskTierConfig config;
  config.directory = flags.kv_disk_tier == "auto" ? cache_directory() + "/kv" : flags.kv_disk_tier;
  config.limit_bytes = flags.kv_disk_tier_limit;
  config.origin = {
      .model_key = origin_key(loaded, model), .page_bytes = page_bytes, .block_tokens = executor.block_tokens()};
  config.background = true;
  auto disk = kv::DiskTier::open(Env::system(), config).or_throw();
  if (!disk->writing()) log::warn("{}: another process writes there; this one only reads", config.directory);
  return disk;
}

// Of the cache: as the flags say, or else `otherwise`.
std::int64_t cache_tokens(const LoadedModel& loaded, const ModelFlags& model, const EngineFlags& flags,
                          std::size_t drafting_page_bytes, std::int64_t otherwise) {
  if (flags.kv_cache_tokens > 0) return flags.kv_cache_tokens;
  if (flags.kv_cache_bytes == 0) return otherwise;
  const kv::KvGroups groups = loaded.transformer->kv_groups(model.kv_pages());
  const std::size_t page = groups.page_bytes(*loaded.backend) + drafting_page_bytes;
  const auto pages = static_cast<std::int64_t>(flags.kv_cache_bytes / page);
  if (pages == 0) {
    throw_load_error(ErrorCode::kInvalidArgument, "kv-cache-memory-bytes",
                     "kv-cache-memory-bytes is {}: a page of {} tokens takes {}", flags.kv_cache_bytes,
                     groups.block_tokens, page);
  }
  return pages * groups.block_tokens;
}

}  // namespace

void EngineFlags::declare(CLI::App& app) {
  const auto at_least = [](std::int64_t least) { return CLI::Range(least, std::int64_t{1} << 32); };
  std::string policies;
  for (const sched::PolicyKind& kind : sched::all_policies()) {
    policies += fmt::format("{}{}: {}", policies.empty() ? "" : "; ", kind.name, kind.description);
  }
  app.add_option("--max-num-batched-tokens,--max-batched-tokens", max_num_batched_tokens,
                 "Max tokens computed in one step, prefill chunks and decode tokens together")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--max-num-seqs", max_num_seqs, "Max sequences in the running batch")->check(CLI::Range(1, 1 << 16));
  app.add_option("--long-prefill-token-threshold", long_prefill_token_threshold,
                 "Max prefill tokens of one prompt per step; 0 = limited by --max-num-batched-tokens alone")
      ->check(at_least(0));
  app.add_option("--scheduling-policy", scheduling_policy, "Order in which sequences are scheduled. " + policies);
  app.add_option("--tpot-target-ms", tpot_target_ms,
                 "Target time per output token in milliseconds: prefill chunks shrink so that steps with decodes meet "
                 "it; 0 = off")
      ->check(CLI::Range(0.0, 1e6));
  for (const sched::PolicyKind& kind : sched::all_policies()) declare_options(app, kind.options, policy_values);
  for (const auto& kind : sched::all_resources()) declare_options(app, kind.options, resource_values);
  app.add_option("--batching", batching,
                 "When requests may join the batch. continuous: at any step; dynamic, static: only after the previous "
                 "batch has ended (see --batch-wait-ms)")
      ->check(CLI::IsMember({"continuous", "dynamic", "static"}));
  app.add_option("--batch-wait-ms", batch_wait_ms,
                 "Milliseconds that a batch waits to fill up: after its first request with --batching dynamic, after "
                 "its latest with static")
      ->check(CLI::Range(0.0, 1e6));
  auto* tokens =
      app.add_option("--kv-cache-tokens", kv_cache_tokens, "Size of the KV cache in tokens; 0 = chosen by the command")
          ->check(at_least(0));
  app.add_option("--kv-cache-memory-bytes", kv_cache_bytes,
                 "Size of the KV cache in bytes, e.g. 4GB, KV pages of a draft model or speculator included; 0 = use "
                 "--kv-cache-tokens")
      ->transform(CLI::AsSizeValue(false))
      ->excludes(tokens);
  app.add_flag("--prefix-caching,!--no-prefix-caching", prefix_caching,
               "Reuse the KV pages of prompt prefixes that requests have in common");
  app.add_option("--swap-space", swap_space,
                 "Host memory for swapped-out KV pages of preempted sequences in bytes, e.g. 4GB; 0 = none")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--preemption-mode", preemption_mode,
                 "What happens to the KV pages of a preempted sequence. recompute: freed and computed again; swap: "
                 "moved to --swap-space; auto: whichever is faster")
      ->check(CLI::IsMember({"auto", "recompute", "swap"}));
  app.add_option("--kv-disk-tier", kv_disk_tier,
                 "Keep KV pages of the prefix cache on disk for the next start: off, auto (in the cache directory) or "
                 "a directory");
  app.add_option(
         "--kv-disk-tier-limit", kv_disk_tier_limit,
         "Max bytes of KV pages that --kv-disk-tier keeps on disk, e.g. 8GB; the least recently used are deleted first")
      ->transform(CLI::AsSizeValue(false));
  speculation.declare(app);
}

engine::Config EngineFlags::config() const {
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
  for (const auto& kind : sched::all_policies()) sched::check_options(kind, config.policy_options).or_throw();
  for (const auto& kind : sched::all_resources()) resource_values.check(kind.options).or_throw();
  config.scheduling.resource_options = std::make_shared<const OptionValues>(resource_values);
  config.prefix_caching = prefix_caching;
  config.swap_bytes = swap_space;
  config.jump_forward = speculation.jump_forward;
  config.preemption = preemption_mode == "swap"        ? engine::Preemption::kSwap
                      : preemption_mode == "recompute" ? engine::Preemption::kRecompute
                                                       : engine::Preemption::kAuto;
  static_cast<void>(sched::make_policy(scheduling_policy, config.policy_options).or_throw());
  return config;
}

ServingEngine make_engine(const LoadedModel& loaded, std::shared_ptr<const text::Tokenizer> tokenizer,
                          const ModelFlags& model, const EngineFlags& flags, std::int64_t kv_cache_tokens,
                          const std::shared_ptr<engine::TurnArbiter>& turn) {
  const engine::Config config = flags.config();
  draft::DrafterOptions drafter = flags.speculation.prepare(loaded, model, config.scheduling);
  const std::int64_t tokens =
      cache_tokens(loaded, model, flags, flags.speculation.page_bytes(drafter), kv_cache_tokens);
  auto executor =
      engine::LocalExecutor::create(*loaded.transformer, *loaded.backend, model.kv_pages(), tokens).or_throw();
  ServingEngine made;
  made.executor = executor.get();
  made.disk = open_disk_tier(loaded, model, flags, *executor, executor->device().page_bytes());
  std::unique_ptr<engine::Executor> computing = std::move(executor);
  if (turn != nullptr) computing = std::make_unique<engine::TurnExecutor>(std::move(computing), turn);
  made.engine =
      engine::Engine::create(std::move(computing), std::move(tokenizer), Env::system(), config, made.disk.get())
          .or_throw();
  if (made.disk != nullptr) made.engine->warm_up().or_throw();
  made.drafting = flags.speculation.apply(*made.engine, *made.executor, std::move(drafter));
  made.executor->populate();
  return made;
}

}  // namespace millrace::app
