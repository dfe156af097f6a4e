#include "server/model_fields.h"
#include "server/pooled_reply.h"

namespace millrace::server::routes {
namespace {

// Answers when the model is loaded, or cannot be.
void load(ServerContext& server, const Call& call, const Answered& answered) {
  ModelFields fields;
  FieldNotes notes;
  const auto read = parse_json(call.request.body);
  if (!read) return answered(json_reply(call, read.error()));
  if (const auto fine = model_schema().read(*read, fields, notes); !fine) {
    return answered(json_reply(call, fine.error()));
  }
  if (const auto unknown = reject_unknown(server.config, notes)) return answered(unknown->reply(Dialect::kOpenAi));
  const auto loaded = [answered](const Result<std::shared_ptr<HostedModel>>& model) {
    const Json success = {{"success", true}};
    answered(model ? http::Reply{.body = dumped(success)} : ApiError(model.error()).reply(Dialect::kOpenAi));
  };
  if (const auto known = server.models.acquire(fields.model, loaded)) loaded(*known);
}

}  // namespace

Route model_load() {
  return {.method = "POST",
          .path = "/models/load",
          .scope = Scope::kAdmin,
          .summary = "Load a model, and answer when it is there",
          .handle = [](ServerContext& server, Call call) { return answer_later(server, std::move(call), load); },
          .body_schema = [] { return model_schema().json(); }};
}

}  // namespace millrace::server::routes
