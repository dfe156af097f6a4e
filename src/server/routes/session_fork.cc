#include "server/route.h"
#include "server/service.h"

namespace millrace::server::routes {
namespace {

Result<Json> fork(Service& s, const Call& c) {
  const auto id = s.sessions().fork(c.parameter, c.caller);
  if (!id) return id.error();
  return Json{{"id", *id}, {"object", "session"}};
}

}  // namespace

Route session_fork() {
  return {.method = "POST",
          .path = "/v1/sessions/{}/fork",
          .summary = "A second session that goes on from where this one is",
          .handle = [](Service& service, Call call) { return answer_json<fork>(service, std::move(call)); }};
}

}  // namespace millrace::server::routes
