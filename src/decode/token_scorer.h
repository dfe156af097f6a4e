#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "decode/token_score.h"

namespace millrace::decode {

// Scores tokens by rows of logits. A token's logprob is a function of the row alone, with the same bits on every
// processor; that of a greedily sampled token equals that of the first one in `top`. Two passes over the row, no sort.
// Infinite logits count as impossible tokens. One thread; the object only keeps memory.
class TokenScorer {
 public:
  // The token's score and the `top` likeliest tokens, top in [0, kMaxLogprobs]. Nothing if a logit is NaN or none is
  // finite.
  std::optional<TokenScore> score(std::span<const float> logits, std::int32_t token, int top);

 private:
  void find_top(std::span<const float> logits, std::size_t n, std::vector<TokenLogprob>& top);

  std::vector<float> block_largest_;  // of each kScoreBlock logits
  std::vector<float> order_;
};

}  // namespace millrace::decode
