#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/memory_env.h"
#include "engine/step_input.h"
#include "simulator/coverage.h"
#include "simulator/random.h"
#include "simulator/scenario.h"

namespace millrace::simulator {

// Decides by the seed which faults happen when. After calm() none happen.
class FaultPlan {
 public:
  enum class Restart { kNone, kOrderly, kCrash };

  FaultPlan(const Scenario& scenario, MemoryEnv& env, Coverage& coverage)
      : scenario_(scenario), env_(env), coverage_(coverage), random_(rng::mix(scenario.seed ^ 0xfa017)) {}

  // The FakeExecutor's on_step: advances the clock by the step's time, and may fail the step or put NaN into a row.
  Result<void> on_step(const engine::StepInput& input, std::span<float> logits);
  bool host_memory_short();
  // Faults between two steps: clock jumps and disk failures. Returns whether the process ends, and how.
  Restart run_exclusive();
  // The state of the disk for the next process: after a crash, with damaged pages, working again.
  void crash();
  void damage_pages();
  void repair_disk();
  void calm() noexcept { calm_ = true; }
  Clock::duration jumped() const noexcept { return jumped_; }

  // Whether a failed step or a NaN row has happened since the last call, of which requests may fail.
  bool take_failures() noexcept { return std::exchange(failures_, false); }

 private:
  bool happens(int one_in) { return !calm_ && one_in > 0 && random_.one_in(one_in); }

  const Scenario& scenario_;
  MemoryEnv& env_;
  Coverage& coverage_;
  Random random_;
  bool calm_ = false, failures_ = false;
  Clock::duration jumped_{};
};

}  // namespace millrace::simulator
