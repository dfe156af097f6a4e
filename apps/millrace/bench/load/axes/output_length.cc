#include <cmath>

#include "bench/load/sweep_axis.h"

namespace millrace::bench::load::axes {

SweepAxis output_length() {
  return {.name = "output-length",
          .summary = "latency by completion tokens (one user)",
          .label = "Tokens of the answer",
          .unit = "tokens",
          .logarithmic = true,
          .values = {16, 64, 256, 1024},
          .apply =
              [](LoadFlags& load, double value) {
                load.output = fmt::format("{}", std::llround(value));
                if (load.users == 0) load.users = 1;
              },
          .plots = {{"Latency", "ms", {"median_e2el_ms", "p99_e2el_ms"}, true},
                    {"Time per output token", "ms", {"median_tpot_ms"}}}};
}

}  // namespace millrace::bench::load::axes
