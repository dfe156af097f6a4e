#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "engine/step_report.h"
#include "http/message.h"
#include "metrics/slo.h"
#include "server/observe/request_record.h"
#include "server/observe/snapshot.h"

namespace millrace::server::observe {

class LabelValues;
class MetricFamilies;
class ModelMetrics;

struct MetricsConfig {
  std::string version;
  std::vector<std::string> tenants;      // get labels at the start; later tenants while there is room
  std::vector<metrics::Slo> objectives;  // a request meets one if each of its answers does
  std::vector<std::string> compat;       // servers whose names are added (metric_aliases.h)
};

// Counts steps, requests and connections, and writes the counts in Prometheus' text format 0.0.4. A metric that vLLM
// has bears vLLM's name (metric_table.h). Thread-safe; step() takes locks that are held only briefly.
class Metrics {
 public:
  // `env` must outlive the metrics.
  Metrics(const MetricsConfig& config, Env& env);
  ~Metrics();

  // Adds a model, before its first step and request; steps and requests of unknown models are not counted. After a
  // reload the model is added again, and its counts go on.
  void add_model(ServedModel model);
  // Called on the engine's thread of that model.
  void step(std::string_view model, const engine::StepReport& report);
  void request(const RequestRecord& record);
  // Counts a request to the server. `route` is Route::path ("/v1/models/{}"), never the path as sent; empty: no route.
  void http(const http::Exchange& exchange, std::string_view route);
  // Counts a request that was turned away for lack of capacity; `reason` becomes a label.
  void rejected(std::string_view reason);
  // Counts a request without a valid API key.
  void auth_failure();
  // All metrics, after they are set to the state in `snapshot`. One call at a time; others wait.
  std::string text(const Snapshot& snapshot);

 private:
  ModelMetrics* find(std::string_view name);
  void count_tenant(const RequestRecord& record);
  void mirror(const Snapshot& snapshot);

  const MetricsConfig config_;
  Env& env_;
  std::unique_ptr<MetricFamilies> families_;
  std::unique_ptr<LabelValues> routes_, reasons_, tenants_;
  std::mutex models_mutex_;  // guards models_; models are never removed
  std::vector<std::unique_ptr<ModelMetrics>> models_;
  std::mutex scrape_mutex_;  // held by text(), as raise_to() needs
};

}  // namespace millrace::server::observe
