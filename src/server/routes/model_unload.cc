#include "server/model_fields.h"
#include "server/pooled_reply.h"

namespace millrace::server::routes {
namespace {

Result<Json> unload(ServerContext& server, const Call&, const ModelFields& fields) {
  if (auto done = server.models.unload(fields.model); !done) return done.error();
  return Json{{"success", true}};
}

}  // namespace

Route model_unload() {
  return {.method = "POST",
          .path = "/models/unload",
          .scope = Scope::kAdmin,
          .summary = "Unload a model that nobody uses; the next request for it loads it again",
          .handle = [](ServerContext& server,
                       Call call) { return answer_fields(server, std::move(call), model_schema(), unload); },
          .body_schema = [] { return model_schema().json(); }};
}

}  // namespace millrace::server::routes
