#include "server/route.h"
#include "server/service.h"

namespace millrace::server::routes {

// Ready: requests would be answered now. While the first model loads, how far that is.
Route ready() {
  return {.method = "GET",
          .path = "/ready",
          .scope = Scope::kNone,
          .summary = "Whether requests are answered now",
          .handle = [](Service& service, Call) -> std::unique_ptr<http::Responder> {
            const ModelStatus first = service.models().first();
            const bool serves = !service.draining() && !service.engine_failed();
            const bool ready = serves && first.state != ModelState::kLoading && first.state != ModelState::kFailed;
            const char* word = service.draining() ? "draining" : serves ? to_string(first.state).data() : "failed";
            Json body = {{"status", ready ? "ready" : word}};
            if (first.state == ModelState::kLoading) body["progress"] = first.progress;
            http::Reply reply{.status = ready ? 200 : 503, .body = dumped(body)};
            if (!ready) reply.headers.add("retry-after", "1");
            return std::make_unique<http::ReadyReply>(std::move(reply));
          }};
}

}  // namespace millrace::server::routes
