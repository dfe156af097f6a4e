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

// What goes wrong and when, from the seed; nothing any more once calm.
class FaultPlan {
 public:
  enum class Restart { kNone, kOrderly, kCrash };

  FaultPlan(const Scenario& scenario, MemoryEnv& env, Coverage& coverage)
      : scenario_(scenario), env_(env), coverage_(coverage), random_(rng::mix(scenario.seed ^ 0xfa017)) {}

  // The step takes its time, and may fail, or give rows that are no numbers.
  Result<void> on_step(const engine::StepInput& input, std::span<float> logits);
  bool host_memory_short();
  // Between steps: the clock jumps, the disk fails; whether the process ends.
  Restart run_exclusive();
  // What the disk looks like to the next process.
  void crash();
  void damage_pages();
  void repair_disk();
  void calm() noexcept { calm_ = true; }
  Clock::duration jumped() const noexcept { return jumped_; }

  // Requests may fail for reasons of their own making since the last call: of a failed step, of a NaN row.
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
