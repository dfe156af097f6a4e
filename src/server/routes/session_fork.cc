#include "server/pooled_reply.h"
#include "server/route.h"

namespace millrace::server::routes {
namespace {

Result<Json> fork(ServerContext& s, const Call& c) {
  const auto id = s.sessions.fork(c.parameter, c.caller);
  if (!id) return id.error();
  return Json{{"id", *id}, {"object", "session"}};
}

}  // namespace

Route session_fork() {
  return {.method = "POST",
          .path = "/v1/sessions/{}/fork",
          .summary = "A second session that goes on from where this one is",
          .handle = [](ServerContext& server, Call call) { return answer_json<fork>(server, std::move(call)); }};
}

}  // namespace millrace::server::routes
