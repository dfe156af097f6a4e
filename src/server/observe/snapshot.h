#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/kv_extents.h"
#include "engine/utilization.h"
#include "kv/paged_cache.h"
#include "model/adapters/adapter_store.h"

namespace millrace::server::observe {

// States of models and engines that metrics show, beside the reports of steps.

// A loaded model.
struct ServedModel {
  std::string name;
  std::int64_t block_tokens = 0, pages = 0;  // tokens of a page; all pages
  std::size_t weight_bytes = 0, kv_bytes = 0, drafting_bytes = 0;
  bool batches = false;                            // requests join only when a batch begins, not at every step
  std::shared_ptr<const engine::LivePeaks> peaks;  // measured; null: unknown
};

// The adapters of a model at the moment of a scrape.
struct AdapterSnapshot {
  model::AdapterFigures figures;
  std::string running, waited_for;  // names of those that requests have, and that they wait for, comma-separated
};

// The state of one engine at the moment of a scrape.
struct EngineSnapshot {
  std::string model;
  bool alive = true;
  double last_step_age_seconds = 0.0;
  std::int64_t running = 0, waiting = 0, paused = 0;  // requests
  engine::KvExtents kv_extents = {};
  AdapterSnapshot adapters = {};
  std::optional<kv::CacheUse> pages = {};  // nothing: metrics keep those of the last step
};
// The state of a server at the moment of a scrape.
struct Snapshot {
  std::vector<EngineSnapshot> engines;
  std::int64_t connections = 0;                                                     // open ones
  std::int64_t dropped_log_lines = 0, dropped_spans = 0, dropped_trace_events = 0;  // since the start
};

}  // namespace millrace::server::observe
