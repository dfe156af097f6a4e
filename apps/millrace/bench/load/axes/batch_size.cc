#include <algorithm>
#include <cmath>

#include "bench/load/sweep_axis.h"

namespace millrace::bench::load::axes {

// Users of a closed loop: as many sequences at a time as the server takes.
SweepAxis batch_size() {
  return {.name = "batch-size",
          .summary = "throughput and latency by requests in flight (closed loop)",
          .label = "Requests in flight",
          .unit = "",
          .logarithmic = true,
          .values = {1, 2, 4, 8, 16, 32},
          .apply =
              [](LoadFlags& load, double value) {
                load.users = std::llround(value);
                load.warmups = std::max(load.warmups, std::min<std::int64_t>(load.users, 4));
              },
          .requests = [](double value, double) { return std::max<std::int64_t>(8, 4 * std::llround(value)); },
          .plots = {{"Output tokens a second", "tok/s", {"output_throughput"}},
                    {"Time per output token", "ms", {"median_tpot_ms", "p99_tpot_ms"}},
                    {"Time to first token", "ms", {"median_ttft_ms", "p99_ttft_ms"}},
                    {"Model bandwidth utilisation", "%", {"mbu_percent"}}}};
}

}  // namespace millrace::bench::load::axes
