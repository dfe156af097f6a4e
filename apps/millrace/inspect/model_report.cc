#include "inspect/model_report.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "inspect/rank_report.h"
#include "inspect/shape_report.h"
#include "inspect/weight_report.h"
#include "model/config/read_config.h"
#include "model/make_spec.h"
#include "model/memory_plan.h"
#include "progress.h"

namespace millrace::app {
namespace {

using Json = nlohmann::ordered_json;
using checkpoint::Checkpoint;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json describe_tokenizer(const text::Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return nullptr;
  const auto token = [&](text::TokenId id) -> Json { return {{"id", id}, {"text", tokenizer->token_text(id)}}; };
  Json ends = Json::array();
  for (const text::TokenId id : tokenizer->end_of_generation()) ends.push_back(token(id));
  std::int64_t specials = 0;
  for (text::TokenId id = 0; id < tokenizer->vocab_size(); ++id) specials += tokenizer->is_special(id) ? 1 : 0;
  return {{"kind", tokenizer->kind()},
          {"tokens", tokenizer->vocab_size()},
          {"special_tokens", specials},
          {"bos", tokenizer->bos() ? token(*tokenizer->bos()) : Json(nullptr)},
          {"eos", tokenizer->eos() ? token(*tokenizer->eos()) : Json(nullptr)},
          {"end_of_generation", std::move(ends)},
          {"adds_bos", tokenizer->adds_bos()}};
}

Json describe_memory(const model::CheckpointWeights& weights, const model::ModelSpec& spec, const ModelFlags& flags,
                     const model::LoadQuantization& quantization, const backend::Backend& backend) {
  const std::int64_t length = flags.max_model_len > 0 ? flags.max_model_len : spec.context_length;
  const model::MemoryPlan plan = model::plan_memory(weights, spec, backend,
                                                    {.precision = flags.precision(),
                                                     .quantization = quantization,
                                                     .kv = flags.kv_pages(),
                                                     .length = length,
                                                     .sequences = 1});
  Json per_token = Json::object();
  for (const backend::KvEncodingKind& kind : backend::choose_device(flags.device).or_throw()->kv_encodings()) {
    per_token[std::string(kind.name)] = model::kv_bytes_per_token(spec, {.encoding = kind.name}, backend);
  }
  return {{"kv_bytes_per_token", std::move(per_token)},
          {"kv_cache_dtype", flags.kv_cache_dtype},
          {"quantization", quantization.name.empty() ? Json(nullptr) : Json(quantization.name)},
          {"tokens", length},
          {"isa", flags.cpu_isa.empty() ? std::string(to_string(detect_isa())) : flags.cpu_isa},
          {"weights", plan.weights},
          {"experts", plan.experts},
          {"kv", plan.kv},
          {"workspace", plan.workspace},
          {"total", plan.total()},
          {"available", cpu_info().memory_available_bytes}};
}

std::vector<std::string> find_warnings(const Checkpoint& checkpoint, std::int64_t vocab_size, const Json& memory) {
  std::vector<std::string> warnings;
  if (checkpoint.tokenizer == nullptr) {
    warnings.push_back("no tokenizer: the model can be measured but not talked to");
  } else if (checkpoint.tokenizer->vocab_size() > vocab_size) {
    warnings.push_back(
        fmt::format("the tokenizer has {} tokens, the model {}", checkpoint.tokenizer->vocab_size(), vocab_size));
  }
  if (checkpoint.chat_templates.empty()) warnings.push_back("no chat template: not a chat model");
  if (checkpoint.generation.eos_token_ids.empty()) warnings.push_back("no end token: answers end by length alone");
  if (!memory.is_null() && memory["available"] > 0 && memory["total"] > memory["available"]) {
    warnings.push_back(fmt::format("{} for {} tokens exceed the {} available: lower --max-model-len",
                                   readable_bytes(memory["total"].get<double>()), memory["tokens"].get<std::int64_t>(),
                                   readable_bytes(memory["available"].get<double>())));
  }
  return warnings;
}

}  // namespace

Json model_report(const Checkpoint& checkpoint, const ModelFlags& flags, const PredictionFlags& prediction,
                  bool tensors) {
  const model::ModelConfig config = model::read_model_config(checkpoint).or_throw();
  auto backend = flags.make_backend(1);
  auto spec = model::make_spec(checkpoint, backend->limits());
  std::optional<model::CheckpointWeights> weights;
  std::optional<model::WeightSummary> summary;
  std::optional<StoredModel> stored;
  model::LoadQuantization quantization;
  if (spec) {
    summary.emplace(model::summarize_weights(checkpoint, weights.emplace(checkpoint)));
    stored.emplace(StoredModel{*spec, *weights, *summary});
    ModelFlags decided = flags;
    decided.iq_panels = runtime::panels_of(flags, *weights, *spec, *backend);
    backend = decided.make_backend(1);
    quantization = runtime::quantization_of(flags, checkpoint, *spec, *backend);
  }
  const checkpoint::GenerationDefaults& g = checkpoint.generation;
  Json report = {{"path", checkpoint.path},
                 {"container", to_string(checkpoint.container)},
                 {"name", checkpoint.name},
                 {"architecture", checkpoint.config.architecture},
                 {"family", spec ? Json(spec->family) : Json(nullptr)},
                 {"parameters", describe_parameters(checkpoint, stored ? &*stored : nullptr)},
                 {"weights", summary ? describe_weights(*summary) : Json(nullptr)},
                 {"formats", describe_formats(checkpoint)},
                 {"shape", describe_shape(config, spec ? &*spec : nullptr)},
                 {"tokenizer", describe_tokenizer(checkpoint.tokenizer.get())},
                 {"memory", spec ? describe_memory(*weights, *spec, flags, quantization, *backend) : Json(nullptr)},
                 {"generation",
                  {{"temperature", or_null(g.temperature)},
                   {"top_p", or_null(g.top_p)},
                   {"top_k", or_null(g.top_k)},
                   {"min_p", or_null(g.min_p)},
                   {"repetition_penalty", or_null(g.repetition_penalty)},
                   {"do_sample", or_null(g.do_sample)},
                   {"eos_token_ids", g.eos_token_ids}}},
                 {"chat_template", checkpoint.chat_templates.default_source()}};
  std::vector<std::string> warnings = find_warnings(checkpoint, config.vocab_size, report["memory"]);
  if (!spec) warnings.push_back(spec.error().message);
  if (summary && !summary->computed_as_f32().empty()) warnings.push_back(summary->computed_as_f32());
  report["warnings"] = warnings;
  if (tensors) report["tensors"] = list_tensors(checkpoint);
  if (stored && flags.ranks.ranks() > 1) {
    report["tensor_parallel"] = describe_ranks(*stored, flags, quantization, *backend, prediction);
  }
  return report;
}

}  // namespace millrace::app
