#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::decode {

inline constexpr int kMaxLogprobs = 20;  // limit of TokenScore::top

struct TokenLogprob {
  std::int32_t token = 0;
  float logprob = 0.0f;  // natural logarithm, at most 0; -infinity where the logit is not finite
  bool operator==(const TokenLogprob&) const = default;
};

// Probability of a token in the model's own distribution: log_softmax of the unchanged logits, before bias, masks,
// penalties and temperature (vLLM's `raw_logprobs`).
struct TokenScore {
  TokenLogprob chosen;
  std::int64_t rank = 0;          // 1 + the number of tokens that are more likely
  std::vector<TokenLogprob> top;  // as many of the likeliest as were asked for, the likeliest first, equal ones by id
  bool operator==(const TokenScore&) const = default;
};

}  // namespace millrace::decode
