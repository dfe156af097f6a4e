#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/memory_env.h"
#include "engine/step_input.h"
#include "simulator/coverage.h"
#include "simulator/random.h"
#include "simulator/rank_network.h"
#include "simulator/scenario.h"

namespace millrace::simulator {

// Decides from the seed which faults happen and when; none after calm(). Scenario, env and coverage must outlive it.
class FaultPlan final : public RankFaults {
 public:
  enum class Restart { kNone, kOrderly, kCrash };

  FaultPlan(const Scenario& scenario, MemoryEnv& env, Coverage& coverage)
      : scenario_(scenario),
        env_(env),
        coverage_(coverage),
        random_(rng::mix(scenario.seed ^ 0xfa017)),
        of_ranks_(rng::mix(scenario.seed ^ 0x4a4f)) {}

  // For FakeExecutor::OnStep: advances the clock by the time of the step. May return a failure (kInternal), or fill a
  // row of `logits` with NaN.
  Result<void> on_step(const engine::StepInput& input, std::span<float> logits);
  bool happens(RankFault fault, Of of) override;
  std::int64_t pick(std::int64_t low, std::int64_t high) override { return of_ranks_.in(low, high); }
  // Whether this allocation of host memory for swapped pages fails.
  bool host_memory_short();
  // Faults between two steps: may make the clock jump and the disk fail. Returns whether and how the process ends.
  Restart run_exclusive();
  // Changes of the disk before the next process starts: crash() loses unsynced writes, damage_pages() changes bytes of
  // files if the scenario says so, repair_disk() ends failures.
  void crash();
  void damage_pages();
  void repair_disk();
  void calm() noexcept { calm_ = true; }                       // no more faults
  Clock::duration jumped() const noexcept { return jumped_; }  // sum of all clock jumps

  // Whether a step failed or had a NaN row since the last call: requests may have ended with an error.
  bool take_failures() noexcept { return std::exchange(failures_, false); }

 private:
  bool happens(int one_in) { return !calm_ && one_in > 0 && random_.one_in(one_in); }

  const Scenario& scenario_;
  MemoryEnv& env_;
  Coverage& coverage_;
  Random random_, of_ranks_;
  bool calm_ = false, failures_ = false;
  Clock::duration jumped_{};
};

}  // namespace millrace::simulator
