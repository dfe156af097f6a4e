#include "runtime/loaded_model.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/checksum.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/readable_bytes.h"
#include "checkpoint/content_key.h"
#include "model/adapters/merged_checkpoint.h"
#include "model/computation_key.h"
#include "model/importance_check.h"
#include "model/make_spec.h"
#include "model/memory_plan.h"
#include "model/quantization_choice.h"
#include "model/rank_plan.h"
#include "model/ranks/rank_leader.h"
#include "model/weights/weights_key.h"
#include "runtime/build_name.h"
#include "runtime/cache_directory.h"
#include "runtime/mpi_job.h"
#include "runtime/outlier_policy.h"
#include "runtime/rank_meeting.h"

namespace millrace::runtime {
namespace {

// Smaller models are packed faster than a file is found.
constexpr std::uint64_t kWorthKeeping = std::uint64_t{256} << 20;

backend::PackedCacheConfig packed_cache_of(const ModelConfig& config, const checkpoint::Checkpoint& checkpoint,
                                           std::uint64_t model_key, std::uint64_t expected) {
  std::uint64_t bytes = 0;
  for (const checkpoint::RawTensor& tensor : checkpoint.tensors) bytes += tensor.bytes;
  const bool is_group = config.ranks.ranks() > 1;  // a rank that ends is to be back soon
  if (config.packed_cache == "off" || (config.packed_cache == "auto" && bytes < kWorthKeeping && !is_group)) return {};
  return {.directory = config.packed_cache == "auto" ? cache_directory() + "/packed" : config.packed_cache,
          .model_key = model_key,
          .limit_bytes = config.packed_cache_limit,
          .expected_bytes = expected};
}

// Bytes that the weights will take, which the log says before any is read: loading a model that is too large ends in
// swapping, or in the system's killing this process. `backend` is any of the kind that will compute.
std::vector<std::uint64_t> planned_weights(const ModelConfig& config, const checkpoint::Checkpoint& checkpoint,
                                           const model::CheckpointWeights& weights, const model::ModelSpec& spec,
                                           const model::LoadQuantization& quantization,
                                           const backend::Backend& backend) {
  const model::MemoryPlanOptions options{
      .precision = config.precision(), .quantization = quantization, .kv = config.kv_pages()};
  const model::MemoryPlan plan = model::plan_memory(weights, spec, backend, options);
  const auto available = static_cast<std::uint64_t>(cpu_info().memory_available_bytes);
  const auto readable = [](std::uint64_t bytes) { return readable_bytes(static_cast<double>(bytes)); };
  const std::string experts = plan.experts == 0 ? "" : fmt::format(", {} of them of experts,", readable(plan.experts));
  log::info("{}: {} of weights{} will be loaded; {} of memory are available", checkpoint.path, readable(plan.weights),
            experts, readable(available));
  if (available > 0 && plan.weights > available) {
    log::warn("{}: {} of weights do not fit into the {} of memory that are available: take a smaller quantization",
              checkpoint.path, readable(plan.weights), readable(available));
  }
  if (config.ranks.ranks() == 1) return {plan.weights};
  std::vector<std::uint64_t> of_ranks;
  for (const model::RankPlan& part :
       model::plan_ranks(weights, spec, backend, config.ranks.shards(spec).or_throw(), options)) {
    log::info(
        "{}: rank {} will have {} of weights in layers {} to {}, {} of keys and values for each token, {:.0f} % of the "
        "work",
        checkpoint.path, of_ranks.size(), readable(part.memory.weights), part.layers.first, part.layers.last - 1,
        readable(part.kv_bytes_per_token), part.work * 100.0);
    of_ranks.push_back(part.memory.weights);
  }
  return of_ranks;
}

void log_weights(const LoadedModel& loaded) {
  const std::string& path = loaded.checkpoint->path;
  const std::string maker = loaded.weights.maker.empty() ? "" : ", made by " + loaded.weights.maker;
  log::info("{}: weights are {}, {:.2f} bits each{}", path, loaded.weights.format(), loaded.weights.bits_per_weight(),
            maker);
  if (const std::string slow = loaded.weights.computed_as_f32(); !slow.empty()) log::warn("{}: {}", path, slow);
}

void log_merged(const LoadedModel& loaded, const model::Merged& merged) {
  log::info("{}: {} is merged into {} tensors; rounding them changed values by {:.2e} of their size",
            loaded.checkpoint->path, loaded.config.merged_lora, merged.tensors, merged.error->relative());
}

// Tokens of the sequence whose keys and values count, where no length is asked for.
constexpr std::int64_t kPlannedLength = 8192;

model::MemoryPlanOptions plan_options(const ModelConfig& config, const model::ModelSpec& spec) {
  model::MemoryPlanOptions options{.precision = config.precision(), .kv = config.kv_pages()};
  options.length = config.max_model_len > 0 ? config.max_model_len : std::min(kPlannedLength, spec.context_length);
  options.sequences = 1;
  return options;
}

std::uint64_t memory_for(const ModelConfig& config) {
  return config.memory > 0 ? config.memory : static_cast<std::uint64_t>(cpu_info().memory_available_bytes);
}

model::LoadQuantization format_of(const ModelConfig& config, const checkpoint::Checkpoint& checkpoint,
                                  const model::ModelSpec& spec, const backend::Backend& backend,
                                  std::vector<std::string>* table) {
  const bool chosen = config.quantization == "auto";
  model::MemoryPlanOptions options = plan_options(config, spec);
  const auto readable = [](std::uint64_t bytes) { return readable_bytes(static_cast<double>(bytes)); };
  if (!chosen) {
    options.quantization = model::choose_load_quantization(config.quantization, checkpoint).or_throw();
    const std::uint64_t planned =
        config.memory == 0 ? 0
                           : model::plan_memory(model::CheckpointWeights(checkpoint), spec, backend, options).total();
    if (planned > config.memory) {
      throw_load_error(ErrorCode::kResourceExhausted, "memory",
                       "memory is {}: {} takes {} with keys and values of {} tokens; take a smaller quantization, or "
                       "auto",
                       readable(config.memory), checkpoint.path, readable(planned), options.length);
    }
    return options.quantization;
  }
  const std::uint64_t memory = memory_for(config);
  const model::QuantizationChoices choices = model::choose_quantization(checkpoint, spec, backend, options, memory);
  if (choices.best == nullptr) {
    const auto smallest = std::ranges::min_element(choices.all, {}, [](const auto& one) { return one.plan.total(); });
    throw_load_error(ErrorCode::kResourceExhausted, "memory",
                     "memory is {}: {} does not fit with keys and values of {} tokens; the smallest, {}, takes {}",
                     readable(memory), checkpoint.path, options.length,
                     smallest->quantization.name.empty() ? "as it is stored" : smallest->quantization.name,
                     readable(smallest->plan.total()));
  }
  if (table != nullptr) {
    *table = choices.table();
    table->insert(table->begin(), fmt::format("quantization auto, {} of memory", readable(memory)));
  }
  return choices.best->quantization;
}

}  // namespace

std::string panels_of(const ModelConfig& config, const model::CheckpointWeights& weights, const model::ModelSpec& spec,
                      const backend::Backend& backend) {
  if (config.iq_panels != "auto") return config.iq_panels;
  ModelConfig compact = config;
  compact.iq_panels = "compact";
  const model::MemoryPlanOptions options = plan_options(config, spec);
  const std::uint64_t fast = model::plan_memory(weights, spec, backend, options).total();
  if (fast <= memory_for(config)) return "fast";
  const std::uint64_t small = model::plan_memory(weights, spec, *compact.make_backend(1), options).total();
  if (small == fast) return "fast";
  log::info("iq-panels auto: compact, which takes {} instead of {}, of {}", readable_bytes(static_cast<double>(small)),
            readable_bytes(static_cast<double>(fast)), readable_bytes(static_cast<double>(memory_for(config))));
  return "compact";
}

model::LoadQuantization quantization_of(const ModelConfig& config, const checkpoint::Checkpoint& checkpoint,
                                        const model::ModelSpec& spec, const backend::Backend& backend,
                                        std::vector<std::string>* table) {
  model::LoadQuantization quantization = format_of(config, checkpoint, spec, backend, table);
  if (config.imatrix.empty()) return quantization;
  if (quantization.linears == nullptr && config.quantization != "auto") {
    throw_load_error(ErrorCode::kInvalidArgument, "imatrix",
                     "imatrix is '{}', but {} is {} already: there is nothing to round", config.imatrix,
                     checkpoint.path, config.quantization);
  }
  quantization.importance = std::make_shared<const checkpoint::ImportanceMatrix>(
      checkpoint::read_importance_matrix(Env::system(), config.imatrix).or_throw());
  model::check_importance(*quantization.importance, checkpoint, spec).or_throw();
  return quantization;
}

namespace {

// A checkpoint as it is computed with, and what its configuration means.
struct Opened {
  LoadedModel loaded;
  model::ModelSpec spec;
  model::Merged merged;
  std::uint64_t checkpoint_key = 0;
  std::vector<std::uint64_t> planned;  // bytes of weights, by rank
  double ms = 0.0;                     // that opening took
};

// Part of the name of packed weights in their cache.
std::uint64_t packed_key(std::uint64_t checkpoint_key, const ModelConfig& config, int rank) {
  if (config.ranks.ranks() == 1) return checkpoint_key;
  return checksum(fmt::format("{:016x} rank {} of {}", checkpoint_key, rank, config.ranks.text()));
}

Opened open_model(const ModelConfig& config, bool with_text) {
  Opened opened;
  LoadedModel& loaded = opened.loaded;
  const TimePoint start = Env::system().now();
  loaded.config = config;
  loaded.checkpoint = checkpoint::open_checkpoint(Env::system(), config.path, with_text).or_throw();
  if (const model::ScaledAdapter adapter{config.merged_lora}; !adapter.path.empty()) {
    opened.merged = model::merge_adapters(Env::system(), *loaded.checkpoint, config.make_backend(1), {&adapter, 1});
  }
  const checkpoint::ContentKeys keys = model::weights_keys(*loaded.checkpoint);
  opened.checkpoint_key = keys.content;
  loaded.file_times = keys.times;
  opened.ms = milliseconds_between(start, Env::system().now());
  auto planner = config.make_backend(1);
  opened.spec = model::make_spec(*loaded.checkpoint, planner->limits()).or_throw();
  const model::CheckpointWeights stored(*loaded.checkpoint);
  loaded.config.iq_panels = panels_of(config, stored, opened.spec, *planner);
  if (loaded.config.iq_panels == "compact") planner = loaded.config.make_backend(1);
  std::vector<std::string> table;
  loaded.quantization = quantization_of(config, *loaded.checkpoint, opened.spec, *planner, &table);
  if (config.quantization == "auto") loaded.config.quantization = loaded.quantization.name;
  loaded.weights_key = loaded.quantization.key(opened.checkpoint_key);
  loaded.copied_key = loaded.quantization.key(keys.copies);
  for (const std::string& line : table) log::info("{}: {}", loaded.checkpoint->path, line);
  loaded.weights = model::summarize_weights(*loaded.checkpoint, stored);
  log_weights(loaded);
  opened.planned = planned_weights(config, *loaded.checkpoint, stored, opened.spec, loaded.quantization, *planner);
  return opened;
}

RankLoaded part_of_rank(const LoadedModel& loaded) {
  const ModelConfig& config = loaded.config;
  const bool proves = config.file_times != 0 && config.file_times != loaded.file_times;
  return {.weights = loaded.copied_key,
          .all_bytes = proves ? checkpoint::whole_key(*loaded.checkpoint) : 0,
          .computation = model::computation_key(loaded.transformer->spec()),
          .build = checksum(build_key()),
          .precision = checksum(config.matmul_precision),
          .pages = checksum(fmt::format("{} {} {} {}", config.kv_cache_dtype, config.kv_exceptions, config.kv_layout,
                                        config.block_size)),
          .bytes_read = loaded.checkpoint->bytes_read(),
          .bytes = RankWeights::of(*loaded.transformer),
          .ms = loaded.load_ms};
}

// Loads what is opened, as the rank of `group`, if there is one.
LoadedModel load_opened(Opened opened, const std::shared_ptr<comm::Communicator>& group,
                        const std::function<void(double)>& progress, const BackendWrapper& wrap) {
  LoadedModel loaded = std::move(opened.loaded);
  const ModelConfig& config = loaded.config;
  Env& env = Env::system();
  const TimePoint start = env.now();
  const auto rank = static_cast<std::size_t>(group ? group->rank() : 0);
  const std::uint64_t key = packed_key(opened.checkpoint_key, config, static_cast<int>(rank));
  loaded.backend = config.make_backend(config.threads,
                                       packed_cache_of(config, *loaded.checkpoint, key, opened.planned[rank]), group);
  if (wrap) loaded.backend = wrap(std::move(loaded.backend));
  model::ModelOptions options;
  options.max_length = config.max_model_len;
  options.precision = config.precision();
  options.quantization = loaded.quantization;
  if (group != nullptr) {
    options.shards = std::make_shared<model::Shards>(config.ranks.shards(opened.spec).or_throw());
    options.group = group;
    if (group->rank() == 0) options.leader = std::make_shared<model::RankLeader>(group);
  }
  if (progress) {
    options.progress = [&](std::uint64_t done, std::uint64_t all) {
      progress(static_cast<double>(done) / std::max(1.0, static_cast<double>(all)));
    };
  }
  loaded.transformer =
      std::make_unique<model::Transformer>(*loaded.checkpoint, std::move(opened.spec), *loaded.backend, options);
  loaded.load_ms = milliseconds_between(start, env.now());
  if (group != nullptr && group->rank() > 0) report_loaded(part_of_rank(loaded), *group);
  if (group != nullptr && group->rank() == 0) {
    loaded.of_others = meet_ranks(part_of_rank(loaded), *loaded.checkpoint, *group);
  }
  if (opened.merged.error != nullptr) log_merged(loaded, opened.merged);
  log::info("{}: opened in {:.0f} ms, {} of weights ready in {:.0f} ms more{}", loaded.checkpoint->path, opened.ms,
            readable_bytes(loaded.transformer->weight_bytes()), loaded.load_ms,
            group != nullptr ? fmt::format(", of rank {}", group->rank()) : std::string());
  return loaded;
}

}  // namespace

std::size_t LoadedModel::weight_bytes() const noexcept { return transformer->weight_bytes() + of_others.packed; }

double LoadedModel::weight_bytes(double rows) const noexcept {
  const RankWeights own = RankWeights::of(*transformer);
  const double read = transformer->weight_bytes(rows);
  const double share = own.experts > 0.0 ? (read - own.each_step) / own.experts : 0.0;  // of experts that are touched
  return read + of_others.each_step + share * of_others.experts;
}

namespace {

int ranks_on_host(const LoadedModel& loaded) noexcept {
  if (loaded.ranks == nullptr) return 1;
  return loaded.config.ranks.over_mpi() ? mpi_neighbours() : loaded.config.ranks.ranks();
}

}  // namespace

int LoadedModel::threads_on_host() const noexcept { return backend->threads() * ranks_on_host(*this); }

double LoadedModel::hosts() const noexcept {
  return static_cast<double>(config.ranks.ranks()) / static_cast<double>(ranks_on_host(*this));
}

void restart_ranks(const LoadedModel& loaded) {
  constexpr int kAttempts = 5;  // of ranks that end while they start
  const TimePoint start = Env::system().now();
  if (const std::optional<Error>& why = loaded.transformer->leader()->lost()) loaded.ranks->give_up(*why);
  for (int attempt = 1;; ++attempt) {
    try {
      loaded.ranks->restart();
      meet_ranks(part_of_rank(loaded), *loaded.checkpoint, *loaded.ranks->communicator());
      loaded.transformer->leader()->restore();
      break;
    } catch (const LoadError& failure) {
      if (attempt == kAttempts || failure.error().code != ErrorCode::kUnavailable) throw;
      log::warn("{}: ranks do not start: {}", loaded.checkpoint->path, failure.what());
    }
  }
  log::info("{}: {} ranks started anew in {:.0f} ms", loaded.checkpoint->path, loaded.ranks->processes().size(),
            milliseconds_between(start, Env::system().now()));
}

LoadedModel load_rank(const ModelConfig& config, const std::shared_ptr<comm::Communicator>& group) {
  return load_opened(open_model(config, false), group, {}, {});
}

namespace {

int threads_here(const ModelConfig& config) {
  if (config.ranks.over_mpi()) return config.ranks.threads_over_mpi(config.threads, mpi_neighbours()).or_throw();
  return config.ranks.threads_of_rank(config.threads).or_throw();
}

}  // namespace

LoadedModel load_model(const ModelConfig& asked, const std::function<void(double)>& progress,
                       const BackendWrapper& wrap) {
  asked.validate().or_throw();
  ModelConfig config = asked;
  config.threads = threads_here(asked);
  Opened opened = open_model(config, true);
  std::unique_ptr<RankGroup> ranks;
  if (config.ranks.ranks() > 1) {
    ModelConfig of_others = opened.loaded.config;
    of_others.file_times = opened.loaded.file_times;
    ranks = RankGroup::start(of_others, opened.spec);
  }
  LoadedModel loaded = load_opened(std::move(opened), ranks ? ranks->communicator() : nullptr, progress, wrap);
  loaded.ranks = std::move(ranks);
  loaded.config.threads = asked.threads;
  loaded.config.quantization = asked.quantization;
  const model::ModelSpec& spec = loaded.transformer->spec();
  if (spec.context_length > 0 && config.max_model_len > spec.context_length) {
    log::warn("--max-model-len {}: the model was trained for {} tokens, and answers beyond them are of no use",
              config.max_model_len, spec.context_length);
  }
  if (config.precision() == backend::MatmulPrecision::kAuto) {
    apply_outlier_policy(*loaded.checkpoint, *loaded.transformer, loaded.weights_key);
  }
  if (!spec.unread_fields.empty()) {
    log::info("{}: fields of the configuration that nothing here reads: {}", loaded.checkpoint->path,
              fmt::join(spec.unread_fields, ", "));
  }
  return loaded;
}

}  // namespace millrace::runtime
