#include "server/route.h"
#include "server/service.h"

namespace millrace::server::routes {
namespace {

http::Reply text(Service& service, const Call&) {
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = service.metrics_text()};
}

}  // namespace

Route metrics() {
  return {.method = "GET",
          .path = "/metrics",
          .scope = Scope::kMetrics,
          .summary = "Counts and gauges for Prometheus",
          .handle = [](Service& service, Call call) { return answer_in_pool(service, std::move(call), text); },
          .reply_type = "text/plain"};
}

}  // namespace millrace::server::routes
