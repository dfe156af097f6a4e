#include "server/route.h"
#include "server/server_context.h"

namespace millrace::server::routes {

// Alive: 503 only when an engine has failed, so that a supervisor restarts what cannot mend itself. Says nothing else,
// as anybody may ask.
Route health() {
  return {.method = "GET",
          .path = "/health",
          .scope = Scope::kNone,
          .summary = "Whether the server works",
          .handle = [](ServerContext& server, Call) -> std::unique_ptr<http::Responder> {
            const bool failed = server.engine_failed();
            return std::make_unique<http::ReadyReply>(http::Reply{
                .status = failed ? 503 : 200, .body = failed ? R"({"status":"failed"})" : R"({"status":"ok"})"});
          }};
}

}  // namespace millrace::server::routes
