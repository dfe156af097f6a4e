#include "server/route.h"
#include "server/service.h"

namespace millrace::server::routes {
namespace {

Result<Json> close(Service& s, const Call& c) {
  if (auto closed = s.sessions().close(c.parameter, c.caller); !closed) return closed.error();
  return Json{{"id", c.parameter}, {"object", "session"}, {"deleted", true}};
}

}  // namespace

Route session_delete() {
  return {.method = "DELETE",
          .path = "/v1/sessions/{}",
          .summary = "Close a session",
          .handle = [](Service& service, Call call) { return answer_json<close>(service, std::move(call)); }};
}

}  // namespace millrace::server::routes
