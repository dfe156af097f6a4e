#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "engine/engine.h"
#include "simulator/request_driver.h"
#include "simulator/scenario.h"
#include "simulator/verdict.h"

namespace millrace::simulator {

// Checks the promises of docs/simulator.md that hold after every step, for one engine. Those of pages (B and C) are
// checked by Engine::check_integrity(), whose failing CHECKs the caller must trap; all others go to `verdict`.
class Invariants {
 public:
  // `place` is the index of the engine, in [0, scenario.engines). Scenario and verdict must outlive it.
  Invariants(const Scenario& scenario, Verdict& verdict, std::size_t place)
      : scenario_(scenario), verdict_(verdict), place_(place) {}

  void before_step(const engine::Engine& engine);
  // `anything_came`: the step had outputs.
  void after_step(engine::Engine& engine, const RequestDriver& desk, const AdapterShelf& adapters, TimePoint now,
                  bool anything_came);
  // The engine is a new one.
  void restart() {
    idle_rounds_ = 0;
    excused_.clear();
  }

 private:
  void check_queues(engine::Engine& engine, const RequestDriver& desk);
  void check_sequence(const sched::Sequence& sequence, bool waits);
  void check_window(const sched::Sequence& sequence);
  void check_oldest(const engine::Engine& engine, const RequestDriver& desk);
  void check_batch(const engine::Engine& engine);
  void check_progress(const engine::Engine& engine, const RequestDriver& desk, const AdapterShelf& adapters,
                      TimePoint now, bool anything_came);
  bool batch_is_held(const engine::Engine& engine, TimePoint now) const;

  const Scenario& scenario_;
  Verdict& verdict_;
  std::size_t place_;
  std::uint64_t oldest_ = 0;                       // sequence that ran and was the oldest before the step; 0 = none
  std::map<std::uint64_t, std::int64_t> paused_;   // paused running sequences: what their `scheduled` may become
  std::map<std::uint64_t, std::int32_t> excused_;  // sequences: times that they were bypassed as the rules allow
  std::set<std::uint64_t> ran_;                    // sequences that ran before the step
  bool stayed_ = false;                            // a sequence of ran_ is still running
  bool leased_ = false;                            // a request waits with pages of its session
  int idle_rounds_ = 0;
};

}  // namespace millrace::simulator
