// The scheduler's own time for one step: plan, launched and committed of 256 running and 1,000 waiting sequences. Each
// policy twice: with every place taken, and with places free but pages short, so that the queue is looked at in vain.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "no_device.h"
#include "sched/scheduler.h"

namespace millrace::sched {
namespace {

constexpr std::int64_t kRunning = 256, kWaiting = 1000, kBlockTokens = 32, kPromptTokens = 200;
constexpr std::int64_t kPagesEach = 8;

class Load {
 public:
  Load(const std::string& policy, std::int64_t places)
      : cache_({.block_tokens = kBlockTokens, .pages = static_cast<std::int32_t>(kRunning * kPagesEach)}, device_,
               nullptr),
        scheduler_({.max_batched_tokens = 512, .max_sequences = places},
                   make_policy(policy, {.values = OptionValues().set("first_quantum_ms", 1e6)}).or_throw(), cache_) {
    for (std::int64_t i = 0; i < kRunning; ++i) add(i, 16);
    StepPlan plan;
    while (scheduler_.running().size() < static_cast<std::size_t>(kRunning)) step(plan);
    while (std::any_of(all_.begin(), all_.end(), [](const auto& one) { return !one->decoding(); })) step(plan);
    for (const auto& sequence : all_) cache_.reserve(sequence->blocks, sequence->scheduled, kPagesEach * kBlockTokens);
    for (std::int64_t i = 0; i < kWaiting; ++i) add(kRunning + i, 40 + i % 300);
  }

  void step(StepPlan& plan) {
    now_ += std::chrono::milliseconds(20);
    const PolicyView view{.now = now_, .cost = cost_};
    scheduler_.plan(view, plan);
    for (const StepRow& row : plan.rows) cache_.reserve(row.sequence->blocks, row.first, row.first + row.n_tokens);
    scheduler_.launched(plan, view);
    scheduler_.committed(plan, view);
    for (const StepRow& row : plan.rows) {
      if (!row.samples()) continue;
      if (row.sequence->output_tokens() == 0) {
        row.sequence->tokens.push_back(1);
      } else {
        row.sequence->scheduled = --row.sequence->computed;  // the same step again
      }
    }
  }

 private:
  void add(std::int64_t index, std::int64_t predicted) {
    auto sequence = std::make_unique<Sequence>(cache_.make_table());
    sequence->id = static_cast<SequenceId>(index);
    sequence->arrival = now_ + std::chrono::microseconds(index);
    sequence->tokens.assign(kPromptTokens, 1);
    sequence->prompt_tokens = kPromptTokens;
    sequence->max_total = kPagesEach * kBlockTokens;
    sequence->predicted_output = predicted;
    sequence->tenant = static_cast<std::uint32_t>(index % 50);
    sequence->ttft_target_ms = 1e9;
    scheduler_.add(*sequence, {.now = now_, .cost = cost_});
    all_.push_back(std::move(sequence));
  }

  kv::NoDevice device_;
  kv::PagedCache cache_;
  StepCost cost_;
  TimePoint now_{};
  std::vector<std::unique_ptr<Sequence>> all_;
  Scheduler scheduler_;
};

void step(benchmark::State& state, const std::string& policy, std::int64_t places) {
  Load load(policy, places);
  StepPlan plan;
  for (auto _ : state) load.step(plan);
  if (plan.rows.size() != static_cast<std::size_t>(kRunning)) state.SkipWithError("not the step that was meant");
}

const int kRegistered = [] {
  for (const PolicyKind& kind : all_policies()) {
    const std::string name(kind.name);
    for (const bool full : {true, false}) {
      benchmark::RegisterBenchmark(("scheduler/" + name + (full ? "/places_taken" : "/pages_short")).c_str(),
                                   [=](benchmark::State& state) { step(state, name, full ? kRunning : 2 * kRunning); })
          ->Unit(benchmark::kMicrosecond);
    }
  }
  return 0;
}();

}  // namespace
}  // namespace millrace::sched
