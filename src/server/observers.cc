#include "server/observers.h"

namespace millrace::server {

Observers::Observers(const ObserverConfig& config, observe::LogWriter& writer, Env& env)
    : log_requests_(config.log_requests), writer_(writer), access_log_(writer_), metrics_(config.metrics, env) {
  if (!config.trace_file.empty()) trace_ = observe::StepTrace::create(env, config.trace_file, {}).or_throw();
  if (!config.otlp_endpoint.empty()) {
    spans_ = observe::SpanExporter::create({.endpoint = config.otlp_endpoint, .version = config.metrics.version}, env)
                 .or_throw();
  }
}

engine::StepObserver Observers::watch(observe::ServedModel model) {
  const std::string name = model.name;
  metrics_.add_model(std::move(model));
  return [this, name](const engine::StepReport& report) {
    metrics_.step(name, report);
    access_log_.step(name, report);
    if (trace_ != nullptr) trace_->step(name, report);
  };
}

void Observers::request(const observe::RequestRecord& record) {
  metrics_.request(record);
  if (log_requests_) access_log_.request(record);
  if (trace_ != nullptr) trace_->request(record);
  if (spans_ != nullptr) spans_->request(record);
}

void Observers::rejection(const observe::RequestRecord& record) {
  if (log_requests_) access_log_.request(record);
}

std::string Observers::text(observe::Snapshot snapshot) {
  snapshot.dropped_log_lines = writer_.dropped();
  if (spans_ != nullptr) snapshot.dropped_spans = spans_->dropped();
  if (trace_ != nullptr) snapshot.dropped_trace_events = trace_->dropped();
  return metrics_.text(snapshot);
}

}  // namespace millrace::server
