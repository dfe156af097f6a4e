#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "simulator/traffic.h"

namespace millrace::simulator {

// What became of one request. Times count from when it was due, in milliseconds.
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

// Sends each request when it is due, as fast or slow as the engine may be (an open loop), and waits for all. `wait`
// lets time pass until then at least: sleeps, or moves a simulation's clock.
ServiceRun run_service(engine::Engine& engine, Env& env, std::span<const Arrival> arrivals, std::int64_t vocabulary,
                       const std::function<void(TimePoint)>& wait);

// What the engine would do on a machine whose steps take what `machine` says. Throws LoadError for an unknown policy.
struct PlannedEngine {
  engine::Config engine;
  std::int64_t kv_cache_tokens = 32768, block_tokens = 32, max_length = 1 << 20;
};
ServiceRun predict_service(const PlannedEngine& plan, const sched::StepCost& machine,
                           std::span<const Arrival> arrivals);

}  // namespace millrace::simulator
