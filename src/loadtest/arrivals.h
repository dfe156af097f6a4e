#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace::loadtest {

// When the requests of an open loop are due. Fixed before the first is sent, whatever the server does.
struct Arrivals {
  double rate = 0.0;  // requests per second, > 0
  // Shape of the gamma distribution of the gaps: 1 is a Poisson process, less is burstier, more is steadier
  // (coefficient of variation 1/sqrt(burstiness)); infinity: constant gaps. As in `vllm bench serve`.
  double burstiness = 1.0;
  enum class Ramp { kNone, kLinear, kExponential } ramp = Ramp::kNone;
  double start_rate = 0.0, end_rate = 0.0;  // of a ramp over all requests, which replaces `rate`
  std::uint64_t seed = 0;
};

// Seconds from the start at which each of `count` requests is due: ascending, the first at 0. Gap i has the rate of
// request i. Without a ramp, gaps are scaled so that the last request is due at (count - 1) / rate: all seeds are the
// same total load, as in vLLM, which only adds one gap before the first. The result is the same on every machine. Rates
// and burstiness must be > 0; an infinite rate sends all at once.
std::vector<double> schedule(const Arrivals& arrivals, std::int64_t count);

}  // namespace millrace::loadtest
