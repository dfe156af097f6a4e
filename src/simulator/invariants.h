#pragma once

#include <cstdint>

#include "engine/engine.h"
#include "simulator/front_desk.h"
#include "simulator/scenario.h"
#include "simulator/verdict.h"

namespace millrace::simulator {

// What must hold after every step, whatever the seed. B and C by walking the pages (Engine::check_integrity, whose
// CHECKs the caller traps), the others here.
class Invariants {
 public:
  Invariants(const Scenario& scenario, Verdict& verdict) : scenario_(scenario), verdict_(verdict) {}

  void before_step(const engine::Engine& engine);
  void after_step(const engine::Engine& engine, const FrontDesk& desk, bool anything_came);
  void restart() noexcept { idle_rounds_ = 0; }

 private:
  void check_queues(const engine::Engine& engine, const FrontDesk& desk);
  void check_sequence(const sched::Sequence& sequence, bool waits);
  void check_oldest(const engine::Engine& engine, const FrontDesk& desk);
  void check_progress(const engine::Engine& engine, const FrontDesk& desk, bool anything_came);

  const Scenario& scenario_;
  Verdict& verdict_;
  std::uint64_t oldest_ = 0;  // sequence that ran and was the oldest before the step; 0 = none
  int idle_rounds_ = 0;
};

}  // namespace millrace::simulator
