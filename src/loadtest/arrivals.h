#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace::loadtest {

// When the requests of an open loop are due: fixed before the first is sent, whatever the server makes of them.
struct Arrivals {
  double rate = 0.0;  // requests a second, > 0
  // Shape of the gamma distribution of the gaps: 1 is a Poisson process, less is burstier, more is steadier
  // (coefficient of variation 1/sqrt(burstiness)); infinity: constant gaps. As `vllm bench serve` has it.
  double burstiness = 1.0;
  enum class Ramp { kNone, kLinear, kExponential } ramp = Ramp::kNone;
  double start_rate = 0.0, end_rate = 0.0;  // of a ramp, over all requests; `rate` is not read then
  std::uint64_t seed = 0;
};

// Seconds from the start of each of `count` requests: ascending, the first at 0. The gaps are scaled so that the last
// is due when the mean rate has it, as vLLM does: two seeds are the same load in total.
std::vector<double> schedule(const Arrivals& arrivals, std::int64_t count);

}  // namespace millrace::loadtest
