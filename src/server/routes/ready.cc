#include "server/route.h"
#include "server/server_context.h"

namespace millrace::server::routes {

// Ready: requests would be answered now. While the first model loads, how far that is.
Route ready() {
  return {.method = "GET",
          .path = "/ready",
          .scope = Scope::kNone,
          .summary = "Whether requests are answered now",
          .handle = [](ServerContext& server, Call) -> std::unique_ptr<http::Responder> {
            const ModelStatus first = server.models.first();
            const bool serves = !server.draining && !server.engine_failed();
            const bool ready = serves && first.state != ModelState::kLoading && first.state != ModelState::kFailed;
            const char* word = server.draining ? "draining" : serves ? to_string(first.state).data() : "failed";
            Json body = {{"status", ready ? "ready" : word}};
            if (first.state == ModelState::kLoading) body["progress"] = first.progress;
            http::Reply reply{.status = ready ? 200 : 503, .body = dumped(body)};
            if (!ready) reply.headers.add("retry-after", "1");
            return std::make_unique<http::ReadyReply>(std::move(reply));
          }};
}

}  // namespace millrace::server::routes
