#include "server/model_card.h"

#include <algorithm>
#include <cmath>

#include "decode/processor.h"
#include "decode/sampler_option.h"
#include "model/adapters/adapter_store.h"

namespace millrace::server {
namespace {

Json sampling_defaults(const checkpoint::GenerationDefaults& model) {
  Json out = Json::object();
  for (const decode::SamplerOption* option : decode::all_sampler_options()) {
    if (!option->model_default) continue;
    if (const auto value = model.value_of(option->spec.name)) out[std::string(option->spec.name)] = *value;
  }
  return out;
}

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// What is null is unknown, or was not done.
void add_storage(const ModelStorage& storage, Json& meta) {
  meta["format"] = or_null(storage.format);
  meta["bits_per_weight"] = std::round(100.0 * storage.bits_per_weight) / 100.0;
  meta["maker"] = or_null(storage.maker);
  meta["calibration"] = or_null(storage.calibration);
  meta["quantization"] = or_null(storage.quantization);
  meta["kv_cache_dtype"] = or_null(storage.kv_cache_dtype);
}

}  // namespace

Json model_card(const ModelStatus& status) {
  Json card = {{"id", status.name},
               {"object", "model"},
               {"created", status.model != nullptr ? status.model->created : 0},
               {"owned_by", "millrace"},
               {"root", status.model != nullptr ? status.model->path : status.name},
               {"parent", nullptr},
               {"status", to_string(status.state)}};
  if (status.state == ModelState::kLoading) card["progress"] = status.progress;
  if (status.model == nullptr) return card;
  card["max_model_len"] = status.model->max_length;
  card["sampling_defaults"] = sampling_defaults(status.model->generation);
  card["meta"] = {
      {"n_params", status.model->parameters},
      {"size", status.model->weight_bytes},
      {"n_vocab", status.model->vocab_size},
      {"n_ctx_train", status.model->trained_length},
      {"n_embd", status.model->hidden_size},
      {"kv_bytes_per_token", status.model->kv_bytes / std::max<std::int64_t>(1, status.model->kv_capacity)}};
  add_storage(status.model->storage, card["meta"]);
  return card;
}

std::vector<Json> adapter_cards(const ModelStatus& status, const Caller& caller) {
  std::vector<Json> cards;
  if (status.model == nullptr || status.model->adapters == nullptr) return cards;
  for (const model::AdapterCard& adapter : status.model->adapters->list()) {
    if (!caller.may_use(adapter.name)) continue;
    cards.push_back({{"id", adapter.name},
                     {"object", "model"},
                     {"created", status.model->created},
                     {"owned_by", "millrace"},
                     {"root", adapter.path},
                     {"parent", status.name},
                     {"status", to_string(status.state)},
                     {"max_model_len", status.model->max_length},
                     {"meta",
                      {{"rank", adapter.summary.rank},
                       {"modules", adapter.summary.modules},
                       {"size", adapter.bytes},
                       {"dtype", adapter.summary.type},
                       {"generation", adapter.generation},
                       {"resident", adapter.resident},
                       {"pinned", adapter.pinned}}}});
    const std::vector<std::int32_t>& invocation = adapter.summary.invocation_tokens;
    if (!invocation.empty()) cards.back()["meta"]["invocation_tokens"] = invocation;
  }
  return cards;
}

}  // namespace millrace::server
