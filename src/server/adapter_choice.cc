#include "server/adapter_choice.h"

#include <algorithm>

#include "model/adapters/adapter_store.h"

namespace millrace::server {
namespace {

Result<engine::AdapterUse> use_of(const HostedModel& model, const std::string& name, float scale, const char* field) {
  auto adapter = model.adapters == nullptr ? nullptr : model.adapters->set()->find(name);
  if (adapter == nullptr) {
    return make_error(ErrorCode::kNotFound, field,
                      "the model {} has no adapter of that name: GET /v1/models lists them", model.name);
  }
  return engine::AdapterUse{.key = adapter->key(), .scale = scale, .adapter = std::move(adapter)};
}

}  // namespace

std::string_view adapter_part(std::string_view requested, const std::vector<std::string>& names) {
  if (requested.empty() || std::ranges::find(names, requested) != names.end()) return {};
  for (const std::string& name : names) {
    if (requested.size() > name.size() && requested.starts_with(name) && requested[name.size()] == ':') {
      return requested.substr(name.size() + 1);
    }
  }
  return requested;
}

Result<AdapterChoice> choose_adapters(const HostedModel& model, const GenerationFields& fields) {
  AdapterChoice choice;
  choice.name = adapter_part(fields.model, model.names);
  if (!choice.name.empty()) {
    if (!fields.lora.empty()) {
      return make_error(ErrorCode::kInvalidArgument, "lora",
                        "model names the adapter {}, and lora others: name the model itself, and all adapters in lora",
                        choice.name);
    }
    auto use = use_of(model, choice.name, 1.0f, "model");
    if (!use) return use.error();
    choice.uses.push_back(*std::move(use));
  }
  for (const GenerationFields::Lora& lora : fields.lora) {
    auto use = use_of(model, lora.name, lora.scale, "lora");
    if (!use) return use.error();
    choice.uses.push_back(*std::move(use));
  }
  return choice;
}

}  // namespace millrace::server
