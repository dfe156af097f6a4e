#pragma once

#include <optional>
#include <string_view>

namespace millrace {

// The processors' worth of time that the control group of this process grants; 0 = no limit.
double cpu_quota();

// The value of cpu.max of control groups v2: "200000 100000" is 2, "max 100000" is 0; nothing if it is neither.
std::optional<double> parse_cpu_max(std::string_view text);

// How many threads make sense: as many as the affinity mask has processors, and whole ones of the quota. More would be
// stopped all together for the rest of every period (100 ms), in the middle of a step.
int usable_threads();

}  // namespace millrace
