#include "serve/served_model.h"

#include <malloc.h>

#include <algorithm>
#include <filesystem>

#include "adapter_flags.h"
#include "base/env.h"
#include "cli.h"
#include "engine/engine_thread.h"
#include "engine/turn_arbiter.h"
#include "option_heading.h"
#include "runtime/chat_prompt.h"
#include "runtime/serving_memory.h"

namespace millrace::app {
namespace {

constexpr std::string_view kDefault = "default";
constexpr double kProbeSeconds = 0.02;  // for each of the machine's limits
// They are measured again after so many seconds of idleness, in so many seconds all together, and then not for a while.
constexpr double kQuietSeconds = 10.0, kQuietProbeSeconds = 0.04, kQuietPeriodSeconds = 600.0;

struct Resources {
  LoadedModel loaded;
  std::unique_ptr<kv::DiskTier> disk;
};

// What metrics need to know of a model, and of the machine.
server::observe::ServedModel observed(const std::string& name, const LoadedModel& loaded, const EngineFlags& flags,
                                      const ServingEngine& made, std::shared_ptr<const engine::LivePeaks> peaks) {
  const engine::Engine& engine = *made.engine;
  return {.name = name,
          .block_tokens = engine.cache().block_tokens(),
          .pages = engine.cache().total_pages(),
          .weight_bytes = loaded.weight_bytes(),
          .kv_bytes = engine.limits().kv_bytes,
          .drafting_bytes = made.drafting.total(),
          .batches = flags.batching != "continuous",
          .peaks = std::move(peaks)};
}

// Before it is loaded. Nothing is counted where a reference leads nowhere: loading says why.
std::uint64_t expected_bytes(const ModelFlags& flags, const EngineFlags& engine) {
  try {
    runtime::ModelConfig config = flags;
    config.path = model_path(flags.model, flags.hub);
    return runtime::expected_bytes(config, engine.resolved(flags.hub));
  } catch (const LoadError&) {
    return 0;
  }
}

// What an engine does in quiet moments. A request that comes meanwhile waits for a measurement, or about a millisecond.
// `loaded` must outlive the engine.
std::vector<engine::IdleTask> idle_tasks(const LoadedModel& loaded, const std::shared_ptr<engine::LivePeaks>& peaks,
                                         const std::shared_ptr<engine::TurnArbiter>& turn) {
  constexpr double kFreeSeconds = engine::IdleMemoryConfig{}.free_seconds, kLookSeconds = 5.0;
  const auto measure = [&loaded, peaks, turn](engine::Engine&, double) {
    std::optional<engine::TurnArbiter::Member> member;  // while it has its turn no other model computes
    if (turn != nullptr) member.emplace(*turn).begin();
    peaks->measured(runtime::peaks_measured_within(loaded, kQuietProbeSeconds));
    if (member) member->end();
    return false;
  };
  const auto give_back = [](engine::Engine& engine, double idle) { return engine.idle_memory().work(idle); };
  const auto trim = [](engine::Engine&, double) {
    ::malloc_trim(0);
    return false;
  };
  return {{.after_seconds = kQuietSeconds, .period_seconds = kQuietPeriodSeconds, .run = measure},
          {.after_seconds = kFreeSeconds, .period_seconds = kLookSeconds, .run = give_back},
          {.after_seconds = kFreeSeconds, .run = trim}};
}

server::ModelStorage storage_of(const LoadedModel& loaded) {
  return {.format = loaded.weights.format(),
          .maker = loaded.weights.maker,
          .calibration = loaded.weights.calibration,
          .bits_per_weight = loaded.weights.bits_per_weight(),
          .quantization = loaded.quantization.name,
          .kv_cache_dtype = std::string(loaded.config.kv_pages().encoding)};
}

server::ModelParts load(const std::string& name, const ModelFlags& flags, const EngineFlags& engine_flags,
                        const AnswerParsers& parsers, const std::shared_ptr<engine::TurnArbiter>& turn,
                        server::Observers& observers, const std::function<void(double)>& progress) {
  auto resources = std::make_shared<Resources>();
  resources->loaded = load_model(flags, {}, progress);
  LoadedModel& loaded = resources->loaded;
  const runtime::EngineConfig engine_config = engine_flags.resolved(flags.hub);
  warn_of_other_bases(engine_config.adapters, flags.model);
  ServingEngine made = runtime::start_engine(name, loaded, engine_config, turn);
  resources->disk = std::move(made.disk);
  server::ModelParts parts;
  const auto peaks = std::make_shared<engine::LivePeaks>(runtime::measured_peaks(loaded, kProbeSeconds));
  parts.peaks = peaks;
  made.engine->reporter().observe(observers.watch(observed(name, loaded, engine_flags, made, parts.peaks)));
  parts.engine =
      std::make_unique<engine::EngineThread>(std::move(made.engine), loaded.checkpoint->tokenizer, Env::system(),
                                             engine::ThreadConfig{.idle_tasks = idle_tasks(loaded, peaks, turn)});
  parts.adapters = made.adapters;
  parts.tokenizer = loaded.checkpoint->tokenizer;
  parts.chat = runtime::load_chat_format(*loaded.checkpoint);
  server::choose_formats(parsers.tools, parsers.reasoning, parts).or_throw();
  parts.generation = loaded.checkpoint->generation;
  parts.path = std::filesystem::absolute(loaded.checkpoint->path).lexically_normal();
  parts.parameters = loaded.weights.parameters;
  parts.storage = storage_of(loaded);
  parts.weight_bytes = static_cast<std::int64_t>(loaded.weight_bytes());
  parts.adapter_bytes = static_cast<std::int64_t>(made.adapter_bytes);
  parts.drafting_bytes = static_cast<std::int64_t>(made.drafting.total());
  parts.weight_bytes_per_step = static_cast<std::int64_t>(loaded.weight_bytes(1.0));
  parts.trained_length = loaded.transformer->spec().context_length;
  parts.hidden_size = loaded.transformer->spec().hidden_size;
  parts.resources = std::move(resources);
  return parts;
}

// Adapters for one of the models of these names: "MODEL:NAME" is one of the model's, and any other name one of the
// first's.
std::vector<runtime::NamedAdapter> adapters_of(const std::vector<runtime::NamedAdapter>& all,
                                               const std::vector<std::string>& models, std::size_t model) {
  std::vector<runtime::NamedAdapter> own;
  for (const runtime::NamedAdapter& adapter : all) {
    std::size_t owner = 0;
    std::string name = adapter.name;
    for (std::size_t i = 0; i < models.size(); ++i) {
      if (!adapter.name.starts_with(models[i] + ":") || adapter.name.size() == models[i].size() + 1) continue;
      owner = i;
      name = adapter.name.substr(models[i].size() + 1);
    }
    if (owner == model) own.push_back({name, adapter.path});
  }
  return own;
}

server::ModelEntry entry_of(std::string name, const ModelFlags& model, const EngineFlags& engine,
                            const AnswerParsers& parsers, const std::shared_ptr<engine::TurnArbiter>& turn,
                            server::Observers& observers) {
  server::ModelEntry entry;
  entry.reference = model.model;
  for (const runtime::NamedAdapter& adapter : engine.adapters.lora) entry.adapters.push_back(adapter.name);
  entry.adapter_directory = model::AdapterDirectory(engine.adapters.lora_dir);
  entry.load = [name, model, engine, parsers, turn, &observers](const std::function<void(double)>& progress) {
    return load(name, model, engine, parsers, turn, observers, progress);
  };
  entry.expected_bytes = [model, engine] { return expected_bytes(model, engine); };
  entry.name = std::move(name);
  return entry;
}

}  // namespace

void ServedModelsFlags::declare(CLI::App& app) {
  declare_names(app);
  engine.declare(app);
  declare_adapter_life(app, engine.adapters);
  model.declare(app);
}

void ServedModelsFlags::declare_names(CLI::App& app) {
  const OptionHeading heading(app, "Models");
  app.add_option("model_reference", model.model,
                 "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'")
      ->type_name("MODEL");
  app.add_option(
      "--served-model-name,--alias", served_model_name,
      "Model name in API requests and responses; default the model argument as given, and for 'default' the name "
      "of its file");
  app.add_option("--model", further,
                 "Additional model as NAME=MODEL, loaded at the first request for NAME; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--tool-call-parser", parsers.tools,
                 "Format of the model's tool calls. auto: detected from the chat template; none: requests with tools "
                 "are rejected");
  app.add_option(
      "--reasoning-parser", parsers.reasoning,
      "Format of the model's reasoning. auto: detected from the chat template; none: reasoning stays in the content");
}

// "default" says nothing to who lists the models; the name of its file does.
std::string ServedModelsFlags::name_of_first() const {
  if (!served_model_name.empty()) return served_model_name;
  return model.model == kDefault ? std::filesystem::path(default_model_path()).stem().string() : model.model;
}

std::vector<server::ModelEntry> ServedModelsFlags::entries(server::Observers& observers) const {
  server::ModelParts probe;  // says what is wrong before anything is loaded
  server::choose_formats(parsers.tools, parsers.reasoning, probe).or_throw();
  engine.adapters.validate().or_throw();
  EngineFlags serving = engine;
  ModelFlags first = model;
  merge_adapters(serving.adapters, first);
  std::vector<std::string> names = {name_of_first()};
  for (const std::string& pair : further) names.push_back(pair.substr(0, pair.find('=')));
  const auto of_model = [&](std::size_t number) {
    EngineFlags flags = serving;
    flags.adapters.lora = adapters_of(serving.adapters.lora, names, number);
    flags.adapters.validate().or_throw();
    return flags;
  };
  std::vector<server::ModelEntry> entries;
  const auto turn = further.empty() ? nullptr : std::make_shared<engine::TurnArbiter>(Env::system());
  entries.push_back(entry_of(names.front(), first, of_model(0), parsers, turn, observers));
  for (const std::string& pair : further) {
    const std::size_t mark = pair.find('=');
    if (mark == 0 || mark == std::string::npos || mark + 1 == pair.size()) {
      throw_load_error(ErrorCode::kInvalidArgument, "model", "--model {}: expected NAME=REFERENCE", pair);
    }
    ModelFlags other = model;
    other.model = pair.substr(mark + 1);
    entries.push_back(entry_of(pair.substr(0, mark), other, of_model(entries.size()), parsers, turn, observers));
  }
  const auto is_default = [](const server::ModelEntry& entry) { return entry.name == kDefault; };
  if (served_model_name.empty() && model.model == kDefault && std::ranges::none_of(entries, is_default)) {
    entries.front().aliases.emplace_back(kDefault);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (entries[i].name != entries[j].name) continue;
      throw_load_error(ErrorCode::kInvalidArgument, "model", "two models are named {}", entries[i].name);
    }
    for (const runtime::NamedAdapter& adapter : serving.adapters.lora) {
      if (adapter.name != entries[i].name) continue;
      throw_load_error(ErrorCode::kInvalidArgument, "lora", "a model and an adapter are named {}", adapter.name);
    }
  }
  return entries;
}

}  // namespace millrace::app
