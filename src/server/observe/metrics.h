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
  std::vector<std::string> tenants;      // at the start: those of a later key file get labels too while there is room
  std::vector<metrics::Slo> objectives;  // of several answers, each must keep them
  std::vector<std::string> compat;       // servers whose names to use too (metric_aliases.h)
};

// Counts all that happens and writes it as Prometheus' text format 0.0.4. Names as vLLM's where it has one
// (metric_table.h). Thread-safe; step() takes a few locks that are never held for long.
class Metrics {
 public:
  Metrics(const MetricsConfig& config, Env& env);
  ~Metrics();

  // Before its first step and request; again after a reload: then counts go on.
  void add_model(ServedModel model);
  void step(std::string_view model, const engine::StepReport& report);
  void request(const RequestRecord& record);
  // `route`: as the router calls it ("/v1/models/{id}"), never the path as sent; empty: none answered.
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
  std::mutex models_mutex_;  // of models_; a model stays where it is
  std::vector<std::unique_ptr<ModelMetrics>> models_;
  std::mutex scrape_mutex_;  // one at a time: counters follow totals
};

}  // namespace millrace::server::observe
