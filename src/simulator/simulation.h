#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulator/coverage.h"
#include "simulator/verdict.h"

namespace millrace::simulator {

// What a run did. The same for the same seed, on every machine.
struct Outcome {
  std::uint64_t seed = 0;
  std::string scenario;                // one line, for people
  std::optional<Violation> violation;  // the first; nothing: every promise was kept
  std::int64_t steps = 0, requests = 0, output_tokens = 0;
  double virtual_seconds = 0.0;  // of serving: without what the clock jumped
  std::uint64_t digest = 0;      // of every output in order
  Coverage coverage;
};

// The whole engine under clients and faults that the seed chooses, in this thread, on virtual time; every invariant
// after every step, then, without faults, everything must come to its end. Never fails: what a run finds is in its
// outcome. A violated run leaves its engine behind undestroyed.
Outcome simulate(std::uint64_t seed);

}  // namespace millrace::simulator
