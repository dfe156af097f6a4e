#pragma once

#include <cstdint>
#include <vector>

#include "simulator/simulation.h"

namespace millrace::simulator {

// Sums over many runs of simulate().
struct Campaign {
  std::int64_t runs = 0, steps = 0, requests = 0, output_tokens = 0;
  double virtual_hours = 0.0;
  std::uint64_t digest = 0;  // of the digests of all runs; depends on their order
  Coverage coverage;
  std::vector<Outcome> violated;  // runs that broke a promise

  void add(Outcome outcome);
};

}  // namespace millrace::simulator
