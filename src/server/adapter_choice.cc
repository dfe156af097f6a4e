#include "server/adapter_choice.h"

#include <algorithm>

#include "model/adapters/adapter_store.h"

namespace millrace::server {
namespace {

Result<model::AdapterRef> find(const HostedModel& model, const std::string& name, const Caller& caller,
                               const char* field, const std::string& requested) {
  const bool takes = model.adapters != nullptr && caller.may_use(name);
  const auto found = takes ? model.adapters->find(name) : model::AdapterRef();
  if (!found) return make_error(found.error().code, field, "{}", found.error().message);
  if (*found != nullptr) return *found;
  if (requested == name) return unknown_model();  // which says nothing of what others may use
  return make_error(ErrorCode::kNotFound, field, "the model {} has no adapter of that name: GET /v1/models lists them",
                    model.name);
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

Result<AdapterChoice> choose_adapters(const HostedModel& model, const GenerationFields& fields, const Caller& caller) {
  AdapterChoice choice;
  const auto add = [&](const std::string& name, float scale, const char* field) -> Result<void> {
    auto found = find(model, name, caller, field, fields.model);
    if (!found) return found.error();
    choice.wanted.push_back(*std::move(found));
    choice.scales.push_back(scale);
    return {};
  };
  choice.name = adapter_part(fields.model, model.names);
  if (!choice.name.empty()) {
    if (!fields.lora.empty()) {
      return make_error(ErrorCode::kInvalidArgument, "lora",
                        "model names the adapter {}, and lora others: name the model itself, and all adapters in lora",
                        choice.name);
    }
    if (auto added = add(choice.name, 1.0f, "model"); !added) return added.error();
  }
  for (const GenerationFields::Lora& lora : fields.lora) {
    if (auto added = add(lora.name, lora.scale, "lora"); !added) return added.error();
  }
  return choice;
}

std::vector<engine::AdapterUse> uses_of(const AdapterChoice& choice, const model::AdapterStore::Leases& leases) {
  std::vector<engine::AdapterUse> uses;
  for (std::size_t i = 0; i < leases.size(); ++i) {
    uses.push_back({.key = leases[i].key, .scale = choice.scales[i], .adapter = leases[i].adapter});
  }
  return uses;
}

std::string generations_of(const model::AdapterStore::Leases& leases) {
  std::string list;
  for (const model::AdapterLease& lease : leases) {
    list += (list.empty() ? "" : ", ") + std::to_string(lease.generation);
  }
  return list;
}

bool is_adapter_error(const Error& error) noexcept {
  return error.param == "lora_name" || error.param == "max-loras" || error.param == "lora-memory";
}

ApiError adapter_error(const AdapterChoice& choice, const Error& error) {
  std::string message = error.message;
  for (const model::AdapterRef& version : choice.wanted) {
    for (std::size_t at = 0; (at = message.find(version->path, at)) != std::string::npos; at += version->name.size()) {
      message.replace(at, version->path.size(), version->name);
    }
  }
  if (error.code == ErrorCode::kResourceExhausted) return {409, "adapters_full", choice.field(), message};
  if (error.code == ErrorCode::kUnavailable && !error.param.empty()) {
    return {409, "adapter_changed", choice.field(), message};
  }
  return Error{error.code, choice.field(), message};
}

}  // namespace millrace::server
