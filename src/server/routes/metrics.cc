#include "server/route.h"
#include "server/service.h"

namespace millrace::server::routes {
namespace {

std::unique_ptr<http::Responder> text(Service& service, Call call) {
  return answer_in_pool(service, std::move(call), [connections = service.connections()](Service& s, const Call&) {
    return http::Reply{.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = s.metrics_text(connections)};
  });
}

}  // namespace

Route metrics() {
  return {.method = "GET",
          .path = "/metrics",
          .scope = Scope::kMetrics,
          .summary = "Counts and gauges for Prometheus",
          .handle = text,
          .reply_type = "text/plain"};
}

}  // namespace millrace::server::routes
