#include "model/adapters/adapter_store.h"
#include "server/pooled_reply.h"
#include "server/route.h"

namespace millrace::server::routes {
namespace {

constexpr double kSlowStepMs = 2'000.0;  // a reader of metrics does not wait for such an engine

observe::AdapterSnapshot adapters_now(const HostedModel& model) {
  observe::AdapterSnapshot now;
  if (model.adapters == nullptr) return now;
  now.figures = model.adapters->figures();
  const auto add = [](std::string& list, const std::string& name) { list += (list.empty() ? "" : ",") + name; };
  for (const model::AdapterCard& adapter : model.adapters->list()) {
    if (adapter.used) add(now.running, adapter.name);
    if (adapter.waited_for) add(now.waited_for, adapter.name);
  }
  return now;
}

std::vector<observe::EngineSnapshot> engines_now(const ModelHost& models) {
  std::vector<observe::EngineSnapshot> engines;
  for (const ModelStatus& status : models.list()) {
    if (status.model == nullptr) continue;
    const engine::Heartbeat beat = status.model->engine->heartbeat();
    observe::EngineSnapshot now{.model = status.name,
                                .alive = beat.alive,
                                .last_step_age_seconds = beat.last_step_age_ms / 1000.0,
                                .running = beat.running,
                                .waiting = beat.waiting,
                                .paused = beat.paused,
                                .adapters = adapters_now(*status.model)};
    if (beat.alive && beat.last_step_age_ms < kSlowStepMs) {
      if (const auto use = status.model->engine->page_use()) {
        now.pages = use->pages;
        now.kv_extents = use->extents;
      }
    }
    engines.push_back(std::move(now));
  }
  return engines;
}

std::unique_ptr<http::Responder> text(ServerContext& server, Call call) {
  const std::int64_t connections = server.connections ? server.connections() : 0;
  return answer_in_pool(server, std::move(call), [connections](ServerContext& s, const Call&) {
    return http::Reply{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                       .body = s.journal.metrics_text({.engines = engines_now(s.models), .connections = connections})};
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
