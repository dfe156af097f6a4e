#include "runtime/serving_engine.h"

#include <fmt/ranges.h>

#include "base/checksum.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/readable_bytes.h"
#include "engine/turn_executor.h"
#include "kv/window_budget.h"
#include "model/adapters/load_adapter.h"
#include "model/computation_key.h"
#include "runtime/adapter_memory.h"
#include "runtime/adapter_text.h"
#include "runtime/build_name.h"
#include "runtime/cache_directory.h"
#include "runtime/step_meter.h"

namespace millrace::runtime {
namespace {

// Cached prefixes that an idle server keeps for good: so many bytes, and this part of the weights' bytes.
constexpr std::size_t kIdleCachedBytes = std::size_t{4} << 20, kIdleCachedPart = 20;

// What must be equal before keys and values computed by one process are those another would compute: the weights, what
// is computed with them, how they are multiplied, how pages are made, and the kernels. A build with changes is only
// itself.
std::uint64_t origin_key(const LoadedModel& loaded) {
  const ModelConfig& config = loaded.config;
  const backend::KvFormat pages = config.kv_pages();
  std::string encodings(pages.encoding);
  if (pages.exceptions != nullptr) {
    for (const backend::KvException& e : *pages.exceptions) {
      encodings += fmt::format(",{}-{}:{}", e.first, e.last, e.encoding);
    }
  }
  // What ranks have of a page lies rank by rank.
  if (loaded.ranks != nullptr) encodings += fmt::format(" ranks {}", config.ranks.text());
  return checksum(fmt::format("{:016x}|{:016x}|{}|{}|{}|{}|{}|{}", loaded.weights_key,
                              model::computation_key(loaded.transformer->spec()), build_key(),
                              loaded.transformer->layers().description(), config.matmul_precision, encodings,
                              config.kv_layout, loaded.transformer->max_length()));
}

std::unique_ptr<kv::DiskTier> open_disk_tier(const LoadedModel& loaded, const EngineConfig& engine,
                                             const engine::LocalExecutor& executor, std::size_t page_bytes) {
  if (engine.kv_disk_tier == "off") return nullptr;
  kv::DiskTierConfig config;
  config.directory = engine.kv_disk_tier == "auto" ? cache_directory() + "/kv" : engine.kv_disk_tier;
  config.limit_bytes = engine.kv_disk_tier_limit;
  config.origin = {.model_key = origin_key(loaded), .page_bytes = page_bytes, .block_tokens = executor.block_tokens()};
  config.background = true;
  auto disk = kv::DiskTier::open(Env::system(), config).or_throw();
  if (!disk->writing()) log::warn("{}: another process writes there; this one only reads", config.directory);
  return disk;
}

kv::KvBudget budget_of(const LoadedModel& loaded, const sched::Config& steps) {
  const kv::KvGroups groups = loaded.transformer->kv_groups(loaded.config.kv_pages());
  std::size_t window = 0, page = 0;  // of the rank that has most
  for (int rank = 0; rank < loaded.transformer->part().ranks(); ++rank) {
    const kv::KvGroups of_rank = loaded.transformer->kv_groups(loaded.config.kv_pages(), rank);
    window = std::max(window, of_rank.window_page_bytes(*loaded.backend));
    page = std::max(page, of_rank.page_bytes(*loaded.backend));
  }
  return {.page_bytes = page - window,
          .window_page_bytes = window,
          .block_tokens = groups.block_tokens,
          .window = groups.window(),
          .sequences = steps.slots(),
          .step_tokens = steps.max_batched_tokens,
          .max_length = loaded.transformer->max_length()};
}

// Of the cache: as the configuration says, or else for `otherwise` tokens.
kv::KvSize cache_size(const EngineConfig& config, kv::KvBudget budget, std::size_t drafting_page_bytes,
                      std::int64_t otherwise) {
  if (config.kv_cache_tokens == 0 && config.kv_cache_bytes > 0) {
    budget.page_bytes += drafting_page_bytes;
    return kv::size_for_bytes(budget, config.kv_cache_bytes).or_throw();
  }
  const std::int64_t tokens = config.kv_cache_tokens > 0 ? config.kv_cache_tokens : otherwise;
  return kv::size_for_tokens(budget, tokens > 0 ? tokens : budget.max_length);
}

// An error of allocating the pages, in the words of the flag that asked for them.
Error memory_error(const EngineConfig& config, const kv::KvBudget& budget, const kv::KvSize& size, Error error) {
  if (error.code != ErrorCode::kResourceExhausted) return error;
  const auto bytes = static_cast<double>(size.bytes(budget));
  const std::int64_t tokens = size.pages * budget.block_tokens;
  const char* flag = config.kv_cache_tokens > 0 ? "kv-cache-tokens" : "kv-cache-memory-bytes";
  return make_error(ErrorCode::kResourceExhausted, flag,
                    "--{} asks for {} of keys and values ({} tokens); {} of memory are available", flag,
                    readable_bytes(bytes), tokens,
                    readable_bytes(static_cast<double>(cpu_info().memory_available_bytes)));
}

std::string adapters_text(const AdapterMemory& memory) {
  if (memory.reserved == 0) return {};
  const auto readable = [](std::uint64_t bytes) { return readable_bytes(static_cast<double>(bytes)); };
  if (memory.limit.empty()) return fmt::format(", {} of adapters", readable(memory.loaded));
  return fmt::format(", {} of adapters and {} kept for them by --{}", readable(memory.loaded),
                     readable(memory.reserved), memory.limit);
}

// What an engine holds beside its model, and what the machine has left before pages are filled.
void log_memory(const std::string& name, const LoadedModel& loaded, const ServingEngine& made,
                const AdapterMemory& memory) {
  const auto readable = [](std::size_t bytes) { return readable_bytes(static_cast<double>(bytes)); };
  const std::size_t kv = made.engine->limits().kv_bytes, drafting = made.drafting.total();
  const auto available = static_cast<std::size_t>(cpu_info().memory_available_bytes);
  log::info("{}: {} of weights, {} of keys and values for {} tokens, {} of drafting{}; {} available", name,
            readable(loaded.weight_bytes()), readable(kv), made.engine->limits().kv_capacity_tokens, readable(drafting),
            adapters_text(memory), readable(available));
  const kv::CacheUse pages = made.engine->cache().use();
  if (pages.window_total > 0) {
    log::info("{}: of keys and values, layers without a window have {} in {} pages, those with one {} in {}", name,
              readable(made.engine->cache().page_bytes() * static_cast<std::size_t>(pages.total)), pages.total,
              readable(made.engine->cache().window_page_bytes() * static_cast<std::size_t>(pages.window_total)),
              pages.window_total);
  }
  if (available > 0 && kv + made.drafting.pages > available) {
    log::warn("{}: pages of {} do not fit into that: lower --kv-cache-memory-bytes", name,
              readable(kv + made.drafting.pages));
  }
}

}  // namespace

// Reads the adapters that the configuration names; the first that fails ends it.
std::shared_ptr<model::AdapterStore> load_adapters(const LoadedModel& loaded, const AdapterConfig& config) {
  if (config.merge) {
    throw_load_error(ErrorCode::kUnsupported, "lora-merge", "lora-merge: nothing merges adapters here");
  }
  model::AdapterLoader loader(*loaded.checkpoint, *loaded.transformer, *loaded.backend);
  const auto read = [&loaded, loader, config](const std::string& directory) {
    model::AdapterContent content{loader.load(Env::system(), directory, config.options())};
    if (!config.lora_ignore_template) content.chat = adapter_chat_format(loaded, directory);
    return content;
  };
  auto store = std::make_shared<model::AdapterStore>(Env::system(), read, config.store());
  for (const NamedAdapter& named : config.lora) store->load_pinned(named.name, named.path).or_throw();
  return store;
}

ServingEngine make_engine(const LoadedModel& loaded, const EngineConfig& config,
                          const EngineSurroundings& surroundings) {
  config.validate().or_throw();
  engine::Config engine = config.config();
  engine.model_key = origin_key(loaded);
  engine.step_cost.reads = weight_reads(*loaded.transformer);
  engine.scheduling.stages = loaded.transformer->part().stages();
  draft::DrafterOptions drafter = config.speculation.prepare(loaded, engine.scheduling);
  const kv::KvBudget budget = budget_of(loaded, engine.scheduling);
  const kv::KvSize size =
      cache_size(config, budget, config.speculation.page_bytes(drafter), surroundings.kv_cache_tokens);
  auto allocated = engine::LocalExecutor::create(*loaded.transformer, *loaded.backend, loaded.config.kv_pages(),
                                                 size.pages * budget.block_tokens, 1, size.window_pages);
  if (!allocated) throw LoadError(memory_error(config, budget, size, allocated.error()));
  std::unique_ptr<engine::LocalExecutor> executor = *std::move(allocated);
  ServingEngine made;
  made.executor = executor.get();
  made.adapters = load_adapters(loaded, config.adapters);
  made.executor->set_adapters(made.adapters);
  for (const auto& named : made.adapters->set()->list()) made.executor->share(*named.adapter).or_throw();
  if (loaded.ranks != nullptr) made.executor->set_recovery([&loaded] { restart_ranks(loaded); });
  const kv::KvStore* windowed = executor->store().windowed();
  made.disk = open_disk_tier(loaded, config, *executor,
                             executor->store().page_bytes() + (windowed != nullptr ? windowed->page_bytes() : 0));
  std::unique_ptr<engine::Executor> computing = std::move(executor);
  if (surroundings.turn != nullptr) {
    computing = std::make_unique<engine::TurnExecutor>(std::move(computing), surroundings.turn);
  }
  made.engine =
      engine::Engine::create(std::move(computing),
                             surroundings.tokenizer != nullptr ? surroundings.tokenizer : loaded.checkpoint->tokenizer,
                             Env::system(), engine, made.disk.get())
          .or_throw();
  if (made.disk != nullptr) made.engine->warm_up().or_throw();
  made.drafting = config.speculation.apply(*made.engine, *made.executor, std::move(drafter));
  if (surroundings.memory == PageMemory::kWhole) made.executor->memory().populate();
  if (surroundings.memory == PageMemory::kFollowsUse) made.executor->memory().follow();
  return made;
}

ServingEngine start_engine(const std::string& name, const LoadedModel& loaded, EngineConfig config,
                           const std::shared_ptr<engine::TurnArbiter>& turn) {
  if (loaded.checkpoint->tokenizer == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "tokenizer", "{}: this model has no tokenizer", loaded.checkpoint->path);
  }
  if (config.kv_cache_tokens == 0 && config.kv_cache_bytes == 0) config.kv_cache_bytes = kServingKvBytes;
  ServingEngine made = make_engine(loaded, config, {.turn = turn, .memory = PageMemory::kFollowsUse});
  const AdapterMemory adapters =
      adapter_memory(config.adapters, made.adapters->list(), loaded.transformer->part().ranks());
  check_adapter_memory(adapters, made.engine->limits().kv_bytes + made.drafting.pages,
                       static_cast<std::uint64_t>(cpu_info().memory_available_bytes))
      .or_throw();
  made.adapter_bytes = adapters.reserved;  // of all ranks
  log_memory(name, loaded, made, adapters);
  made.engine->warm_up().or_throw();
  made.engine->idle_memory().configure(
      {.cached_bytes = kIdleCachedBytes + loaded.transformer->weight_bytes() / kIdleCachedPart});
  made.engine->reporter().measure(step_meter(loaded, *made.engine));
  return made;
}

}  // namespace millrace::runtime
