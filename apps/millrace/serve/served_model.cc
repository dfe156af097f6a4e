#include "serve/served_model.h"
#include "model/make_spec.h"

#include <algorithm>

#include "backend/cpu/probe.h"
#include "base/log.h"
#include "base/readable_bytes.h"
#include "chat/conversation.h"
#include "cli.h"
#include "engine/engine_thread.h"
#include "engine/turn_arbiter.h"
#include "model/memory_plan.h"
#include "step_meter.h"

namespace millrace::app {
namespace {

constexpr std::uint64_t kKvBytes = std::uint64_t{1} << 30;  // of cached keys and values, unless told otherwise
constexpr double kProbeSeconds = 0.02;                      // for each of the machine's limits

struct Resources {
  LoadedModel loaded;
  std::unique_ptr<kv::DiskTier> disk;
};

std::int64_t parameters_of(const checkpoint::Checkpoint& checkpoint) {
  std::int64_t sum = 0;
  for (const checkpoint::RawTensor& tensor : checkpoint.tensors) sum += tensor.shape.elements();
  return sum;
}

engine::MachinePeaks measured_peaks(const LoadedModel& loaded) {
  const auto limits = backend::cpu::measure_limits(loaded.backend->threads(), detect_isa(), kProbeSeconds);
  return {.read_gb_s = limits.read_gb_s,
          .gop_s = std::max({limits.int8_gop_s, limits.bf16_gflop_s, limits.f32_gflop_s})};
}

// What metrics need to know of a model, and of the machine.
server::observe::ServedModel observed(const std::string& name, const LoadedModel& loaded, const EngineFlags& flags,
                                      const ServingEngine& made, const engine::MachinePeaks& peaks) {
  const engine::Engine& engine = *made.engine;
  return {.name = name,
          .block_tokens = engine.cache().block_tokens(),
          .pages = engine.cache().total_pages(),
          .weight_bytes = loaded.transformer->weight_bytes(),
          .kv_bytes = engine.limits().kv_bytes,
          .drafting_bytes = made.drafting.total(),
          .batches = flags.batching != "continuous",
          .peaks = peaks};
}

// What the server holds for a model, beside what the machine has left before pages are filled.
void log_memory(const std::string& name, const LoadedModel& loaded, const ServingEngine& made) {
  const auto readable = [](std::size_t bytes) { return readable_bytes(static_cast<double>(bytes)); };
  const std::size_t kv = made.engine->limits().kv_bytes, drafting = made.drafting.total();
  const auto available = static_cast<std::size_t>(cpu_info().memory_available_bytes);
  log::info("{}: {} of weights, {} of keys and values for {} tokens, {} of drafting; {} available", name,
            readable(loaded.transformer->weight_bytes()), readable(kv), made.engine->limits().kv_capacity_tokens,
            readable(drafting), readable(available));
  if (available > 0 && kv + made.drafting.pages > available) {
    log::warn("{}: pages of {} do not fit into that: lower --kv-cache-memory-bytes", name,
              readable(kv + made.drafting.pages));
  }
}

// Before it is loaded, from the headers of its files. Nothing is counted where the files cannot be read: loading says
// why.
std::uint64_t expected_bytes(const ModelFlags& flags, const EngineFlags& engine) {
  try {
    const auto checkpoint = open_model(flags.model, flags.hub);
    const auto backend = flags.make_backend(1);
    const auto planned = [&](const checkpoint::Checkpoint& files, std::int64_t tokens) {
      const auto plan =
          model::plan_memory(model::CheckpointWeights(files), model::make_spec(files).or_throw(), *backend,
                             {.precision = flags.precision(), .kv = flags.kv_pages(), .length = tokens});
      return plan.weights + plan.kv;
    };
    std::uint64_t bytes = planned(*checkpoint, engine.kv_cache_tokens);
    if (engine.kv_cache_tokens == 0) bytes += engine.kv_cache_bytes > 0 ? engine.kv_cache_bytes : kKvBytes;
    const SpeculationFlags& speculation = engine.speculation;
    const draft::DrafterKind* kind = draft::find_drafter(speculation.method);
    if (kind != nullptr && kind->needs == draft::Needs::kModel && !speculation.model.empty()) {
      bytes += planned(*open_model(speculation.model, flags.hub), engine.kv_cache_tokens);
    }
    if (kind != nullptr && kind->weight_bytes != nullptr && !speculation.model.empty()) {
      draft::DrafterOptions heads;
      heads.heads = model_path(speculation.model, flags.hub);
      heads.place.backend = backend.get();
      heads.place.precision = flags.precision();
      bytes += kind->weight_bytes(heads).or_throw();
    }
    return bytes;
  } catch (const LoadError&) {
    return 0;
  }
}

server::ModelParts load(const std::string& name, const ModelFlags& flags, const EngineFlags& engine_flags,
                        const AnswerParsers& parsers, const std::shared_ptr<engine::TurnArbiter>& turn,
                        server::Observers& observers, const std::function<void(double)>& progress) {
  auto resources = std::make_shared<Resources>();
  resources->loaded = load_model(flags, {}, progress);
  LoadedModel& loaded = resources->loaded;
  if (loaded.checkpoint->tokenizer == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "tokenizer", "{}: this model has no tokenizer", loaded.checkpoint->path);
  }
  EngineFlags serving = engine_flags;
  if (serving.kv_cache_tokens == 0 && serving.kv_cache_bytes == 0) serving.kv_cache_bytes = kKvBytes;
  ServingEngine made = make_engine(loaded, loaded.checkpoint->tokenizer, flags, serving, 0, turn);
  log_memory(name, loaded, made);
  made.engine->warm_up().or_throw();
  resources->disk = std::move(made.disk);
  server::ModelParts parts;
  parts.peaks = measured_peaks(loaded);
  made.engine->reporter().measure(step_meter(loaded, *made.engine));
  made.engine->reporter().observe(observers.watch(observed(name, loaded, engine_flags, made, parts.peaks)));
  parts.engine =
      std::make_unique<engine::EngineThread>(std::move(made.engine), loaded.checkpoint->tokenizer, Env::system());
  parts.tokenizer = loaded.checkpoint->tokenizer;
  parts.chat = load_chat_format(*loaded.checkpoint);
  server::choose_formats(parsers.tools, parsers.reasoning, parts).or_throw();
  parts.generation = loaded.checkpoint->generation;
  parts.path = loaded.checkpoint->path;
  parts.parameters = parameters_of(*loaded.checkpoint);
  parts.weight_bytes = static_cast<std::int64_t>(loaded.transformer->weight_bytes());
  parts.drafting_bytes = static_cast<std::int64_t>(made.drafting.total());
  parts.weight_bytes_per_step = static_cast<std::int64_t>(loaded.transformer->weight_bytes_per_token());
  parts.trained_length = loaded.transformer->spec().context_length;
  parts.hidden_size = loaded.transformer->spec().hidden_size;
  parts.resources = std::move(resources);
  return parts;
}

server::ModelEntry entry_of(std::string name, const ModelFlags& model, const EngineFlags& engine,
                            const AnswerParsers& parsers, const std::shared_ptr<engine::TurnArbiter>& turn,
                            server::Observers& observers) {
  server::ModelEntry entry;
  entry.load = [name, model, engine, parsers, turn, &observers](const std::function<void(double)>& progress) {
    return load(name, model, engine, parsers, turn, observers, progress);
  };
  entry.expected_bytes = [model, engine] { return expected_bytes(model, engine); };
  entry.name = std::move(name);
  return entry;
}

}  // namespace

