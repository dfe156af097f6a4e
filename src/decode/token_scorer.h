#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "decode/token_score.h"

namespace millrace::decode {

// Scores tokens by rows of logits. A token's logprob is a function of the row alone, the same bits wherever and on
// whatever processor it is asked for: that of a greedily sampled token equals that of the first in `top`. Two passes
// over the row and no sort of it. Logits that are infinite count as impossible tokens. One thread; kept for its memory.
class TokenScorer {
 public:
  // The token's score and the `top` likeliest, [0, kMaxLogprobs]; nothing where a logit is NaN or none is finite.
  std::optional<TokenScore> score(std::span<const float> logits, std::int32_t token, int top);

 private:
  void find_top(std::span<const float> logits, std::size_t n, std::vector<TokenLogprob>& top);

  std::vector<float> block_largest_;  // of each kScoreBlock logits
  std::vector<float> order_;
};

}  // namespace millrace::decode
