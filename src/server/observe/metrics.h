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
  std::vector<std::string> tenants;      // known at the start; later tenants get labels while the limit allows
  std::vector<metrics::Slo> objectives;  // SLOs; a request keeps one if each of its answers does
  std::vector<std::string> compat;       // other servers whose metric names are added (metric_aliases.h)
};

// Counts requests and steps, and writes them in Prometheus' text format 0.0.4. Metrics have vLLM's names where it has
// them (metric_table.h). Thread-safe; step() takes a few locks that are held for microseconds.
class Metrics {
 public:
  Metrics(const MetricsConfig& config, Env& env);
  ~Metrics();

  // Adds a model; call it before the model's first step and request. After a reload, counts continue.
  void add_model(ServedModel model);
  void step(std::string_view model, const engine::StepReport& report);
  void request(const RequestRecord& record);
  // `route` is the route's pattern ("/v1/models/{id}"), never the path as sent; empty if no route answered.
  void http(const http::Exchange& exchange, std::string_view route);
  void rejected(std::string_view reason);
  void auth_failure();
  std::string text(const Snapshot& snapshot);

 private:
  ModelMetrics* find(std::string_view name);
  void count_tenant(const RequestRecord& record);
  void mirror(const Snapshot& snapshot);

  const MetricsConfig config_;
  Env& env_;
  std::unique_ptr<MetricFamilies> families_;
  std::unique_ptr<LabelValues> routes_, reasons_, tenants_;
  std::mutex models_mutex_;  // guards models_; its elements never move
  std::vector<std::unique_ptr<ModelMetrics>> models_;
  std::mutex scrape_mutex_;  // one scrape at a time: raise_to() is not thread-safe
};

}  // namespace millrace::server::observe
