#include "decode/gumbel_sample.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/counter_rng.h"

namespace millrace::decode {
namespace {

constexpr std::size_t kNoiseBlock = 256;

// A candidate of at most `largest` beats `best` only if -log(u) < exp(largest - best), so only if its 53 bits are at
// least this, as 1 - u <= -log(u). A little less, for rounding.
std::uint64_t min_bits(float largest, double best) noexcept {
  const double chance = portable_exp(static_cast<double>(largest) - best) * (1.0 + 1e-9) + 0x1p-50;
  return chance < 1.0 ? static_cast<std::uint64_t>((1.0 - chance) * 0x1p53) : 0;
}

}  // namespace

std::int32_t gumbel_sample(const Candidates& candidates, std::uint64_t seed, std::int64_t position) noexcept {
  const std::uint64_t stream = rng::random_stream(seed, static_cast<std::uint64_t>(position));
  const auto value = [](const Candidate& c, std::uint64_t bits) {
    return static_cast<double>(c.logit) + rng::gumbel(rng::uniform(bits));
  };
  const auto bits_of = [=](const Candidate& c) {
    return rng::random_bits(stream, static_cast<std::uint64_t>(c.token));
  };

  const Candidate* best = &likeliest(candidates);  // the likeliest first: few beat it
  double best_value = value(*best, bits_of(*best));
  for (std::size_t begin = 0; begin < candidates.size(); begin += kNoiseBlock) {
    const std::size_t end = std::min(begin + kNoiseBlock, candidates.size());
    const float largest = largest_logit(std::span(candidates).subspan(begin, end - begin));
    std::uint64_t least = min_bits(largest, best_value);
    for (std::size_t i = begin; i < end; ++i) {
      const Candidate& c = candidates[i];
      const std::uint64_t bits = bits_of(c);
      if (bits < least) continue;
      const double x = value(c, bits);
      if (x < best_value || (x == best_value && c.token >= best->token)) continue;
      best = &c;
      best_value = x;
      least = min_bits(largest, best_value);
    }
  }
  return best->token;
}

}  // namespace millrace::decode
