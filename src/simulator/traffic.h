#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/env.h"

namespace millrace::simulator {

// One request of an open load, which arrives at its time however busy the engine is.
struct Arrival {
  double seconds = 0.0;  // since the start of the load
  std::int64_t prompt_tokens = 1, output_tokens = 1;
  std::uint32_t tenant = 0;
  std::int64_t prefix_group = -1;  // requests of a group share their first prefix_tokens tokens; -1 = none
  std::int64_t prefix_tokens = 0;  // at most prompt_tokens
};

inline constexpr std::int64_t kMaxArrivals = 1'000'000;  // limit of the requests of a load

// Makes a load from text such as "requests=200,rate=4,input=64-512,output=16-256:long,prefix=128". Lengths are in the
// form of metrics::TokenRange; `prefix` tokens that all requests share are added to the input. `rate` is in requests
// per second (Poisson arrivals; 0 = all at once). tenants=N and seed=S are parts too; all are optional.
// kInvalidArgument names the part that is wrong.
Result<std::vector<Arrival>> parse_workload(std::string_view spec);

// Reads a trace: CSV with a header line, or one JSON object per line. Fields: arrival_s (seconds), prompt_tokens,
// output_tokens[, tenant, prefix_group[, prefix_tokens]]; others are ignored. prefix_tokens is half of the prompt if it
// is absent. Returns requests sorted by arrival. kBadFile names line and field.
Result<std::vector<Arrival>> parse_trace(std::string_view text);

// Replaces arrival times by Poisson arrivals of `rate` requests per second in the same order; 0 = all at once.
void set_rate(std::vector<Arrival>& arrivals, double rate, std::uint64_t seed);

// The tokens of request `index` of a load, in [0, vocabulary): the prefix of its group, then tokens of its own.
std::vector<std::int32_t> prompt_of(const Arrival& arrival, std::uint64_t index, std::int64_t vocabulary);

}  // namespace millrace::simulator
