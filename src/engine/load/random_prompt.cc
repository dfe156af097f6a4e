#include "engine/load/random_prompt.h"

#include <algorithm>

#include "base/counter_rng.h"

namespace millrace::engine::load {

std::vector<std::int32_t> random_prompt(std::int64_t tokens, std::int64_t vocabulary, std::uint64_t seed,
                                        std::uint64_t index) {
  constexpr std::uint64_t kStream = std::uint64_t{1} << 32;  // above the streams of lengths, see metrics/token_range.h
  std::vector<std::int32_t> prompt(static_cast<std::size_t>(tokens));
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    const double share = rng::uniform(seed, index, kStream + i);
    prompt[i] = static_cast<std::int32_t>(
        std::min(static_cast<std::int64_t>(share * static_cast<double>(vocabulary)), vocabulary - 1));
  }
  return prompt;
}

}  // namespace millrace::engine::load
