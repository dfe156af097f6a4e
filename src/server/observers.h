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

// What observers write, and where.
struct ObserverConfig {
  bool log_requests = true;   // a line for each finished request, and lines of traffic
  std::string trace_file;     // path of the step trace (step_trace.h); empty: none
  std::string otlp_endpoint;  // URL that spans are sent to (span_exporter.h); empty: none
  observe::MetricsConfig metrics;
};

// Passes steps and finished requests to everything that watches a server: log, metrics, step trace and spans.
// Thread-safe; never waits for a reader.
class Observers {
 public:
  // Throws LoadError where the trace file cannot be made or the endpoint is wrong. `writer` and `env` must outlive the
  // observers.
  Observers(const ObserverConfig& config, observe::LogWriter& writer, Env& env);

  // Registers a model with the metrics and returns the observer for its engine, which the engine's thread calls after
  // each step. Call it before the model's first request, and again after a reload. The observers must outlive the
  // result.
  [[nodiscard]] engine::StepObserver watch(observe::ServedModel model);
  // Reports a finished request that a model had.
  void request(const observe::RequestRecord& record);
  // Reports a request that was rejected before it got to a model: in the log only.
  void rejection(const observe::RequestRecord& record);
  observe::Metrics& metrics() noexcept { return metrics_; }
  // Metrics in Prometheus' text format. Fills in the dropped_ counts of `snapshot`.
  std::string text(observe::Snapshot snapshot);

 private:
  const bool log_requests_;
  observe::LogWriter& writer_;
  observe::AccessLog access_log_;
  observe::Metrics metrics_;
  std::unique_ptr<observe::StepTrace> trace_;
  std::unique_ptr<observe::SpanExporter> spans_;
};

}  // namespace millrace::server
