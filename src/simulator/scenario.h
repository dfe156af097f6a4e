#pragma once

#include <cstdint>
#include <string>

#include "engine/engine.h"
#include "kv/disk_tier.h"
#include "model/adapters/adapter_store.h"
#include "simulator/fake_drafter.h"
#include "simulator/fake_executor.h"

namespace millrace::simulator {

// How often each fault happens between ranks; 0 = never. But for `died` it is one in so many messages.
struct RankFaultRates {
  int lost = 0, doubled = 0, damaged = 0, overtaken = 0, late = 0;
  int died = 0;  // one in so many times that a rank has to do with another one
};

// How often each fault happens; 0 = never.
struct FaultRates {
  int failed_step = 0;         // one in so many steps
  int nan_row = 0;             // one in so many steps
  int clock_jump = 0;          // one in so many rounds
  int restart = 0;             // one in so many rounds; half of them without warning (a crash)
  int disk = 0;                // one in so many rounds; then the disk fails or is full until a restart
  int host_memory = 0;         // one in so many allocations for swapped pages
  bool damaged_pages = false;  // a restart finds some bytes of the disk tier changed
  RankFaultRates ranks;
};

// Adapters, and what becomes of them while the engines serve.
struct AdapterTraffic {
  int names = 0;  // at most 26; 0: there are none
  model::AdapterLimits limits;
  model::WhenFull full = model::WhenFull::kQueue;
  model::WaitingRequests waiting = model::WaitingRequests::kFinish;
  int percent = 0;       // of the requests want one or two
  double read_ms = 0.0;  // mean time to read one
  int changes = 1;       // one in so many rounds, one is loaded, replaced or removed
  bool damage = false;   // or its file changes, or cannot be read
};

// Everything that the seed decides before the first round.
struct Scenario {
  std::uint64_t seed = 0;
  FakeExecutor::Config executor;
  engine::Config engine;
  Drafting drafting;
  AdapterTraffic adapters;
  sched::StepCost machine;  // the time of steps on the virtual clock
  double noise = 0.0;       // random addition to a step's time, as a share of it
  FaultRates faults;
  bool disk = false;
  kv::DiskTierConfig disk_tier_config;
  std::int64_t requests = 0;  // total of all clients
  std::int64_t longest_prompt = 0, longest_answer = 0;
  std::int64_t reader_room = 0;  // unread outputs at which a request is paused
  double slow_reader_ms = 0.0;   // a request paused this long is cancelled
  int engines = 1;               // number of engines
  int moves = 0;  // one in so many rounds, a request in flight and a session move to another engine; 0 = never

  bool rejects_late() const;
  std::string text() const;  // one line, for people
};

Scenario make_scenario(std::uint64_t seed);

}  // namespace millrace::simulator
