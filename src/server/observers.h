#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/step_report.h"
#include "server/observe/access_log.h"
#include "server/observe/log_writer.h"
#include "server/observe/metrics.h"
#include "server/observe/span_exporter.h"
#include "server/observe/step_trace.h"

namespace millrace::server {

struct ObserverConfig {
  observe::LogFormat log_format = observe::LogFormat::kText;
  bool log_requests = true;
  std::string trace_file;     // step trace for Perfetto; empty = none
  std::string otlp_endpoint;  // OpenTelemetry collector; empty = none
  observe::MetricsConfig metrics;
};

// The observers of a server: access log, metrics, step trace and spans. Thread-safe.
class Observers {
 public:
  // Throws LoadError for an invalid trace file or endpoint.
  Observers(const ObserverConfig& config, Env& env);

  // Adds a model. Returns the observer for its engine's StepReporter; set it before the first request.
  [[nodiscard]] engine::StepObserver watch(observe::ServedModel model);
  void request(const observe::RequestRecord& record);
  // A request that was rejected before a model was chosen.
  void rejection(const observe::RequestRecord& record);
  observe::Metrics& metrics() noexcept { return metrics_; }
  // Metrics in Prometheus' text format. Fills in the snapshot's counts of dropped items.
  std::string text(observe::Snapshot snapshot);

 private:
  const bool log_requests_;
  observe::LogWriter writer_;  // first: the others write to it
  observe::AccessLog access_log_;
  observe::Metrics metrics_;
  std::unique_ptr<observe::StepTrace> trace_;
  std::unique_ptr<observe::SpanExporter> spans_;
};

}  // namespace millrace::server
