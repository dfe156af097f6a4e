#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/kv_extents.h"
#include "engine/utilization.h"
#include "kv/paged_cache.h"

namespace millrace::server::observe {

// What Metrics needs of models and engines besides step reports.

// A loaded model.
struct ServedModel {
  std::string name;
  std::int64_t block_tokens = 0, pages = 0;
  std::size_t weight_bytes = 0, kv_bytes = 0, drafting_bytes = 0;
  bool batches = false;        // batching is not continuous
  engine::MachinePeaks peaks;  // as `millrace doctor` measures them
};

// The state of one engine at a scrape.
struct EngineSnapshot {
  std::string model;
  bool alive = true;
  double last_step_age_seconds = 0.0;
  std::int64_t running = 0, waiting = 0, paused = 0;
  engine::KvExtents kv_extents = {};
  std::optional<kv::CacheUse> pages = {};  // nothing = that of the last step
};
struct Snapshot {
  std::vector<EngineSnapshot> engines;
  std::int64_t connections = 0;
  std::int64_t dropped_log_lines = 0, dropped_spans = 0, dropped_trace_events = 0;  // since the start
};

}  // namespace millrace::server::observe
