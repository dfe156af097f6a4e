#include "runtime/loaded_model.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/cpu.h"
#include "base/log.h"
#include "base/readable_bytes.h"
#include "checkpoint/content_key.h"
#include "model/adapters/merged_checkpoint.h"
#include "model/importance_check.h"
#include "model/make_spec.h"
#include "model/memory_plan.h"
#include "model/quantization_choice.h"
#include "model/weights/weights_key.h"
#include "runtime/cache_directory.h"
#include "runtime/outlier_policy.h"

namespace millrace::runtime {
namespace {

// Smaller models are packed faster than a file is found.
constexpr std::uint64_t kWorthKeeping = std::uint64_t{256} << 20;

backend::PackedCacheConfig packed_cache_of(const ModelConfig& config, const checkpoint::Checkpoint& checkpoint,
                                           std::uint64_t model_key, std::uint64_t expected) {
  std::uint64_t bytes = 0;
  for (const checkpoint::RawTensor& tensor : checkpoint.tensors) bytes += tensor.bytes;
  if (config.packed_cache == "off" || (config.packed_cache == "auto" && bytes < kWorthKeeping)) return {};
  return {.directory = config.packed_cache == "auto" ? cache_directory() + "/packed" : config.packed_cache,
          .model_key = model_key,
          .limit_bytes = config.packed_cache_limit,
          .expected_bytes = expected};
}

// Bytes that the weights will take, which the log says before any is read: loading a model that is too large ends in
// swapping, or in the system's killing this process. `backend` is any of the kind that will compute.
std::uint64_t planned_weights(const ModelConfig& config, const checkpoint::Checkpoint& checkpoint,
                              const model::CheckpointWeights& weights, const model::ModelSpec& spec,
                              const model::LoadQuantization& quantization, const backend::Backend& backend) {
  const model::MemoryPlan plan = model::plan_memory(
      weights, spec, backend, {.precision = config.precision(), .quantization = quantization, .kv = config.kv_pages()});
  const auto available = static_cast<std::uint64_t>(cpu_info().memory_available_bytes);
  const auto readable = [](std::uint64_t bytes) { return readable_bytes(static_cast<double>(bytes)); };
  const std::string experts = plan.experts == 0 ? "" : fmt::format(", {} of them of experts,", readable(plan.experts));
  log::info("{}: {} of weights{} will be loaded; {} of memory are available", checkpoint.path, readable(plan.weights),
            experts, readable(available));
  if (available > 0 && plan.weights > available) {
    log::warn("{}: {} of weights do not fit into the {} of memory that are available: take a smaller quantization",
              checkpoint.path, readable(plan.weights), readable(available));
  }
  return plan.weights;
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

LoadedModel load_model(const ModelConfig& config, const std::function<void(double)>& progress,
                       const BackendWrapper& wrap) {
  config.validate().or_throw();
  LoadedModel loaded;
  loaded.config = config;
  Env& env = Env::system();
  const TimePoint start = env.now();
  loaded.checkpoint = checkpoint::open_checkpoint(env, config.path).or_throw();
  model::Merged merged;
  if (const model::ScaledAdapter adapter{config.merged_lora}; !adapter.path.empty()) {
    merged = model::merge_adapters(env, *loaded.checkpoint, config.make_backend(1), {&adapter, 1});
  }
  const std::uint64_t checkpoint_key = model::weights_key(*loaded.checkpoint);
  const TimePoint opened = env.now();
  auto planner = config.make_backend(1);
  model::ModelSpec spec = model::make_spec(*loaded.checkpoint, planner->limits()).or_throw();
  const model::CheckpointWeights stored(*loaded.checkpoint);
  loaded.config.iq_panels = panels_of(config, stored, spec, *planner);
  if (loaded.config.iq_panels == "compact") planner = loaded.config.make_backend(1);
  std::vector<std::string> table;
  const model::LoadQuantization quantization = loaded.quantization =
      quantization_of(config, *loaded.checkpoint, spec, *planner, &table);
  loaded.weights_key = quantization.key(checkpoint_key);
  for (const std::string& line : table) log::info("{}: {}", loaded.checkpoint->path, line);
  loaded.weights = model::summarize_weights(*loaded.checkpoint, stored);
  log_weights(loaded);
  const std::uint64_t planned = planned_weights(config, *loaded.checkpoint, stored, spec, quantization, *planner);
  loaded.backend =
      loaded.config.make_backend(config.threads, packed_cache_of(config, *loaded.checkpoint, checkpoint_key, planned));
  if (wrap) loaded.backend = wrap(std::move(loaded.backend));
  model::ModelOptions options;
  options.max_length = config.max_model_len;
  options.precision = config.precision();
  options.quantization = quantization;
  if (progress) {
    options.progress = [&](std::uint64_t done, std::uint64_t all) {
      progress(static_cast<double>(done) / std::max(1.0, static_cast<double>(all)));
    };
  }
  loaded.transformer =
      std::make_unique<model::Transformer>(*loaded.checkpoint, std::move(spec), *loaded.backend, options);
  const std::int64_t trained = loaded.transformer->spec().context_length;
  if (trained > 0 && options.max_length > trained) {
    log::warn("--max-model-len {}: the model was trained for {} tokens, and answers beyond them are of no use",
              options.max_length, trained);
  }
  if (options.precision == backend::MatmulPrecision::kAuto) {
    apply_outlier_policy(*loaded.checkpoint, *loaded.backend, *loaded.transformer, loaded.weights_key);
  }
  if (const auto& unread = loaded.transformer->spec().unread_fields; !unread.empty()) {
    log::info("{}: fields of the configuration that nothing here reads: {}", loaded.checkpoint->path,
              fmt::join(unread, ", "));
  }
  if (merged.error != nullptr) log_merged(loaded, merged);
  log::info("{}: opened in {:.0f} ms, {} of weights ready in {:.0f} ms more", loaded.checkpoint->path,
            milliseconds_between(start, opened), readable_bytes(loaded.transformer->weight_bytes()),
            milliseconds_between(opened, env.now()));
  return loaded;
}

}  // namespace millrace::runtime
