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
#include "engine/kv_extents.h"
#include "engine/step_report.h"
#include "engine/utilization.h"
#include "http/message.h"
#include "metrics/slo.h"
#include "server/observe/request_record.h"

namespace millrace::server::observe {

class LabelValues;
class MetricFamilies;
class ModelMetrics;

using metrics::Slo;  // of several answers, each must keep it

struct MetricsConfig {
  std::string version;
  std::vector<std::string> tenants;  // at the start: those of a later key file get labels too while there is room
  std::vector<Slo> objectives;
  std::vector<std::string> compat;  // servers whose names to use too (metric_aliases.h)
};

// A model that is being served, when it has been loaded.
struct ServedModel {
  std::string name;
  std::int64_t block_tokens = 0, pages = 0;
  std::size_t weight_bytes = 0, kv_bytes = 0, drafting_bytes = 0;
  bool batches = false;        // requests join when a batch begins, not at any step
  engine::MachinePeaks peaks;  // as `doctor` measures them
};

// The state of one engine at the moment of a scrape.
struct EngineSnapshot {
  std::string model;
  bool alive = true;
  double last_step_age_seconds = 0.0;
  std::int64_t running = 0, waiting = 0, paused = 0;
  engine::KvExtents kv_extents = {};
  std::optional<kv::CacheUse> pages = {};  // nothing: as of the last step
};
struct Snapshot {
  std::vector<EngineSnapshot> engines;
  std::int64_t connections = 0;
  std::int64_t dropped_log_lines = 0, dropped_spans = 0, dropped_trace_events = 0;  // since the start
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

// "ttft<=500ms,tpot<=50ms": an objective as its label.
std::string label_of(const Slo& objective);

}  // namespace millrace::server::observe
