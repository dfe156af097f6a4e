#include "server/route.h"
#include "server/service.h"

namespace millrace::server::routes {

Route metrics() {
  return {.method = "GET",
          .path = "/metrics",
          .scope = Scope::kMetrics,
          .summary = "Counts and gauges for Prometheus",
          .handle = [](Service& service, Call) -> std::unique_ptr<http::Responder> {
            http::Reply reply{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                              .body = service.metrics_text()};
            return std::make_unique<http::ReadyReply>(std::move(reply));
          },
          .reply_type = "text/plain"};
}

}  // namespace millrace::server::routes
