#include <cmath>

#include "bench/load/sweep_axis.h"

namespace millrace::bench::load::axes {

SweepAxis prompt_length() {
  return {.name = "prompt-length",
          .summary = "time to first token by prompt tokens (one user)",
          .label = "Tokens of the prompt",
          .unit = "tokens",
          .logarithmic = true,
          .values = {32, 128, 512, 1024, 2048, 4096},
          .apply =
              [](LoadFlags& load, double value) {
                load.input = fmt::format("{}", std::llround(value));
                if (load.users == 0) load.users = 1;
              },
          .plots = {{"Time to first token", "ms", {"median_ttft_ms", "p99_ttft_ms"}, true},
                    {"Time per output token", "ms", {"median_tpot_ms"}}}};
}

}  // namespace millrace::bench::load::axes
