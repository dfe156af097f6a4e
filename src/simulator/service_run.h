#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "simulator/traffic.h"

namespace millrace::simulator {

// Result of one request. Times are in milliseconds since its time of arrival in the load.
struct Served {
  double ttft_ms = 0.0, tpot_ms = 0.0, latency_ms = 0.0;
  std::int64_t prompt_tokens = 0, output_tokens = 0, cached_tokens = 0, preemptions = 0;
};

// Result of a load.
struct ServiceRun {
  std::vector<Served> requests;  // in the order in which they ended, without rejected ones
  std::int64_t rejected = 0;     // rejected at submission, or ended with an error
  std::int64_t steps = 0, preemptions = 0;
  double seconds = 0.0;                         // from the start to the end of the last request
  double kv_use_mean = 0.0, kv_use_peak = 0.0;  // share of pages in use after a step, [0, 1]
};

// Submits each request at its time, however busy the engine is (an open loop), and steps the engine on the calling
// thread until all have ended. `wait` must let time pass until at least its argument: it sleeps, or moves the clock of
// a simulation. The engine must be idle before.
ServiceRun run_service(engine::Engine& engine, Env& env, std::span<const Arrival> arrivals, std::int64_t vocabulary,
                       const std::function<void(TimePoint)>& wait);

// Configuration of an engine to predict.
struct PlannedEngine {
  engine::Config engine;
  std::int64_t kv_cache_tokens = 32768, block_tokens = 32, max_length = 1 << 20;
};
// Predicts the result of a load on a machine whose steps have the cost `machine`: run_service() in virtual time with
// the fake model. Throws LoadError if the engine's configuration is invalid.
ServiceRun predict_service(const PlannedEngine& plan, const sched::StepCost& machine,
                           std::span<const Arrival> arrivals);

}  // namespace millrace::simulator
