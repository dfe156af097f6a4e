#pragma once

#include <cstdint>
#include <string>

#include "engine/engine.h"
#include "kv/disk_tier.h"
#include "simulator/fake_drafter.h"
#include "simulator/fake_executor.h"

namespace millrace::simulator {

// How often what goes wrong; 0 = never.
struct FaultRates {
  int failed_step = 0;         // one in so many steps
  int nan_row = 0;             // one in so many steps
  int clock_jump = 0;          // one in so many rounds
  int restart = 0;             // one in so many rounds; half of them without warning (a crash)
  int disk = 0;                // one in so many rounds the disk fails or is full from then on, until a restart
  int host_memory = 0;         // one in so many allocations for swapped pages
  bool damaged_pages = false;  // a restart finds some bytes of the disk tier changed
};

// Everything that a seed decides before the first round.
struct Scenario {
  std::uint64_t seed = 0;
  FakeExecutor::Config executor;
  engine::Config engine;
  Drafting drafting;
  sched::StepCost machine;  // what steps take in virtual time
  double noise = 0.0;       // of it, as a share
  FaultRates faults;
  bool disk = false;
  kv::DiskTierConfig disk_tier_config;
  std::int64_t requests = 0;  // that clients make in all
  std::int64_t longest_prompt = 0, longest_answer = 0;
  std::int64_t reader_room = 0;  // outputs that wait for a slow reader before it is paused
  double slow_reader_ms = 0.0;   // that it may stay so
  int engines = 1;               // requests and sessions move between them
  int moves = 0;                 // one request in flight, and one session, in so many rounds; 0 = never

  bool rejects_late() const;
  std::string text() const;  // one line, for people
};

Scenario make_scenario(std::uint64_t seed);

}  // namespace millrace::simulator
