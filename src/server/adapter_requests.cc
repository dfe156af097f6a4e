#include "server/adapter_requests.h"

#include "model/adapters/adapter_store.h"
#include "server/adapter_choice.h"
#include "server/limits.h"
#include "server/server_context.h"

namespace millrace::server {
namespace {

using L = RequestLimits;

Schema<AdapterFields> named(const char* about) {
  Schema<AdapterFields> s;
  s.string("lora_name", [](AdapterFields& f) -> auto& { return f.name; }, L::kNameLength, about);
  s.required("lora_name");
  return s;
}

}  // namespace

const Schema<AdapterFields>& load_adapter_schema() {
  static const Schema<AdapterFields> made = [] {
    Schema<AdapterFields> s = named("What requests name it by, as their model");
    s.string("lora_path", [](AdapterFields& f) -> auto& { return f.path; }, L::kPathLength, "Where its files lie");
    s.boolean("load_inplace", [](AdapterFields& f) -> auto& { return f.in_place; }, "Replace the one of that name");
    s.required("lora_path");
    return s;
  }();
  return made;
}

const Schema<AdapterFields>& unload_adapter_schema() {
  static const Schema<AdapterFields> made = named("The adapter's name");
  return made;
}

namespace {

struct Place {
  std::shared_ptr<HostedModel> model;
  std::string adapter;
};

// Of a name in a request: which model, and what the adapter is called there.
Result<Place> place_of(ServerContext& server, const std::string& name) {
  for (const ModelStatus& status : server.models.list()) {
    if (status.model == nullptr) continue;
    const std::string_view part = adapter_part(name, status.model->names);
    if (part.empty()) {
      return make_error(ErrorCode::kInvalidArgument, "lora_name", "lora_name is '{}', which is the name of a model",
                        name);
    }
    if (part.size() < name.size()) return Place{status.model, std::string(part)};
  }
  auto first = server.models.ready("");
  if (first == nullptr) return server.models.absence("");
  return Place{std::move(first), name};
}

Json success(std::string_view name, const char* done) {
  return fmt::format("Success: LoRA adapter '{}' {} successfully.", name, done);
}

}  // namespace

Result<Json> load_adapter(ServerContext& server, const Call&, const AdapterFields& fields) {
  auto place = place_of(server, fields.name);
  if (!place) return place.error();
  if (place->adapter.empty() || place->model->adapters == nullptr) {
    return make_error(ErrorCode::kInvalidArgument, "lora_name", "lora_name is '{}', which names no adapter",
                      fields.name);
  }
  const bool known = place->model->adapters->set()->find(place->adapter) != nullptr;
  if (known && !fields.in_place) {
    return make_error(ErrorCode::kInvalidArgument, "lora_name",
                      "an adapter named {} is loaded: load_inplace replaces it", place->adapter);
  }
  auto loaded = place->model->adapters->load_inside(Env::system(), place->adapter, fields.path);
  if (!loaded) {
    Error error = loaded.error();
    if (error.code == ErrorCode::kBadFile) error.code = ErrorCode::kInvalidArgument;  // the request's, not the server's
    return error;
  }
  return success(place->adapter, known ? "replaced" : "added");
}

Result<Json> unload_adapter(ServerContext& server, const Call&, const AdapterFields& fields) {
  auto place = place_of(server, fields.name);
  if (!place) return place.error();
  const auto& store = place->model->adapters;
  if (store == nullptr || !store->set()->remove(place->adapter)) {
    return make_error(ErrorCode::kNotFound, "lora_name", "the model {} has no adapter named {}", place->model->name,
                      place->adapter);
  }
  return success(place->adapter, "removed");
}

}  // namespace millrace::server
