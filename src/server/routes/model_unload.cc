#include "server/model_fields.h"

namespace millrace::server::routes {
namespace {

http::Reply unload(ServerContext& server, const Call& call) {
  const auto fields = read_model_fields(server, call);
  if (!fields) return ApiError(fields.error()).reply(Dialect::kOpenAi);
  const auto done = server.models.unload(fields->model);
  const Json success = {{"success", true}};
  if (done) return {.body = dumped(success)};
  const Error& why = done.error();
  // Another try may succeed, but the server is well.
  if (why.code == ErrorCode::kUnavailable)
    return ApiError(409, "model_in_use", why.param, why.message).reply(Dialect::kOpenAi);
  return ApiError(why).reply(Dialect::kOpenAi);
}

}  // namespace

Route model_unload() {
  return {.method = "POST",
          .path = "/models/unload",
          .scope = Scope::kAdmin,
          .summary = "Unload a model that is not in use; the next request for it loads it again",
          .handle = [](ServerContext& server, Call call) { return answer_in_pool(server, std::move(call), unload); },
          .body_schema = [] { return model_schema().json(); }};
}

}  // namespace millrace::server::routes
