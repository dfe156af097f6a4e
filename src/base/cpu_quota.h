#pragma once

#include <optional>
#include <string_view>

namespace millrace {

// The number of processors that the control group of this process grants, possibly a fraction; 0 = no limit.
double cpu_quota();

// Parses cpu.max of control groups v2: "200000 100000" is 2, "max 100000" is 0; nothing for other text.
std::optional<double> parse_cpu_max(std::string_view text);

// The sensible number of threads: the processors of the affinity mask, limited by the whole processors of the quota.
// With more, the kernel would stop all of them for the rest of every period (100 ms), in the middle of a step.
int usable_threads();

}  // namespace millrace
