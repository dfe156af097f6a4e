#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "engine/engine.h"
#include "simulator/request_driver.h"
#include "simulator/scenario.h"
#include "simulator/verdict.h"

namespace millrace::simulator {

// Checks the promises of docs/simulator.md that must hold after every step of one engine. B and C are checked by
// Engine::check_integrity(), whose CHECKs the caller traps; the others here.
class Invariants {
 public:
  // `place`: index of the engine among the scenario's engines.
  Invariants(const Scenario& scenario, Verdict& verdict, std::size_t place)
      : scenario_(scenario), verdict_(verdict), place_(place) {}

  void before_step(const engine::Engine& engine);
  void after_step(const engine::Engine& engine, const RequestDriver& desk, TimePoint now, bool anything_came);
  void restart() {
    idle_rounds_ = 0;
    excused_.clear();
  }

 private:
  void check_queues(const engine::Engine& engine, const RequestDriver& desk);
  void check_sequence(const sched::Sequence& sequence, bool waits);
  void check_oldest(const engine::Engine& engine, const RequestDriver& desk);
  void check_batch(const engine::Engine& engine);
  void check_progress(const engine::Engine& engine, const RequestDriver& desk, TimePoint now, bool anything_came);
  bool batch_is_held(const engine::Engine& engine, TimePoint now) const;

  const Scenario& scenario_;
  Verdict& verdict_;
  std::size_t place_;
  std::uint64_t oldest_ = 0;                       // id of the oldest running sequence before the step; 0 = none
  std::map<std::uint64_t, std::int64_t> paused_;   // running, paused sequences before the step; their `scheduled`
  std::map<std::uint64_t, std::int32_t> excused_;  // by sequence: `bypassed` when that was allowed to exceed the limit
  std::set<std::uint64_t> ran_;                    // sequences that were running before the step
  bool stayed_ = false;                            // one of `ran_` is still running
  bool leased_ = false;                            // a request waits with pages of its session
  int idle_rounds_ = 0;
};

}  // namespace millrace::simulator
