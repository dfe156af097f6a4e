#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulator/coverage.h"
#include "simulator/verdict.h"

namespace millrace::simulator {

// Result of a run. It depends on the seed alone, not on the machine.
struct Outcome {
  std::uint64_t seed = 0;
  std::string scenario;                // one line, for people
  std::optional<Violation> violation;  // the first; nothing: all promises were kept
  std::int64_t steps = 0, requests = 0, output_tokens = 0;
  double virtual_seconds = 0.0;  // virtual time of the run, without clock jumps
  std::uint64_t digest = 0;      // of all outputs in order
  Coverage coverage;
};

// Runs the whole engine on the calling thread in virtual time, with clients and faults that the seed chooses. Checks
// all invariants after every step. At the end it stops faults and new requests, and checks that everything ends.
// Findings, failed CHECKs included, are in the outcome. After a violation the engine is leaked, as it may not be
// destructible.
Outcome simulate(std::uint64_t seed);

}  // namespace millrace::simulator
