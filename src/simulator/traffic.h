#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/env.h"

namespace millrace::simulator {

// One request of an open-loop load: its arrival does not depend on how busy the engine is.
struct Arrival {
  double seconds = 0.0;  // since the start of the load
  std::int64_t prompt_tokens = 1, output_tokens = 1;
  std::uint32_t tenant = 0;
  std::int64_t prefix_group = -1;  // requests of a group begin with the same prefix_tokens tokens; -1 = alone
  std::int64_t prefix_tokens = 0;
};

inline constexpr std::int64_t kMaxArrivals = 1'000'000;

// "requests=200,rate=4,input=64-512,output=16-256:long,prefix=128": lengths as metrics::TokenRange, rate in requests a
// second (Poisson; 0 = all at once). Also tenants=N and seed=S. kInvalidArgument naming the part that is wrong.
Result<std::vector<Arrival>> parse_workload(std::string_view spec);

// CSV with a header line, or one JSON object a line: arrival_s, prompt_tokens, output_tokens[, tenant, prefix_group[,
// prefix_tokens]]; without prefix_tokens half of the prompt. Sorted by arrival. kBadFile naming line and field.
Result<std::vector<Arrival>> parse_trace(std::string_view text);

// Gives the requests, in their order, new arrival times: `rate` a second on average, Poisson distributed by `seed`.
void set_rate(std::vector<Arrival>& arrivals, double rate, std::uint64_t seed);

// The prompt of request `index` of this traffic.
std::vector<std::int32_t> prompt_of(const Arrival& arrival, std::uint64_t index, std::int64_t vocabulary);

}  // namespace millrace::simulator
