#include "server/pooled_reply.h"
#include "server/route.h"

namespace millrace::server::routes {
namespace {

Result<Json> close(ServerContext& s, const Call& c) {
  if (auto closed = s.sessions.close(c.parameter, c.caller); !closed) return closed.error();
  return Json{{"id", c.parameter}, {"object", "session"}, {"deleted", true}};
}

}  // namespace

Route session_delete() {
  return {.method = "DELETE",
          .path = "/v1/sessions/{}",
          .summary = "Close a session",
          .handle = [](ServerContext& server, Call call) { return answer_json<close>(server, std::move(call)); }};
}

}  // namespace millrace::server::routes