void ServedModelsFlags::declare(CLI::App& app) {
  app.add_option("model_reference", model.model,
                 "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'");
  app.add_option("--served-model-name,--alias", served_model_name,
                 "Model name in API requests and responses; default the model argument as given");
  app.add_option("--model", further,
                 "Additional model as NAME=MODEL, loaded at the first request for NAME; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--tool-call-parser", parsers.tools,
                 "Format of the model's tool calls. auto: detected from the chat template; none: requests with tools "
                 "are rejected");
  app.add_option(
      "--reasoning-parser", parsers.reasoning,
      "Format of the model's reasoning. auto: detected from the chat template; none: reasoning stays in the content");
  engine.declare(app);
  model.declare(app);
}

std::vector<server::ModelEntry> ServedModelsFlags::entries(server::Observers& observers) const {
  server::ModelParts probe;  // says what is wrong before anything is loaded
  server::choose_formats(parsers.tools, parsers.reasoning, probe).or_throw();
  std::vector<server::ModelEntry> entries;
  const auto turn = further.empty() ? nullptr : std::make_shared<engine::TurnArbiter>(Env::system());
  entries.push_back(
      entry_of(served_model_name.empty() ? model.model : served_model_name, model, engine, parsers, turn, observers));
  for (const std::string& pair : further) {
    const std::size_t mark = pair.find('=');
    if (mark == 0 || mark == std::string::npos || mark + 1 == pair.size()) {
      throw_load_error(ErrorCode::kInvalidArgument, "model", "--model {}: expected NAME=REFERENCE", pair);
    }
    ModelFlags other = model;
    other.model = pair.substr(mark + 1);
    entries.push_back(entry_of(pair.substr(0, mark), other, engine, parsers, turn, observers));
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (entries[i].name != entries[j].name) continue;
      throw_load_error(ErrorCode::kInvalidArgument, "model", "two models are named {}", entries[i].name);
    }
  }
  return entries;
}

}  // namespace millrace::app
