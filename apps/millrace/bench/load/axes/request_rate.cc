#include <algorithm>
#include <cmath>

#include "bench/load/sweep_axis.h"

namespace millrace::bench::load::axes {

// The curve of the field: latency against offered load, flat until the server saturates.
SweepAxis request_rate() {
  return {.name = "request-rate",
          .summary = "latency and goodput by requests per second (open loop)",
          .label = "Requests a second",
          .unit = "1/s",
          .logarithmic = true,
          .values = {0.5, 1, 2, 4, 8, 16},
          .apply =
              [](LoadFlags& load, double value) {
                load.users = 0;
                load.request_rate = fmt::format("{}", value);
              },
          .requests = [](double value,
                         double seconds) { return std::max<std::int64_t>(20, std::llround(value * seconds)); },
          .timed = true,
          .plots = {{"Time to first token", "ms", {"median_ttft_ms", "p99_ttft_ms"}, true},
                    {"Time per output token", "ms", {"median_tpot_ms", "p99_tpot_ms"}},
                    {"Latency", "ms", {"median_e2el_ms", "p99_e2el_ms"}, true},
                    {"Output tokens a second", "tok/s", {"output_throughput"}},
                    {"Requests a second answered", "1/s", {"request_throughput"}}},
          .rises = true};
}

}  // namespace millrace::bench::load::axes
