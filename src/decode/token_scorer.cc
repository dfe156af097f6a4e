#include "decode/token_scorer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "decode/row_statistics.h"

namespace millrace::decode {

// Blocks whose largest is below the n-th largest of all blocks' have none of the n likeliest: about n of them are
// looked at. `top` gets logits.
void TokenScorer::find_top(std::span<const float> logits, std::size_t n, std::vector<TokenLogprob>& top) {
  float least = -std::numeric_limits<float>::infinity();
  if (n < block_largest_.size()) {
    order_ = block_largest_;
    const auto nth = order_.begin() + static_cast<std::ptrdiff_t>(n - 1);
    std::nth_element(order_.begin(), nth, order_.end(), std::greater<>());
    least = *nth;
  }
  top.reserve(n + 1);
  for (std::size_t b = 0; b < block_largest_.size(); ++b) {
    if (block_largest_[b] < least) continue;
    const std::size_t end = std::min((b + 1) * kScoreBlock, logits.size());
    for (std::size_t i = b * kScoreBlock; i < end; ++i) {
      const float logit = logits[i];
      if (!(logit >= least) || (top.size() == n && logit <= top.back().logprob) || std::isinf(logit)) continue;
      const auto place = std::find_if(top.begin(), top.end(), [=](const TokenLogprob& t) { return t.logprob < logit; });
      top.insert(place, {static_cast<std::int32_t>(i), logit});
      if (top.size() > n) top.pop_back();
    }
  }
}

std::optional<TokenScore> TokenScorer::score(std::span<const float> logits, std::int32_t token, int top) {
  constexpr float kImpossible = -std::numeric_limits<float>::infinity();
  block_largest_.resize((logits.size() + kScoreBlock - 1) / kScoreBlock);
  if (block_maxima(logits.data(), logits.size(), block_largest_.data())) return std::nullopt;
  const float largest = *std::ranges::max_element(block_largest_);
  if (largest == kImpossible) return std::nullopt;
  const float logit = logits[static_cast<std::size_t>(token)];
  const float threshold = std::isfinite(logit) ? logit : kImpossible;
  const RowMass mass = row_mass(logits.data(), logits.size(), largest, threshold);
  const double log_sum = static_cast<double>(largest) + std::log(mass.sum);
  const auto logprob = [=](float x) { return static_cast<float>(static_cast<double>(x) - log_sum); };

  TokenScore score;
  score.chosen = {token, std::isfinite(logit) ? logprob(logit) : kImpossible};
  score.rank = mass.larger + 1;
  const std::size_t n = std::min(static_cast<std::size_t>(top), logits.size());
  if (n > 0) find_top(logits, n, score.top);
  for (TokenLogprob& t : score.top) t.logprob = logprob(t.logprob);
  return score;
}

}  // namespace millrace::decode
