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
    s.boolean(
        "pinned", [](AdapterFields& f) -> auto& { return f.pinned; },
        "Keep it in memory as long as it is loaded, whatever --max-loras says of others");
    s.required("lora_path");
    return s;
  }();
  return made;
}

const Schema<AdapterFields>& unload_adapter_schema() {
  static const Schema<AdapterFields> made = [] {
    Schema<AdapterFields> s = named("The adapter's name");
    s.listed("lora_int_id", "adapters have names here", {{"type", "integer"}});
    return s;
  }();
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
    std::vector<std::string> names = status.aliases;
    names.push_back(status.name);
    const std::string_view part = adapter_part(name, names);
    if (part.empty()) {
      return make_error(ErrorCode::kInvalidArgument, "lora_name", "lora_name is '{}', which is the name of a model",
                        name);
    }
    if (part.size() == name.size()) continue;
    if (status.model == nullptr) return server.models.absence(status.name);
    return Place{status.model, std::string(part)};
  }
  auto first = server.models.ready("");
  if (first == nullptr) return server.models.absence("");
  return Place{std::move(first), name};
}

http::Reply success(std::string_view name, const char* done) {
  return {.content_type = "text/plain; charset=utf-8",
          .body = fmt::format("Success: LoRA adapter '{}' {} successfully.", name, done)};
}

http::Reply failure(const Error& error) {
  ApiError shown = error;
  if (error.code == ErrorCode::kResourceExhausted) shown = ApiError(409, "adapters_full", error.param, error.message);
  return shown.reply(Dialect::kOpenAi);
}

// With the list of fields that were ignored.
Answered with_notes(const Answered& answered, const FieldNotes& notes) {
  return [answered, notes](http::Reply reply) {
    add_name_list(reply, "x-ignored-params", notes.ignored, "_.");
    answered(std::move(reply));
  };
}

// Fields of the call's body. Nothing, once `answered` was called with what is wrong.
std::optional<AdapterFields> read(const ServerContext& server, const Call& call, const Schema<AdapterFields>& schema,
                                  FieldNotes& notes, const Answered& answered) {
  AdapterFields fields;
  const auto body = parse_json(call.request.body);
  const Result<void> fine = body ? schema.read(*body, fields, notes) : body.error();
  const auto unknown = fine ? reject_unknown(server.config, notes) : std::nullopt;
  if (fine && !unknown) return fields;
  answered(fine ? unknown->reply(Dialect::kOpenAi) : failure(fine.error()));
  return std::nullopt;
}

}  // namespace

void load_adapter(ServerContext& server, const Call& call, const Answered& done) {
  FieldNotes notes;
  const auto fields = read(server, call, load_adapter_schema(), notes, done);
  if (!fields) return;
  const Answered answered = with_notes(done, notes);
  const auto place = place_of(server, fields->name);
  if (!place) return answered(failure(place.error()));
  if (place->adapter.empty() || place->model->adapters == nullptr) {
    return answered(failure(make_error(ErrorCode::kInvalidArgument, "lora_name",
                                       "lora_name is '{}', which names no adapter", fields->name)));
  }
  const auto loaded = [answered, model = place->model](const Result<model::AdapterCard>& adapter) {
    if (!adapter) return answered(failure(adapter.error()));
    http::Reply reply = success(adapter->name, "added");
    reply.headers.add("x-lora-generation", std::to_string(adapter->generation));
    answered(std::move(reply));
  };
  place->model->adapters->load(place->adapter, fields->path, {.pinned = fields->pinned, .replace = fields->in_place},
                               loaded);
}

void unload_adapter(ServerContext& server, const Call& call, const Answered& done) {
  FieldNotes notes;
  const auto fields = read(server, call, unload_adapter_schema(), notes, done);
  if (!fields) return;
  const Answered answered = with_notes(done, notes);
  const auto place = place_of(server, fields->name);
  if (!place) return answered(failure(place.error()));
  const auto& store = place->model->adapters;
  if (store == nullptr || !store->remove(place->adapter)) {
    return answered(failure(make_error(ErrorCode::kNotFound, "lora_name", "the model {} has no adapter named {}",
                                       place->model->name, place->adapter)));
  }
  server.adapter_removals.wake_all();
  answered(success(place->adapter, "removed"));
}

}  // namespace millrace::server
