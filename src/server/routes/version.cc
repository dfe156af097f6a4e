#include "server/route.h"
#include "server/service.h"

namespace millrace::server::routes {

Route version() {
  return {.method = "GET",
          .path = "/version",
          .scope = Scope::kNone,
          .summary = "This server's version",
          .handle = [](Service& service, Call) -> std::unique_ptr<http::Responder> {
            const Json body = {{"version", service.config().version}};
            return std::make_unique<http::ReadyReply>(http::Reply{.body = dumped(body)});
          }};
}

}  // namespace millrace::server::routes
