#include "server/route.h"
#include "server/server_context.h"

namespace millrace::server::routes {

Route motto() {
  return {.method = "GET",
          .path = "/motto",
          .scope = Scope::kNone,
          .summary = "What this server lives by",
          .handle = [](ServerContext&, Call) -> std::unique_ptr<http::Responder> {
            return std::make_unique<http::ReadyReply>(http::Reply{.body = dumped(Json{{"motto", "one file each"}})});
          }};
}

}  // namespace millrace::server::routes
