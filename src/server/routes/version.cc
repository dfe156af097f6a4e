#include "server/route.h"
#include "server/server_context.h"

namespace millrace::server::routes {

Route version() {
  return {.method = "GET",
          .path = "/version",
          .scope = Scope::kNone,
          .summary = "This server's version",
          .handle = [](ServerContext& server, Call) -> std::unique_ptr<http::Responder> {
            const Json body = {{"version", server.config.version}};
            return std::make_unique<http::ReadyReply>(http::Reply{.body = dumped(body)});
          }};
}

}  // namespace millrace::server::routes
