#include "simulator/service_run.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "base/memory_env.h"
#include "simulator/fake_executor.h"
#include "text/blank_tokenizer.h"

namespace millrace::simulator {
namespace {

// Few, as the fake model's tokens cost time and mean nothing.
constexpr std::int64_t kPlanVocabulary = 16;

Clock::duration of_ms(double ms) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

engine::Request request_of(const Arrival& arrival, std::uint64_t index, std::int64_t vocabulary) {
  engine::Request request;
  request.tokens = prompt_of(arrival, index, vocabulary);
  request.sampling.temperature = 0.0;
  request.sampling.max_tokens = arrival.output_tokens;
  request.sampling.ignore_eos = true;
  request.tenant = arrival.tenant;
  return request;
}

Served served(const engine::RequestStats& stats, TimePoint due) {
  return {.ttft_ms = milliseconds_between(due, stats.first_token),
          .tpot_ms = stats.tpot_ms(),
          .latency_ms = milliseconds_between(due, stats.last_token),
          .prompt_tokens = stats.prompt_tokens,
          .output_tokens = stats.output_tokens,
          .cached_tokens = stats.cached_tokens,
          .preemptions = stats.preemptions};
}

}  // namespace

ServiceRun run_service(engine::Engine& engine, Env& env, std::span<const Arrival> arrivals, std::int64_t vocabulary,
                       const std::function<void(TimePoint)>& wait) {
  ServiceRun run;
  std::unordered_map<engine::RequestId, TimePoint> due;
  const TimePoint start = env.now();
  const auto before = engine.counters();
  const auto time_of = [&](const Arrival& arrival) { return start + of_ms(arrival.seconds * 1000.0); };
  std::size_t next = 0;
  double use = 0.0;
  while (next < arrivals.size() || !engine.idle()) {
    for (; next < arrivals.size() && time_of(arrivals[next]) <= env.now(); ++next) {
      const auto id = engine.submit(request_of(arrivals[next], next, vocabulary));
      if (id) {
        due.emplace(*id, time_of(arrivals[next]));
      } else {
        ++run.rejected;
      }
    }
    for (const engine::Output& output : engine.step()) {
      if (output.finish == engine::FinishReason::kNone) continue;
      if (output.error) {
        ++run.rejected;
      } else {
        run.requests.push_back(served(output.stats, due.at(output.request)));
      }
    }
    const double share =
        static_cast<double>(engine.cache().use().used) / static_cast<double>(engine.cache().total_pages());
    use += share;
    run.kv_use_peak = std::max(run.kv_use_peak, share);
    ++run.steps;
    if (!engine.stalled()) continue;
    std::optional<TimePoint> until = engine.next_event();
    if (until && *until <= env.now()) until.reset();  // only pages that might lie closer
    if (next < arrivals.size() && (!until || time_of(arrivals[next]) < *until)) until = time_of(arrivals[next]);
    if (until && *until > env.now()) wait(*until);
  }
  run.seconds = milliseconds_between(start, env.now()) / 1000.0;
  run.kv_use_mean = run.steps == 0 ? 0.0 : use / static_cast<double>(run.steps);
  run.steps = engine.counters().steps - before.steps;
  run.preemptions = engine.counters().preemptions - before.preemptions;
  return run;
}

ServiceRun predict_service(const PlannedEngine& plan, const sched::StepCost& machine,
                           std::span<const Arrival> arrivals) {
  MemoryEnv env;
  env.time = TimePoint(std::chrono::hours(1));  // the engine takes the clock's zero for never
  const auto advance = [&](const model::BatchInput& input, std::span<float>) -> Result<void> {
    env.time += of_ms(machine.milliseconds(work_of(input)));
    return {};
  };
  const std::int64_t pages = (plan.kv_cache_tokens + plan.block_tokens - 1) / plan.block_tokens;
  auto executor = std::make_unique<FakeExecutor>(FakeExecutor::Config{.vocab_size = kPlanVocabulary,
                                                                      .max_length = plan.max_length,
                                                                      .block_tokens = plan.block_tokens,
                                                                      .pages = static_cast<std::int32_t>(pages)},
                                                 advance);
  engine::Config config = plan.engine;
  config.step_cost = machine;
  const auto engine =
      engine::Engine::create(std::move(executor), text::blank_tokenizer(kPlanVocabulary), env, config).or_throw();
  return run_service(*engine, env, arrivals, kPlanVocabulary, [&](TimePoint until) { env.time = until; });
}

}  // namespace millrace::simulator
