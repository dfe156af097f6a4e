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
  std::string trace_file;     // of steps, for Perfetto; empty: none
  std::string otlp_endpoint;  // for spans; empty: none
  observe::MetricsConfig metrics;
};

// All that watches a server: log, metrics, step trace and spans, fed at one place. Thread-safe.
class Observers {
 public:
  // Throws LoadError where the trace file or the endpoint is wrong.
  Observers(const ObserverConfig& config, Env& env);

  // Watches a model from now on: what its engine is to call at the end of each step, and before its first request.
  [[nodiscard]] engine::StepObserver watch(observe::ServedModel model);
  void request(const observe::RequestRecord& record);
  // One that no model ever saw.
  void rejection(const observe::RequestRecord& record);
  observe::Metrics& metrics() noexcept { return metrics_; }
  // Metrics in Prometheus' text format; what was dropped is filled in.
  std::string text(observe::Snapshot snapshot);

 private:
  const bool log_requests_;
  observe::LogWriter writer_;  // outlives the rest
  observe::AccessLog access_log_;
  observe::Metrics metrics_;
  std::unique_ptr<observe::StepTrace> trace_;
  std::unique_ptr<observe::SpanExporter> spans_;
};

}  // namespace millrace::server
