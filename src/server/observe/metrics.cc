#include "server/observe/metrics.h"

#include <fmt/core.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <utility>

#include "server/observe/label_values.h"
#include "server/observe/metric_aliases.h"
#include "server/observe/metric_families.h"
#include "server/observe/model_metrics.h"
#include "server/observe/process_usage.h"

namespace millrace::server::observe {
namespace {

constexpr std::size_t kMaxRoutes = 64, kMaxReasons = 32, kMaxTenants = 256;

std::string method_label(std::string_view method) {
  constexpr std::array<std::string_view, 7> kKnown = {"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"};
  return std::ranges::find(kKnown, method) == kKnown.end() ? "other" : std::string(method);
}

std::string status_label(int status) { return status >= 100 && status <= 599 ? std::to_string(status) : "other"; }

}  // namespace

Metrics::Metrics(const MetricsConfig& config, Env& env)
    : config_(config),
      env_(env),
      families_(std::make_unique<MetricFamilies>()),
      routes_(std::make_unique<LabelValues>(kMaxRoutes)),
      reasons_(std::make_unique<LabelValues>(kMaxReasons)),
      tenants_(std::make_unique<LabelValues>(std::max(kMaxTenants, config_.tenants.size()))) {
  families_->gauge("millrace:build_info", {{"version", config_.version}}).Set(1.0);
  families_->counter("millrace:auth_failures_total");
  for (const std::string& tenant : config_.tenants) {
    families_->counter("millrace:tenant_requests_total", {{"tenant", tenants_->admit(tenant)}, {"outcome", "ok"}});
  }
}

Metrics::~Metrics() = default;

ModelMetrics* Metrics::find(std::string_view name) {
  const std::lock_guard lock(models_mutex_);
  const auto it = std::ranges::find_if(models_, [&](const auto& model) { return model->name() == name; });
  return it == models_.end() ? nullptr : it->get();
}

void Metrics::add_model(ServedModel model) {
  ModelMetrics* metrics = find(model.name);
  if (metrics == nullptr) {
    auto made = std::make_unique<ModelMetrics>(*families_, model.name, config_.objectives);
    metrics = made.get();
    const std::lock_guard lock(models_mutex_);
    models_.push_back(std::move(made));
  }
  metrics->set_model(std::move(model));
}

void Metrics::step(std::string_view model, const engine::StepReport& report) {
  if (ModelMetrics* metrics = find(model)) metrics->step(report);
}

void Metrics::request(const RequestRecord& record) {
  if (ModelMetrics* metrics = find(record.model); metrics != nullptr && !record.answers.empty()) {
    metrics->request(record);
  }
  count_tenant(record);
}

void Metrics::count_tenant(const RequestRecord& record) {
  if (record.tenant.empty()) return;
  const std::string tenant = tenants_->admit(record.tenant);
  const char* outcome = record.status == 499 ? "cancelled" : record.status >= 400 ? "error" : "ok";
  families_->counter("millrace:tenant_requests_total", {{"tenant", tenant}, {"outcome", outcome}}).Increment();
  const std::pair<const char*, std::int64_t> tokens[] = {
      {"prompt", record.prompt_tokens()}, {"cached", record.cached_tokens()}, {"generation", record.output_tokens()}};
  for (const auto& [kind, n] : tokens) {
    families_->counter("millrace:tenant_tokens_total", {{"tenant", tenant}, {"kind", kind}})
        .Increment(static_cast<double>(n));
  }
}

void Metrics::http(const http::Exchange& exchange, std::string_view route) {
  const std::string handler = route.empty() ? "none" : routes_->admit(route);
  const std::string method = method_label(exchange.method);
  families_
      ->counter("http_requests_total",
                {{"handler", handler}, {"method", method}, {"status", status_label(exchange.status)}})
      .Increment();
  families_->histogram("http_request_duration_seconds", {{"handler", handler}, {"method", method}})
      .Observe(exchange.seconds);
}

void Metrics::rejected(std::string_view reason) {
  families_->counter("vllm:admission_rejections_total", {{"reason", reasons_->admit(reason)}}).Increment();
}

void Metrics::auth_failure() { families_->counter("millrace:auth_failures_total").Increment(); }

void Metrics::mirror(const Snapshot& snapshot) {
  for (const EngineSnapshot& engine : snapshot.engines) {
    if (ModelMetrics* metrics = find(engine.model)) metrics->mirror(engine, env_.now());
  }
  families_->gauge("millrace:http_connections").Set(static_cast<double>(snapshot.connections));
  const std::pair<const char*, std::int64_t> dropped[] = {{"log_lines", snapshot.dropped_log_lines},
                                                          {"spans", snapshot.dropped_spans},
                                                          {"trace_events", snapshot.dropped_trace_events}};
  for (const auto& [kind, n] : dropped) {
    raise_to(families_->counter("millrace:dropped_total", {{"kind", kind}}), static_cast<double>(n));
  }
  const ProcessUsage usage = process_usage();
  raise_to(families_->counter("process_cpu_seconds_total"), usage.cpu_seconds);
  families_->gauge("process_resident_memory_bytes").Set(static_cast<double>(usage.resident_bytes));
  families_->gauge("process_open_fds").Set(static_cast<double>(usage.open_fds));
  families_->gauge("process_threads").Set(static_cast<double>(usage.threads));
  families_->gauge("process_start_time_seconds").Set(usage.start_unix_seconds);
}

std::string Metrics::text(const Snapshot& snapshot) {
  const std::lock_guard lock(scrape_mutex_);
  mirror(snapshot);
  std::vector<prometheus::MetricFamily> families = families_->collect();
  append_aliases(config_.compat, families);
  append_old_names(families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace millrace::server::observe
