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

// Seconds from the start of each of `count` requests: ascending, the first at 0. Gap i follows the rate of request i.
// Without a ramp the gaps are scaled so that the last request is due at (count - 1) / rate: two seeds are the same load
// in total, as in vLLM, which only waits one gap more before the first. The same on every machine for a seed. Rates and
// burstiness are > 0; an infinite rate is all at once.
std::vector<double> schedule(const Arrivals& arrivals, std::int64_t count);

}  // namespace millrace::loadtest
