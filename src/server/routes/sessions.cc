#include "server/generation_fields.h"
#include "server/limits.h"
#include "server/pooled_reply.h"
#include "server/route.h"

namespace millrace::server::routes {
namespace {

struct SessionsFields {
  std::string model;
};

const Schema<SessionsFields>& sessions_schema() {
  static const Schema<SessionsFields> made = [] {
    Schema<SessionsFields> s;
    s.string(
        "model", [](SessionsFields& f) -> auto& { return f.model; }, RequestLimits::kNameLength,
        "Name of a model that this server serves");
    return s;
  }();
  return made;
}

Result<Json> open(ServerContext& server, const Call& call, const SessionsFields& fields) {
  const auto model = server.models.ready(fields.model);
  if (model == nullptr) return server.models.absence(fields.model);
  const auto id = server.sessions.open(model, call.caller);
  if (!id) return id.error();
  return Json{{"id", *id}, {"object", "session"}, {"model", model->name}};
}

}  // namespace

// A conversation whose keys and values stay: requests with its id as session_id go on where the last one ended.
Route sessions() {
  return {.method = "POST",
          .path = "/v1/sessions",
          .summary = "Open an interactive session",
          .handle =
              [](ServerContext& server, Call call) {
                return answer_fields(server, std::move(call), sessions_schema(), open, Body::kOptional);
              },
          .body_schema = [] { return sessions_schema().json(); },
          .body_optional = true};
}

}  // namespace millrace::server::routes
