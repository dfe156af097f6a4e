#include "server/model_fields.h"

namespace millrace::server::routes {
namespace {

// Answers when the model is loaded, or cannot be.
void load(ServerContext& server, const Call& call, const Answered& answered) {
  const auto fields = read_model_fields(server, call);
  if (!fields) return answered(ApiError(fields.error()).reply(Dialect::kOpenAi));
  const auto loaded = [answered](const Result<std::shared_ptr<HostedModel>>& model) {
    const Json success = {{"success", true}};
    answered(model ? http::Reply{.body = dumped(success)} : ApiError(model.error()).reply(Dialect::kOpenAi));
  };
  if (const auto known = server.models.acquire(fields->model, loaded)) loaded(*known);
}

}  // namespace

Route model_load() {
  return {.method = "POST",
          .path = "/models/load",
          .scope = Scope::kAdmin,
          .summary = "Load a model; the response comes when it is loaded",
          .handle = [](ServerContext& server, Call call) { return answer_later(server, std::move(call), load); },
          .body_schema = [] { return model_schema().json(); }};
}

}  // namespace millrace::server::routes
