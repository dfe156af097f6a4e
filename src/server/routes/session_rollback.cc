#include "server/limits.h"
#include "server/pooled_reply.h"
#include "server/route.h"
#include "server/schema.h"

namespace millrace::server::routes {
namespace {

struct SessionRollbackFields {
  std::int64_t tokens = 0;
};

const Schema<SessionRollbackFields>& session_rollback_schema() {
  static const Schema<SessionRollbackFields> made = [] {
    Schema<SessionRollbackFields> s;
    s.integer(
        "tokens", [](SessionRollbackFields& f) -> auto& { return f.tokens; }, 0, RequestLimits::kMaxTokens,
        "Number of the session's tokens to keep, prompts and completions together");
    s.required("tokens");
    return s;
  }();
  return made;
}

Result<Json> roll_back(ServerContext& server, const Call& call, const SessionRollbackFields& fields) {
  if (auto done = server.sessions.rollback(call.parameter, call.caller, fields.tokens); !done) return done.error();
  return Json{{"id", call.parameter}, {"object", "session"}, {"tokens", fields.tokens}};
}

}  // namespace

Route session_rollback() {
  return {
      .method = "POST",
      .path = "/v1/sessions/{}/rollback",
      .summary = "Forget all but the first tokens of a session",
      .handle = [](ServerContext& server,
                   Call call) { return answer_fields(server, std::move(call), session_rollback_schema(), roll_back); },
      .body_schema = [] { return session_rollback_schema().json(); }};
}

}  // namespace millrace::server::routes
