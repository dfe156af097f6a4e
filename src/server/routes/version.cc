#include "server/route.h"
#include "server/server_context.h"

namespace millrace::server::routes {

Route version() {
  return {.method = "GET",
          .path = "/version",
          .scope = Scope::kNone,
          .summary = "This server's version, and the address it listens on",
          .handle = [](ServerContext& server, Call) -> std::unique_ptr<http::Responder> {
            Json body = {{"version", server.config.version}};
            if (!server.config.address.empty()) body["address"] = server.config.address;
            return std::make_unique<http::ReadyReply>(http::Reply{.body = dumped(body)});
          }};
}

}  // namespace millrace::server::routes
