#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "simulator/traffic.h"

namespace millrace::simulator {

// The times and counts of one request, in milliseconds from its scheduled arrival.
struct Served {
  double ttft_ms = 0.0, tpot_ms = 0.0, latency_ms = 0.0;
  std::int64_t prompt_tokens = 0, output_tokens = 0, cached_tokens = 0, preemptions = 0;
};

struct ServiceRun {
  std::vector<Served> requests;  // in the order they ended
  std::int64_t rejected = 0;
  std::int64_t steps = 0, preemptions = 0;
  double seconds = 0.0;                         // from the beginning to the last token
  double kv_use_mean = 0.0, kv_use_peak = 0.0;  // share of pages in use, over steps
};

// Submits each request at its arrival time, however busy the engine is (an open loop), and waits for all answers.
// `wait(t)` returns at t or later: it sleeps, or advances a simulated clock.
ServiceRun run_service(engine::Engine& engine, Env& env, std::span<const Arrival> arrivals, std::int64_t vocabulary,
                       const std::function<void(TimePoint)>& wait);

// The engine that predict_service() simulates.
struct PlannedEngine {
  engine::Config engine;
  std::int64_t kv_cache_tokens = 32768, block_tokens = 32, max_length = 1 << 20;
};
// Runs the engine on virtual time with the fake model; `machine` gives the time of each step. Throws LoadError for an
// unknown policy.
ServiceRun predict_service(const PlannedEngine& plan, const sched::StepCost& machine,
                           std::span<const Arrival> arrivals);

}  // namespace millrace::simulator
