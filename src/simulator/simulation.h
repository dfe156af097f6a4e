#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulator/coverage.h"
#include "simulator/verdict.h"

namespace millrace::simulator {

// The result of a run. It is a function of the seed alone, on every machine.
struct Outcome {
  std::uint64_t seed = 0;
  std::string scenario;                // one line, for people
  std::optional<Violation> violation;  // the first violation; nothing = every promise was kept
  std::int64_t steps = 0, requests = 0, output_tokens = 0;
  double virtual_seconds = 0.0;  // virtual serving time, without clock jumps
  std::uint64_t digest = 0;      // hash of every output in order
  Coverage coverage;
};

// Runs the whole engine with clients and faults chosen by the seed, on the calling thread and a virtual clock. Checks
// every invariant after every step; at the end, without faults, every request must end. Never throws: violations are in
// the outcome. After a violation the engine is leaked, because its destructor might fail.
Outcome simulate(std::uint64_t seed);

}  // namespace millrace::simulator
